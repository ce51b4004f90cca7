// A model of text as it was described, checked and laid out: word vectors, LSTM layers, and scores from the last state.
#pragma once

#include <cstdint>
#include <vector>

#include "../geometry.h"

namespace fedward {

// A model as Python describes it; `*_at` are places in the flat vector.
struct TextDescription {
  struct Lstm {
    int inputs = 0, units = 0;
    std::int64_t input_at = 0, recurrent_at = 0, input_bias_at = 0, recurrent_bias_at = 0;
  };
  int tokens = 0, numbers = 0;     // of the table of word vectors
  const float* frozen = nullptr;   // the table, if it is not trained
  std::int64_t table_at = 0;       // if it is
  std::int64_t padding = -1;       // the token whose vector gets no gradient; -1: none
  std::vector<Lstm> layers;
  int classes = 0;
  std::int64_t output_at = 0, output_bias_at = 0;
};

// One LSTM layer. Each of its products is a convolution whose pixels are tokens: rows of inputs, wherever they lie,
// times a matrix.
struct Recurrence {
  int units = 0;                    // rounded up to whole vectors
  int gate_row = 0, unit_row = 0;   // floats from token to token
  Convolution input, recurrent;     // the biases of both are in `input` and at recurrent_bias_at
  Convolution onward;               // `recurrent` seen from the states: it adds what they send to the next gates
  bool sends_back = false;          // to what went in
  std::ptrdiff_t input_at = 0, recurrent_at = 0, recurrent_bias_at = 0, end = 0;  // in the packed vector
};

class TextPlan {
 public:
  // Throws std::invalid_argument if the layers do not fit each other or the parameters.
  TextPlan(const TextDescription& described, std::int64_t parameters, int lanes);

  bool trains_table() const { return table == nullptr; }
  int classes() const { return output.used_columns; }
  // Parameters that are clipped together if not all of them are: the table, each layer, the output.
  int groups() const { return int(layers.size()) + 1 + trains_table(); }

  int tokens = 0, vector_row = 0;   // floats from word vector to word vector
  const float* table = nullptr;     // where the vectors are frozen; else they begin the packed vector
  std::int64_t padding = -1;
  std::vector<Recurrence> layers;
  Convolution output;
  std::ptrdiff_t output_at = 0;
  int chunk = 1;                    // examples that go through together
  std::int64_t longest = 0;         // tokens of an example: places within a chunk have 32 bits
  std::int64_t parameters = 0;      // of the model

  // A model from its flat vector, and back.
  std::vector<float> packed(const float* flat) const;
  void unpack(const std::vector<float>& packed, float* flat) const;
  void unpack(const std::vector<double>& packed, double* flat) const;

 private:
  // A row of a parameter: consecutive in the model's vector, `step` apart in the packed one.
  struct Row {
    std::int64_t flat_at;
    std::ptrdiff_t packed_at, step;
    int count;
  };
  void check_place(std::int64_t flat_at, std::int64_t count) const;
  std::ptrdiff_t add_vector(std::int64_t flat_at, int blocks, int count, int padded);
  void add_matrix(std::int64_t flat_at, std::ptrdiff_t packed_at, const Convolution& to, int blocks, int rows,
                  int taps);
  Convolution product(int taps, int columns, int used_columns) const;

  const int lanes_;
  std::ptrdiff_t size_ = 0;         // of the packed vector
  std::vector<Row> rows_;
  std::vector<std::int32_t> counted_;  // 0, 1, 2, ...: taps lie side by side
};

}  // namespace fedward
