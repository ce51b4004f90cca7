#include "text_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

namespace fedward {
namespace {

// Two rounds of the widest tiles. More examples would only leave the caches.
constexpr int kChunk = 24;
constexpr int kLargest = 1 << 16;  // numbers of a state or a vector, classes
constexpr std::int64_t kMostParameters = std::int64_t(1) << 28;
constexpr std::int64_t kMostPlaces = std::numeric_limits<std::int32_t>::max();

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument(why); }

int rounded_up(int number, int to) { return (number + to - 1) / to * to; }

void check_size(const char* what, int number, int most) {
  if (number < 1 || number > most)
    refuse(std::string(what) + " must be from 1 to " + std::to_string(most) + ", got " + std::to_string(number));
}

void check(const TextDescription& described) {
  check_size("tokens", described.tokens, std::numeric_limits<std::int32_t>::max());
  check_size("numbers of a word vector", described.numbers, kLargest);
  check_size("classes", described.classes, kLargest);
  if (described.padding < -1 || described.padding >= described.tokens) refuse("the padding is not a token");
  if (described.layers.empty()) refuse("there must be an LSTM layer");
  int inputs = described.numbers;
  double weights = double(described.tokens) * described.numbers;
  for (const TextDescription::Lstm& layer : described.layers) {
    check_size("units of a layer", layer.units, kLargest);
    if (layer.inputs != inputs) refuse("a layer does not take what the one before it gives");
    weights += 4.0 * layer.units * (double(layer.inputs) + layer.units);
    inputs = layer.units;
  }
  if (weights + double(inputs) * described.classes > double(kMostParameters)) refuse("a layer is too large");
}

}  // namespace

TextPlan::TextPlan(const TextDescription& described, std::int64_t all, int lanes)
    : tokens(described.tokens), table(described.frozen), padding(described.padding), parameters(all), lanes_(lanes) {
  check(described);
  const int numbers = described.numbers;
  // Frozen vectors are read where they lie; others are written to, in whole vectors of the processor.
  vector_row = trains_table() ? rounded_up(numbers, lanes) : numbers;
  if (std::int64_t(tokens) * vector_row > kMostPlaces) refuse("the word vectors are too large");
  if (trains_table()) {
    check_place(described.table_at, std::int64_t(tokens) * numbers);
    for (int token = 0; token < tokens; ++token)
      add_vector(described.table_at + std::int64_t(token) * numbers, 1, numbers, vector_row);
  }
  int widest = vector_row;
  for (const TextDescription::Lstm& each : described.layers)
    widest = std::max(widest, 4 * (rounded_up(each.units, lanes) + lanes));
  counted_.resize(widest);
  std::iota(counted_.begin(), counted_.end(), 0);

  int taps = vector_row;
  for (const TextDescription::Lstm& each : described.layers) {
    Recurrence layer;
    layer.units = rounded_up(each.units, lanes);
    // One vector more than they need: rows whose distance is a power of two would all want the same lines of the cache.
    layer.gate_row = 4 * layer.units + lanes;
    layer.unit_row = layer.units + lanes;
    layer.sends_back = !layers.empty() || trains_table();
    layer.input = product(taps, 4 * layer.units, 4 * layer.units);
    layer.input_at = size_;
    add_matrix(each.input_at, size_, layer.input, 4, each.units, each.inputs);
    size_ += layer.input.weights();
    add_vector(each.input_bias_at, 4, each.units, layer.units);
    layer.recurrent = product(layer.units, 4 * layer.units, 4 * layer.units);
    layer.recurrent.biased = false;
    layer.recurrent_at = size_;
    add_matrix(each.recurrent_at, size_, layer.recurrent, 4, each.units, each.units);
    size_ += layer.recurrent.weights();
    layer.recurrent_bias_at = add_vector(each.recurrent_bias_at, 4, each.units, layer.units);
    layer.end = size_;
    layer.onward = product(4 * layer.units, layer.units, each.units);
    layers.push_back(layer);
    taps = layer.units;
  }
  output = product(taps, rounded_up(described.classes, lanes), described.classes);
  output_at = size_;
  add_matrix(described.output_at, size_, output, 1, described.classes, described.layers.back().units);
  size_ += output.weights();
  add_vector(described.output_bias_at, 1, described.classes, output.columns);

  std::int64_t counted = 0;
  for (const Row& row : rows_) counted += row.count;
  if (counted != parameters)
    refuse("the model has " + std::to_string(counted) + " parameters, not " + std::to_string(parameters));
  chunk = kChunk;
  longest = kMostPlaces / chunk / (widest + lanes);
}

Convolution TextPlan::product(int taps, int columns, int used_columns) const {
  Convolution made;
  made.columns = columns;
  made.used_columns = used_columns;
  made.taps = made.segment = taps;
  made.segments = 1;
  made.biased = true;
  made.tap_at = counted_.data();
  return made;
}

void TextPlan::check_place(std::int64_t flat_at, std::int64_t count) const {
  if (flat_at < 0 || flat_at > parameters - count) refuse("a parameter lies outside of the vector");
}

// `blocks` vectors of `count`, each in `padded` places.
std::ptrdiff_t TextPlan::add_vector(std::int64_t flat_at, int blocks, int count, int padded) {
  const std::ptrdiff_t at = size_;
  check_place(flat_at, std::int64_t(blocks) * count);
  for (int block = 0; block < blocks; ++block, flat_at += count, size_ += padded)
    rows_.push_back({flat_at, size_, 1, count});
  return at;
}

// `blocks` times `rows` rows of a matrix of torch become columns, in the panels that the kernels read.
void TextPlan::add_matrix(std::int64_t flat_at, std::ptrdiff_t packed_at, const Convolution& to, int blocks, int rows,
                          int taps) {
  const int panel = 2 * lanes_;
  check_place(flat_at, std::int64_t(blocks) * rows * taps);
  for (int block = 0; block < blocks; ++block)
    for (int row = 0; row < rows; ++row, flat_at += taps) {
      const int column = block * (to.columns / blocks) + row, first = column / panel * panel;
      const int width = std::min(panel, to.columns - first);
      rows_.push_back({flat_at, packed_at + std::ptrdiff_t(first) * to.taps + column - first, width, taps});
    }
}

std::vector<float> TextPlan::packed(const float* flat) const {
  std::vector<float> weights(size_, 0.0f);
  for (const Row& row : rows_)
    for (int i = 0; i < row.count; ++i) weights[row.packed_at + i * row.step] = flat[row.flat_at + i];
  return weights;
}

void TextPlan::unpack(const std::vector<float>& packed, float* flat) const {
  for (const Row& row : rows_)
    for (int i = 0; i < row.count; ++i) flat[row.flat_at + i] = packed[row.packed_at + i * row.step];
}

void TextPlan::unpack(const std::vector<double>& packed, double* flat) const {
  for (const Row& row : rows_)
    for (int i = 0; i < row.count; ++i) flat[row.flat_at + i] = packed[row.packed_at + i * row.step];
}

}  // namespace fedward
