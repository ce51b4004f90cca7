#include "text_clipping.h"

#include <algorithm>
#include <cmath>

#include "../packed.h"

namespace fedward {
namespace {

constexpr int kTogether = 64;
// What a sum of products in double precision may be off, in parts of what it would be without cancellation: that of
// thousands of terms.
const double kRounding = std::ldexp(1.0, -40);

// A squared norm from two rows of products for each pair of parts: what it is at most, rounding included.
class Squares {
 public:
  void add(bool same, double inputs, double gradients) {
    net_ += (same ? 1 : 2) * inputs * gradients;
    if (same) lengths_ += std::sqrt(inputs * gradients);
  }
  // Not std::max: what is no number must stay so.
  double most() const { return (net_ < 0 ? 0.0 : net_) + kRounding * lengths_ * lengths_; }

 private:
  double net_ = 0, lengths_ = 0;
};

}  // namespace

TextClipping::TextClipping(const TextNetwork& network, const std::vector<double>& bounds, std::size_t parameters)
    : network_(network), plan_(network.plan), kernels_(network.kernels), bounds_(bounds), sum_(parameters, 0.0) {}

void TextClipping::add(int examples) {
  std::vector<Usable> usable;
  std::vector<double> squares(plan_.groups()), scales(plan_.groups());
  for (int e = 0; e < examples; ++e) {
    measure(e, squares);
    if (scales_for(squares, bounds_, scales)) usable.push_back({e, scales});
  }
  if (plan_.trains_table())
    for (const Usable& each : usable) add_table(each);
  for (int l = 0; l < int(plan_.layers.size()); ++l) add_layer(l, usable);
  add_output(usable);
}

const std::vector<double>& TextClipping::sum() {
  for (const Recurrence& layer : plan_.layers)  // both biases are added to the same sums
    std::copy_n(sum_.begin() + layer.input_at + layer.input.weights(), layer.input.columns,
                sum_.begin() + layer.recurrent_bias_at);
  return sum_;
}

void TextClipping::measure(int example, std::vector<double>& squares) {
  std::size_t group = 0;
  if (plan_.trains_table()) squares[group++] = table_squares(example);
  for (int l = 0; l < int(plan_.layers.size()); ++l) squares[group++] = layer_squares(l, example);
  squares[group] = output_squares(example);
}

// A token that comes twice gets the sum of both gradients.
double TextClipping::table_squares(int example) {
  Squares squares;
  for (int t = 0; t < network_.length(example); ++t) {
    const int row = network_.row(example, t);
    if (network_.token(row) == plan_.padding) continue;
    for (int s = 0; s <= t; ++s) {
      const int other = network_.row(example, s);
      if (network_.token(other) == network_.token(row))
        squares.add(s == t, 1.0,
                    kernels_.product(network_.vector_gradient(row), network_.vector_gradient(other), plan_.vector_row));
    }
  }
  return squares.most();
}

double TextClipping::layer_squares(int number, int example) {
  const Recurrence& layer = plan_.layers[number];
  const int steps = network_.length(example), taps = layer.input.taps;
  // What went into both products lies side by side, in whole vectors.
  const std::size_t padded = (taps + kernels_.lanes - 1) / kernels_.lanes * kernels_.lanes, wide = padded + layer.units;
  inputs_.assign(steps * wide, 0.0f);
  for (int t = 0; t < steps; ++t) {
    float* to = inputs_.data() + t * wide;
    std::copy_n(network_.input_of(number, network_.row(example, t)), taps, to);
    if (t) std::copy_n(network_.state(number, network_.row(example, t - 1)), layer.units, to + padded);
  }
  Squares squares;
  for (int t = 0; t < steps; ++t)
    for (int s = 0; s <= t; ++s)
      // There are two biases, and the input of both is 1.
      squares.add(s == t, 2.0 + kernels_.product(inputs_.data() + t * wide, inputs_.data() + s * wide, wide),
                  kernels_.product(network_.sums_gradient(number, network_.row(example, t)),
                                   network_.sums_gradient(number, network_.row(example, s)), layer.input.columns));
  return squares.most();
}

double TextClipping::output_squares(int example) const {
  const float *state = network_.last_state(example), *gradient = network_.score_gradient(example);
  return (1.0 + kernels_.squares(state, plan_.output.taps)) * kernels_.squares(gradient, plan_.output.columns);
}

void TextClipping::add_table(const Usable& usable) {
  for (int t = 0; t < network_.length(usable.example); ++t) {
    const int row = network_.row(usable.example, t);
    if (network_.token(row) != plan_.padding)
      kernels_.add_scaled(sum_.data() + network_.token(row) * plan_.vector_row, network_.vector_gradient(row),
                          usable.scales.front(), plan_.vector_row);
  }
}

void TextClipping::add_layer(int number, const std::vector<Usable>& examples) {
  const Recurrence& layer = plan_.layers[number];
  const std::size_t group = number + plan_.trains_table();
  for (const Usable& each : examples)
    for (int t = 0; t < network_.length(each.example); ++t) {
      const int row = network_.row(each.example, t);
      collect(layer.input, layer.input_at, network_.input_of(number, row), network_.sums_gradient(number, row),
              each.scales[group]);
    }
  flush(layer.input, layer.input_at);
  for (const Usable& each : examples)
    for (int t = 1; t < network_.length(each.example); ++t)
      collect(layer.recurrent, layer.recurrent_at, network_.state(number, network_.row(each.example, t - 1)),
              network_.sums_gradient(number, network_.row(each.example, t)), each.scales[group]);
  flush(layer.recurrent, layer.recurrent_at);
}

void TextClipping::add_output(const std::vector<Usable>& examples) {
  for (const Usable& each : examples)
    collect(plan_.output, plan_.output_at, network_.last_state(each.example), network_.score_gradient(each.example),
            each.scales.back());
  flush(plan_.output, plan_.output_at);
}

void TextClipping::collect(const Convolution& product, std::ptrdiff_t at, const float* input, const float* gradient,
                           double scale) {
  if (waiting_ == 0) {
    inputs_.resize(std::size_t(kTogether) * product.taps);
    gradients_.resize(std::size_t(kTogether) * product.columns);
  }
  std::copy_n(input, product.taps, inputs_.data() + std::size_t(waiting_) * product.taps);
  double* to = gradients_.data() + std::size_t(waiting_) * product.columns;
  for (int column = 0; column < product.columns; ++column) to[column] = scale * double(gradient[column]);
  if (++waiting_ == kTogether) flush(product, at);
}

void TextClipping::flush(const Convolution& product, std::ptrdiff_t at) {
  if (waiting_) kernels_.add_outer(product, waiting_, inputs_.data(), gradients_.data(), sum_.data() + at);
  waiting_ = 0;
}

}  // namespace fedward
