// Local training and evaluation with one model of text, from start to end.
#pragma once

#include <cstdint>
#include <vector>

#include "../packed.h"
#include "text_network.h"

namespace fedward {

// The same four as in train.h.
void train(TextNetwork& network, const float* start, const Texts& texts, const std::vector<std::int64_t>& sizes,
           const std::int64_t* order, const Steps& steps, float* update);
void gradient(TextNetwork& network, const float* flat, const Texts& texts, const std::int64_t* index,
              std::int64_t count, float* found);
void clipped_sum(TextNetwork& network, const float* flat, const Texts& texts, const std::int64_t* index,
                 std::int64_t count, const std::vector<double>& bounds, double* found);
void scores(TextNetwork& network, const float* flat, const Texts& texts, std::int64_t first, std::int64_t count,
            float* found);

}  // namespace fedward
