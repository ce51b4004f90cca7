// Local training and evaluation with one network, from start to end.
#pragma once

#include <cstdint>
#include <vector>

#include "network.h"
#include "packed.h"

namespace fedward {

// SGD. Step s uses the next sizes[s] of `order`. Writes where the training ended minus `start`, both flat.
void train(Network& network, const float* start, const Data& data, const std::vector<std::int64_t>& sizes,
           const std::int64_t* order, const Steps& steps, float* update);

// The gradient of the mean cross-entropy over `count` examples, flat.
void gradient(Network& network, const float* flat, const Data& data, const std::int64_t* index,
              std::int64_t count, float* found);

// The sum of the gradients of `count` examples, each clipped to bounds[0] as a whole, or its layers to
// bounds[l] each; flat. An example without a usable gradient contributes nothing.
void clipped_sum(Network& network, const float* flat, const Data& data, const std::int64_t* index,
                 std::int64_t count, const std::vector<double>& bounds, double* found);

// The scores of `count` examples from `first` on, [count, classes].
void scores(Network& network, const float* flat, const float* x, std::int64_t first, std::int64_t count,
            float* found);

}  // namespace fedward
