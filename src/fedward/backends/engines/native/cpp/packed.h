// What is done to packed parameters and gradients whatever the model: steps of SGD, and the scales of clipping.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels.h"

namespace fedward {

struct Steps {
  float learning_rate = 0, momentum = 0, weight_decay = 0;
  double bound = 0;  // of the distance from the start, after every step; 0: none
};

// Back into the ball. False if there is no way back: the server rejects such a model, a projected one it would not see.
bool project(const std::vector<float>& centre, double bound, std::vector<float>& weights);

// What each group's gradient is multiplied by, from its squared norm; false if it cannot be clipped and counts for
// nothing. One bound is for all groups together.
bool scales_for(std::vector<double>& squares, const std::vector<double>& bounds, std::vector<double>& scales);

// SGD from `weights` on: where it ends. Step s uses the next sizes[s] of `order`: add_batch(weights, index, count,
// gradient) adds the gradient of their mean loss to zeros.
template <class AddBatch>
std::vector<float> take_steps(const Kernels& kernels, std::vector<float> weights,
                              const std::vector<std::int64_t>& sizes, const std::int64_t* order, const Steps& steps,
                              AddBatch&& add_batch) {
  const std::vector<float> centre = steps.bound > 0 ? weights : std::vector<float>();
  // Without momentum a step's velocity is its gradient.
  std::vector<float> gradient(weights.size()), velocity(steps.momentum > 0 ? weights.size() : 0);
  for (const std::int64_t size : sizes) {
    std::fill(gradient.begin(), gradient.end(), 0.0f);
    add_batch(weights.data(), order, size, gradient.data());
    kernels.step(weights.data(), velocity.empty() ? nullptr : velocity.data(), gradient.data(), weights.size(),
                 steps.learning_rate, steps.momentum, steps.weight_decay);
    if (steps.bound > 0 && !project(centre, steps.bound, weights)) break;
    order += size;
  }
  return weights;
}

// Calls `work(first, count)` for the examples of a batch, a chunk at a time.
template <class Work>
void in_chunks(std::int64_t count, int chunk, Work&& work) {
  for (std::int64_t first = 0; first < count; first += chunk)
    work(first, static_cast<int>(std::min<std::int64_t>(chunk, count - first)));
}

}  // namespace fedward
