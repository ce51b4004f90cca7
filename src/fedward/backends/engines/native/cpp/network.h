// A forward and a backward pass through a plan, for a chunk of examples.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels.h"
#include "plan.h"

namespace fedward {

// The examples of a user as they lie in memory, channel by channel, and their labels.
struct Data {
  const float* x = nullptr;
  const std::int64_t* y = nullptr;
};

// What one thread needs to go through a network: nothing of it is shared.
class Network {
 public:
  Network(const Plan& for_plan, const Kernels& with_kernels);

  // Takes over a model from its flat vector; hands back its packed parameters.
  std::vector<float> packed(const float* flat) const;
  // Before passes with new weights, which are not copied; training needs them transposed as well.
  void set(const float* weights, bool trains);

  // Scores of `count` <= plan.chunk examples, in rows of plan.output().stride.
  const float* forward(const Data& data, const std::int64_t* index, int count);
  // Adds the gradient of scale * sum of cross-entropies of the last forward pass. Packed like the weights.
  void backward(const Data& data, const std::int64_t* index, int count, float scale, float* gradient);
  // The same for one example, but layers whose gradient is an outer product are left out: what goes into each of
  // them, and what its output sends back, is all that it is made of.
  void backward_but_outer(const Data& data, std::int64_t index, float* gradient);
  const float* input_of(const Layer& layer) const { return values_[layer.from].data(); }
  const float* sent_back_to(const Layer& layer) const { return gradients_[plan.gradient_buffer[layer.to]].data(); }

  const Plan& plan;
  const Kernels& kernels;

 private:
  void load(const Data& data, const std::int64_t* index, int count);
  void go_back(const Data& data, const std::int64_t* index, int count, float scale, float* gradient, bool outer);
  void score_gradient(const Data& data, const std::int64_t* index, int count, float scale);
  void go_back_through(std::size_t number, int count, float* gradient, bool learns);
  // Null where nobody asks for it.
  float* gradient_of(int grid) {
    const int buffer = plan.gradient_buffer[grid];
    return buffer < 0 ? nullptr : gradients_[buffer].data();
  }

  const float* weights_ = nullptr;
  // Of each grid, of each buffer, and of each layer.
  std::vector<std::vector<float>> values_, gradients_, transposed_, statistics_;
  std::vector<std::vector<std::int32_t>> winners_;
  std::vector<double> sums_;  // room for the sums of a normalisation
};

}  // namespace fedward
