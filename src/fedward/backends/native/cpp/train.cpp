#include "train.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fedward {
namespace {

// The same two numbers as in local/per_example/engine.py: a little less than the bound pays for rounding, and a
// gradient so many times its bound can no longer be scaled down with full precision.
const double kMargin = 1.0 - std::ldexp(1.0, -18);
const double kMost = std::ldexp(1.0, 100);

// Calls `work(first, count)` for the examples of a batch, a chunk at a time.
template <class Work>
void in_chunks(std::int64_t count, int chunk, Work&& work) {
  for (std::int64_t first = 0; first < count; first += chunk)
    work(first, static_cast<int>(std::min<std::int64_t>(chunk, count - first)));
}

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

double distance(const std::vector<float>& from, const std::vector<float>& to) {
  double sum = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const double moved = double(to[i]) - double(from[i]);
    sum += moved * moved;
  }
  return std::sqrt(sum);
}

// Back into the ball. False if there is no way back: the server rejects such a model, a projected one it would not see.
bool project(const std::vector<float>& centre, double bound, std::vector<float>& weights) {
  const double far = distance(centre, weights);
  if (!std::isfinite(far)) return false;
  if (far > bound) {
    const double scale = bound / far * kMargin;
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = static_cast<float>(centre[i] + (double(weights[i]) - double(centre[i])) * scale);
  }
  return true;
}

}  // namespace

void train(Network& network, const float* start, const Data& data, const std::vector<std::int64_t>& sizes,
           const std::int64_t* order, const Steps& steps, float* update) {
  const std::vector<float> centre = network.packed(start);
  std::vector<float> weights = centre, velocity(centre.size(), 0.0f), gradient(centre.size());
  for (const std::int64_t size : sizes) {
    network.set(weights.data(), true);
    std::fill(gradient.begin(), gradient.end(), 0.0f);
    add_batch(network, data, order, size, gradient.data());
    network.kernels.step(weights.data(), velocity.data(), gradient.data(), weights.size(), steps.learning_rate,
                         steps.momentum, steps.weight_decay);
    if (steps.bound > 0 && !project(centre, steps.bound, weights)) break;
    order += size;
  }
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= centre[i];
  unpack(network.plan, weights, update);
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
  const Kernels& kernels = network.kernels;
  const std::vector<float> weights = network.packed(flat);
  std::vector<double> sum(weights.size(), 0.0);
  std::vector<float> own(weights.size());
  std::vector<const Layer*> layers;
  for (const auto& layer : plan.layers)
    if (layer->convolves) layers.push_back(layer.get());
  std::vector<double> squares(layers.size());
  network.set(weights.data(), true);
  for (std::int64_t i = 0; i < count; ++i) {
    std::fill(own.begin(), own.end(), 0.0f);
    network.forward(data, index + i, 1);
    network.backward(data, index + i, 1, 1.0f, own.data());
    for (std::size_t l = 0; l < layers.size(); ++l)
      squares[l] = kernels.squares(own.data() + layers[l]->parameters_at, layers[l]->parameters);
    if (bounds.size() == 1) std::fill(squares.begin(), squares.end(), std::accumulate(squares.begin(), squares.end(), 0.0));
    std::vector<double> scales;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const double bound = bounds[bounds.size() == 1 ? 0 : l], norm = std::sqrt(squares[l]);
      if (!std::isfinite(norm) || norm > bound * kMost) break;
      scales.push_back(std::min(1.0, bound / norm * kMargin));
    }
    if (scales.size() < layers.size()) continue;
    for (std::size_t l = 0; l < layers.size(); ++l)
      kernels.add_scaled(sum.data() + layers[l]->parameters_at, own.data() + layers[l]->parameters_at,
                         scales[l], layers[l]->parameters);
  }
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
