#include "train.h"

#include <algorithm>
#include <numeric>

namespace fedward {
namespace {

void add_batch(Network& network, const Data& data, const std::int64_t* index, std::int64_t count, float* gradient) {
  const float scale = 1.0f / static_cast<float>(count);
  in_chunks(count, network.plan.chunk, [&](std::int64_t first, int some) {
    network.forward(data, index + first, some);
    network.backward(data, index + first, some, scale, gradient);
  });
}

template <class Number>
void unpack(const Plan& plan, const std::vector<Number>& packed, Number* flat) {
  for (std::size_t i = 0; i < packed.size(); ++i)
    if (plan.flat_at[i] >= 0) flat[plan.flat_at[i]] = packed[i];
}

// The clipped gradients of one layer, added up. Where it has one output pixel, an example's gradient is the outer
// product of what went in and what came back: those are kept for some examples, and their products added together.
class Clipped {
 public:
  Clipped(const Network& network, const Layer& layer, std::vector<float>& own, std::vector<double>& sum)
      : network_(network), kernels_(network.kernels), layer_(layer), conv_(layer.convolution), outer_(layer.outer()),
        own_(own.data() + layer.parameters_at), sum_(sum.data() + layer.parameters_at) {
    if (!outer_) return;
    inputs_.resize(std::size_t(kTogether) * conv_.taps);
    gradients_.resize(std::size_t(kTogether) * conv_.columns);
  }

  void clear() {
    if (!outer_) std::fill_n(own_, layer_.parameters, 0.0f);
  }
  double squares() const {
    return outer_ ? kernels_.outer_squares(conv_, network_.input_of(layer_), network_.sent_back_to(layer_))
                  : kernels_.squares(own_, layer_.parameters);
  }
  void add(double scale) {
    if (!outer_) return kernels_.add_scaled(sum_, own_, scale, layer_.parameters);
    const float* input = network_.input_of(layer_) + conv_.input_at[0];
    const float* gradient = network_.sent_back_to(layer_) + conv_.output_at[0];
    float* inputs = inputs_.data() + std::size_t(waiting_) * conv_.taps;
    double* gradients = gradients_.data() + std::size_t(waiting_) * conv_.columns;
    for (int tap = 0; tap < conv_.taps; ++tap) inputs[tap] = input[conv_.tap_at[tap]];
    for (int column = 0; column < conv_.columns; ++column) gradients[column] = scale * double(gradient[column]);
    if (++waiting_ == kTogether) finish();
  }
  void finish() {
    if (outer_ && waiting_) kernels_.add_outer(conv_, waiting_, inputs_.data(), gradients_.data(), sum_);
    waiting_ = 0;
  }

 private:
  static constexpr int kTogether = 8;

  const Network& network_;
  const Kernels& kernels_;
  const Layer& layer_;
  const Convolution& conv_;
  const bool outer_;
  float* const own_;
  double* const sum_;
  std::vector<float> inputs_;
  std::vector<double> gradients_;
  int waiting_ = 0;
};

}  // namespace

void train(Network& network, const float* start, const Data& data, const std::vector<std::int64_t>& sizes,
           const std::int64_t* order, const Steps& steps, float* update) {
  const std::vector<float> reached = take_steps(
      network.kernels, network.packed(start), sizes, order, steps,
      [&](const float* weights, const std::int64_t* index, std::int64_t count, float* gradient) {
        network.set(weights, true);
        add_batch(network, data, index, count, gradient);
      });
  unpack(network.plan, reached, update);
  for (std::int64_t i = 0; i < network.plan.parameters; ++i) update[i] -= start[i];
}

void gradient(Network& network, const float* flat, const Data& data, const std::int64_t* index, std::int64_t count,
              float* found) {
  const std::vector<float> weights = network.packed(flat);
  std::vector<float> sum(weights.size(), 0.0f);
  network.set(weights.data(), true);
  add_batch(network, data, index, count, sum.data());
  unpack(network.plan, sum, found);
}

void clipped_sum(Network& network, const float* flat, const Data& data, const std::int64_t* index,
                 std::int64_t count, const std::vector<double>& bounds, double* found) {
  const Plan& plan = network.plan;
  const std::vector<float> weights = network.packed(flat);
  std::vector<double> sum(weights.size(), 0.0);
  std::vector<float> own(weights.size());
  std::vector<Clipped> layers;
  for (const Layer* layer : plan.learning()) layers.emplace_back(network, *layer, own, sum);
  std::vector<double> squares(layers.size()), scales(layers.size());
  network.set(weights.data(), true);
  for (std::int64_t i = 0; i < count; ++i) {
    for (Clipped& layer : layers) layer.clear();
    network.forward(data, index + i, 1);
    network.backward_but_outer(data, index[i], own.data());
    for (std::size_t l = 0; l < layers.size(); ++l) squares[l] = layers[l].squares();
    if (!scales_for(squares, bounds, scales)) continue;
    for (std::size_t l = 0; l < layers.size(); ++l) layers[l].add(scales[l]);
  }
  for (Clipped& layer : layers) layer.finish();
  unpack(plan, sum, found);
}

void scores(Network& network, const float* flat, const float* x, std::int64_t first, std::int64_t count,
            float* found) {
  const Plan& plan = network.plan;
  const std::vector<float> weights = network.packed(flat);
  network.set(weights.data(), false);
  std::vector<std::int64_t> index(plan.chunk);
  in_chunks(count, plan.chunk, [&](std::int64_t done, int some) {
    std::iota(index.begin(), index.end(), first + done);
    const float* rows = network.forward({x, nullptr}, index.data(), some);
    for (int i = 0; i < some; ++i)
      std::copy_n(rows + i * plan.output().stride, plan.classes(), found + (done + i) * plan.classes());
  });
}

}  // namespace fedward
