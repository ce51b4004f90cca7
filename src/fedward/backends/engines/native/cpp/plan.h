// A model as it was described, checked and laid out: what every training of it shares.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "geometry.h"

namespace fedward {

// One layer as Python describes it. A linear layer is a convolution with the kernel of its input's size.
struct Description {
  enum class Kind { convolution, largest, mean, adaptive_mean, relu };
  Kind kind = Kind::relu;
  int outputs = 0;  // channels of a convolution
  int kernel_height = 0, kernel_width = 0;
  int stride_height = 1, stride_width = 1;
  int padding_height = 0, padding_width = 0;
  bool counts_padding = true;  // a mean divides by the whole kernel, also where it reaches over the edge
  int out_height = 0, out_width = 0;  // of an adaptive mean
  // Where the parameters of a convolution lie in the flat vector, and whether the input channel runs fastest
  // there (convolutions) or slowest (linear layers). No bias: -1.
  std::int64_t weight_at = 0, bias_at = -1;
  bool channels_last = true;
};

struct Layer {
  bool convolves = false;
  Convolution convolution;
  Pool pool;
  std::ptrdiff_t parameters_at = 0;  // in the packed vector
  std::ptrdiff_t parameters = 0;
  // What the pointers of the two point to.
  std::vector<std::int32_t> input_at, output_at, tap_at, first;
  std::vector<float> share;
};

class Plan {
 public:
  // Throws std::invalid_argument if the layers do not fit each other, the input or the parameters.
  Plan(int channels, int height, int width, const std::vector<Description>& layers, std::int64_t parameters,
       int lanes);
  Plan(const Plan&) = delete;  // the layers hold pointers into themselves
  Plan& operator=(const Plan&) = delete;

  const Grid& input() const { return grids.front(); }
  const Grid& output() const { return grids.back(); }
  int classes() const { return output().channels; }
  int convolutions() const;

  std::vector<Grid> grids;                     // grids[i] goes into layers[i], and the last one comes out
  std::vector<std::unique_ptr<Layer>> layers;
  int lowest = 0;                              // the first layer with parameters: no gradient goes below it
  int chunk = 1;                               // examples that go through together, so that they stay in the cache
  std::int64_t parameters = 0;                 // of the model
  std::vector<std::int64_t> flat_at;           // for each packed parameter, where it lies in the model's; -1: padding
};

}  // namespace fedward
