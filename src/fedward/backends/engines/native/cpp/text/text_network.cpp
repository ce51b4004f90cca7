#include "text_network.h"

#include <algorithm>
#include <cstring>

namespace fedward {
namespace {

constexpr std::int64_t kPadding = 0;  // what fedward fills short sequences up with

template <class Number>
void grow(std::vector<Number>& values, std::size_t size) {
  if (values.size() < size) values.resize(size);
}

void count_up(std::vector<std::int32_t>& places, int count, int step) {
  for (int i = int(places.size()); i < count; ++i) places.push_back(i * step);
}

}  // namespace

std::int64_t Texts::length(std::int64_t example) const {
  const std::int64_t begin = offsets[example];
  std::int64_t end = offsets[example + 1];
  while (end > begin + 1 && tokens[end - 1] == kPadding) --end;
  return end - begin;
}

TextNetwork::TextNetwork(const TextPlan& for_plan, const Kernels& with_kernels)
    : plan(for_plan), kernels(with_kernels), layers_(for_plan.layers.size()) {
  const int last = plan.layers.back().unit_row;
  last_.resize(std::size_t(plan.chunk) * last, 0.0f);
  last_gradient_.resize(last_.size(), 0.0f);
  scores_.resize(std::size_t(plan.chunk) * plan.output.columns, 0.0f);
  count_up(last_at_, plan.chunk, last);
  count_up(scores_at_, plan.chunk, plan.output.columns);
  output_transposed_.resize(plan.output.weights());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Recurrence& layer = plan.layers[l];
    layers_[l].carried.resize(std::size_t(plan.chunk) * layer.unit_row);
    layers_[l].recurrent_transposed.resize(layer.recurrent.weights());
    if (layer.sends_back) layers_[l].input_transposed.resize(layer.input.weights());
  }
}

void TextNetwork::set(const float* weights, bool trains) {
  weights_ = weights;
  if (!trains) return;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Recurrence& layer = plan.layers[l];
    kernels.transpose(layer.recurrent, weights + layer.recurrent_at, layers_[l].recurrent_transposed.data());
    if (layer.sends_back) kernels.transpose(layer.input, weights + layer.input_at, layers_[l].input_transposed.data());
  }
  kernels.transpose(plan.output, weights + plan.output_at, output_transposed_.data());
}

// Gives every token its row, and the layers room for them.
void TextNetwork::lay_out(const Texts& texts, const std::int64_t* index, int count) {
  examples_ = count;
  lengths_.resize(count);
  for (int e = 0; e < count; ++e) lengths_[e] = int(texts.length(index[e]));
  steps_ = lengths_[0];
  first_.assign(1, 0);
  tokens_.clear();
  for (int t = 0, active = count; t < steps_; ++t) {
    while (lengths_[active - 1] <= t) --active;
    for (int e = 0; e < active; ++e) tokens_.push_back(texts.tokens[texts.offsets[index[e]] + t]);
    first_.push_back(int(tokens_.size()));
  }
  rows_ = int(tokens_.size());
  vectors_at_.resize(rows_);
  for (int row = 0; row < rows_; ++row) vectors_at_[row] = std::int32_t(tokens_[row] * plan.vector_row);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Recurrence& layer = plan.layers[l];
    Activations& own = layers_[l];
    grow(own.gates, std::size_t(rows_) * layer.gate_row);
    for (std::vector<float>* values : {&own.cells, &own.squashed, &own.states, &own.arriving})
      grow(*values, std::size_t(rows_) * layer.unit_row);
    count_up(own.gates_at, rows_, layer.gate_row);
    count_up(own.units_at, rows_, layer.unit_row);
  }
  if (plan.trains_table()) {
    grow(vector_gradients_, std::size_t(rows_) * plan.vector_row);
    count_up(vector_gradients_at_, rows_, plan.vector_row);
  }
}

Convolution TextNetwork::over(const Convolution& product, int rows, const std::int32_t* in,
                              const std::int32_t* out) const {
  Convolution made = product;
  made.pixels = rows;
  made.input_at = in;
  made.output_at = out;
  return made;
}

const float* TextNetwork::inputs(int layer) const { return layer ? layers_[layer - 1].states.data() : table(); }

const std::int32_t* TextNetwork::inputs_at(int layer) const {
  return layer ? layers_[layer - 1].units_at.data() : vectors_at_.data();
}

const float* TextNetwork::input_of(int layer, int row) const { return inputs(layer) + inputs_at(layer)[row]; }
const float* TextNetwork::state(int layer, int row) const {
  return layers_[layer].states.data() + layers_[layer].units_at[row];
}
const float* TextNetwork::sums_gradient(int layer, int row) const {
  return layers_[layer].gates.data() + layers_[layer].gates_at[row];
}

LstmStep TextNetwork::step(int layer, int number) {
  const Recurrence& shape = plan.layers[layer];
  Activations& own = layers_[layer];
  const std::ptrdiff_t first = std::ptrdiff_t(first_[number]) * shape.unit_row;
  LstmStep made;
  made.rows = first_[number + 1] - first_[number];
  made.units = shape.units;
  made.gate_row = shape.gate_row;
  made.unit_row = shape.unit_row;
  made.bias = weights_ + shape.recurrent_bias_at;
  if (number) made.cells_before = own.cells.data() + std::ptrdiff_t(first_[number - 1]) * shape.unit_row;
  made.gates = own.gates.data() + std::ptrdiff_t(first_[number]) * shape.gate_row;
  made.cells = own.cells.data() + first;
  made.squashed = own.squashed.data() + first;
  made.states = own.states.data() + first;
  made.arriving = own.arriving.data() + first;
  made.carried = own.carried.data();
  return made;
}

const float* TextNetwork::forward(const Texts& texts, const std::int64_t* index, int count) {
  lay_out(texts, index, count);
  for (int l = 0; l < int(layers_.size()); ++l) {
    const Recurrence& layer = plan.layers[l];
    Activations& own = layers_[l];
    kernels.forward(over(layer.input, rows_, inputs_at(l), own.gates_at.data()), 1, inputs(l),
                    weights_ + layer.input_at, own.gates.data());
    for (int t = 0; t < steps_; ++t) {
      const int active = first_[t + 1] - first_[t];
      if (t)
        kernels.input_gradient(
            over(layer.onward, active, own.gates_at.data() + first_[t], own.units_at.data() + first_[t - 1]), 1,
            own.states.data(), weights_ + layer.recurrent_at, own.gates.data());
      kernels.lstm_forward(step(l, t));
    }
  }
  const int width = plan.layers.back().unit_row;
  for (int e = 0; e < count; ++e)
    std::memcpy(last_.data() + std::ptrdiff_t(e) * width, state(int(layers_.size()) - 1, row(e, lengths_[e] - 1)),
                sizeof(float) * width);
  kernels.forward(over(plan.output, count, last_at_.data(), scores_at_.data()), 1, last_.data(),
                  weights_ + plan.output_at, scores_.data());
  return scores_.data();
}

void TextNetwork::send_back(const Texts& texts, const std::int64_t* index, float scale) {
  const Convolution& output = plan.output;
  for (int e = 0; e < examples_; ++e)
    kernels.softmax_gradient(scores_.data() + std::ptrdiff_t(e) * output.columns, output.used_columns, output.columns,
                             texts.labels[index[e]], scale);
  std::fill(last_gradient_.begin(), last_gradient_.end(), 0.0f);
  kernels.input_gradient(over(output, examples_, last_at_.data(), scores_at_.data()), 1, scores_.data(),
                         output_transposed_.data(), last_gradient_.data());
  const int top = int(layers_.size()) - 1, width = plan.layers[top].unit_row;
  std::fill_n(layers_[top].arriving.begin(), std::ptrdiff_t(rows_) * width, 0.0f);
  for (int e = 0; e < examples_; ++e)
    std::memcpy(layers_[top].arriving.data() + std::ptrdiff_t(row(e, lengths_[e] - 1)) * width,
                last_gradient_.data() + std::ptrdiff_t(e) * width, sizeof(float) * width);
  for (int l = top; l >= 0; --l) {
    const Recurrence& layer = plan.layers[l];
    Activations& own = layers_[l];
    std::fill(own.carried.begin(), own.carried.end(), 0.0f);
    for (int t = steps_ - 1; t >= 0; --t) {
      if (t + 1 < steps_)
        kernels.input_gradient(over(layer.recurrent, first_[t + 2] - first_[t + 1], own.units_at.data() + first_[t],
                                    own.gates_at.data() + first_[t + 1]),
                               1, own.gates.data(), own.recurrent_transposed.data(), own.arriving.data());
      kernels.lstm_backward(step(l, t));
    }
    if (!layer.sends_back) continue;
    std::vector<float>& below = l ? layers_[l - 1].arriving : vector_gradients_;
    const int row = l ? plan.layers[l - 1].unit_row : plan.vector_row;
    std::fill_n(below.begin(), std::ptrdiff_t(rows_) * row, 0.0f);
    kernels.input_gradient(over(layer.input, rows_, l ? inputs_at(l) : vector_gradients_at_.data(), own.gates_at.data()),
                           1, own.gates.data(), own.input_transposed.data(), below.data());
  }
}

void TextNetwork::add_gradient(float* gradient) {
  kernels.weight_gradient(over(plan.output, examples_, last_at_.data(), scores_at_.data()), 1, last_.data(),
                          scores_.data(), gradient + plan.output_at);
  std::vector<std::int32_t> before;
  for (int l = 0; l < int(layers_.size()); ++l) {
    const Recurrence& layer = plan.layers[l];
    const Activations& own = layers_[l];
    kernels.weight_gradient(over(layer.input, rows_, inputs_at(l), own.gates_at.data()), 1, inputs(l),
                            own.gates.data(), gradient + layer.input_at);
    // Both biases are added to the same sums.
    std::memcpy(gradient + layer.recurrent_bias_at, gradient + layer.input_at + layer.input.weights(),
                sizeof(float) * layer.input.columns);
    before.clear();
    for (int t = 1; t < steps_; ++t)
      for (int e = 0; e < first_[t + 1] - first_[t]; ++e) before.push_back(own.units_at[row(e, t - 1)]);
    kernels.weight_gradient(over(layer.recurrent, int(before.size()), before.data(), own.gates_at.data() + first_[1]), 1,
                            own.states.data(), own.gates.data(), gradient + layer.recurrent_at);
  }
  if (!plan.trains_table()) return;
  for (int row = 0; row < rows_; ++row) {
    if (tokens_[row] == plan.padding) continue;
    float* to = gradient + tokens_[row] * plan.vector_row;
    const float* from = vector_gradient(row);
    for (int i = 0; i < plan.vector_row; ++i) to[i] += from[i];
  }
}

}  // namespace fedward
