// A forward and a backward pass through a model of text, for a chunk of examples.
#pragma once

#include <cstdint>
#include <vector>

#include "../kernels.h"
#include "text_plan.h"

namespace fedward {

// Sequences of tokens one after the other, and their labels: example i is tokens[offsets[i]] to tokens[offsets[i + 1]].
struct Texts {
  const std::int64_t* tokens = nullptr;
  const std::int64_t* offsets = nullptr;
  const std::int64_t* labels = nullptr;

  // Up to the last token that is not padding: nothing behind it reaches a score.
  std::int64_t length(std::int64_t example) const;
};

// What one thread needs to go through a model of text: nothing of it is shared.
//
// Of each layer every token has a row: first those of step 0, then of step 1, and so on, in each step the examples
// that are long enough. So a step is a product of consecutive rows, no padding is computed, and what an example gets
// has the same bits whatever else goes through with it.
class TextNetwork {
 public:
  TextNetwork(const TextPlan& for_plan, const Kernels& with_kernels);

  // Before passes with new weights, which are not copied; training needs them transposed as well.
  void set(const float* weights, bool trains);
  // Scores of `count` <= plan.chunk examples, the longest first, in rows of plan.output.columns.
  const float* forward(const Texts& texts, const std::int64_t* index, int count);
  // Sends the gradient of scale * sum of cross-entropies of the last forward pass back to all products.
  void send_back(const Texts& texts, const std::int64_t* index, float scale);
  // Adds the gradient of the parameters that was sent back. Packed like the weights.
  void add_gradient(float* gradient);

  // The rows of an example's tokens.
  int length(int example) const { return lengths_[example]; }
  int row(int example, int step) const { return first_[step] + example; }
  std::int64_t token(int row) const { return tokens_[row]; }
  // What went into each product, and what came back to it.
  const float* input_of(int layer, int row) const;
  const float* state(int layer, int row) const;
  const float* sums_gradient(int layer, int row) const;
  const float* vector_gradient(int row) const { return vector_gradients_.data() + std::ptrdiff_t(row) * plan.vector_row; }
  const float* last_state(int example) const { return last_.data() + std::ptrdiff_t(example) * plan.layers.back().unit_row; }
  const float* score_gradient(int example) const { return scores_.data() + std::ptrdiff_t(example) * plan.output.columns; }

  const TextPlan& plan;
  const Kernels& kernels;

 private:
  // One layer's activations: a row of each for every token.
  struct Activations {
    std::vector<float> gates, cells, squashed, states, arriving, carried;
    std::vector<float> input_transposed, recurrent_transposed;
    std::vector<std::int32_t> gates_at, units_at;
  };

  void lay_out(const Texts& texts, const std::int64_t* index, int count);
  Convolution over(const Convolution& product, int rows, const std::int32_t* in, const std::int32_t* out) const;
  LstmStep step(int layer, int number);
  const std::int32_t* inputs_at(int layer) const;
  const float* inputs(int layer) const;
  const float* table() const { return plan.trains_table() ? weights_ : plan.table; }

  const float* weights_ = nullptr;
  int examples_ = 0, rows_ = 0, steps_ = 0;
  std::vector<int> lengths_, first_;
  std::vector<std::int64_t> tokens_;
  std::vector<std::int32_t> vectors_at_, vector_gradients_at_, last_at_, scores_at_;
  std::vector<Activations> layers_;
  std::vector<float> last_, last_gradient_, scores_, output_transposed_, vector_gradients_;
};

}  // namespace fedward
