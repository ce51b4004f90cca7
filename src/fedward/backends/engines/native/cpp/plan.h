// A model as it was described, checked and laid out: what every training of it shares.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "geometry.h"

namespace fedward {

// One layer as Python describes it. A linear layer is a convolution with the kernel of its input's size.
//
// Each reads what the one before it wrote. A residual block is: branch, the layers of its path, shortcut, the layers
// of its shortcut, sum. What follows `shortcut` reads what `branch` read.
struct Description {
  enum class Kind { convolution, largest, mean, adaptive_mean, relu, normalisation, branch, shortcut, sum };
  Kind kind = Kind::relu;
  int outputs = 0;  // channels of a convolution
  int kernel_height = 0, kernel_width = 0;
  int stride_height = 1, stride_width = 1;
  int padding_height = 0, padding_width = 0;
  bool counts_padding = true;  // a mean divides by the whole kernel, also where it reaches over the edge
  int out_height = 0, out_width = 0;  // of an adaptive mean
  // Where the parameters of a layer lie in the flat vector; and of a convolution, whether the input channel runs
  // fastest there (convolutions) or slowest (linear layers). No bias: -1. A normalisation has both or neither.
  std::int64_t weight_at = 0, bias_at = -1;
  bool channels_last = true;
  int groups = 0;  // of a normalisation
  float epsilon = 0;
};

struct Layer {
  enum class Kind { convolution, pool, normalisation, sum };
  Kind kind = Kind::pool;
  int from = 0, other = 0, to = 0;  // the grids that it reads and writes; `other` is the second one of a sum
  Convolution convolution;
  Pool pool;
  Normalisation normalisation;
  std::ptrdiff_t parameters_at = 0;  // in the packed vector
  std::ptrdiff_t parameters = 0;
  std::int64_t flat_at = 0;          // of its weight, in the model's vector
  // What the pointers of the first two point to.
  std::vector<std::int32_t> input_at, output_at, tap_at, first;
  std::vector<float> share;

  bool convolves() const { return kind == Kind::convolution; }
  // The gradient of one example is the outer product of what went in and what came back.
  bool outer() const { return convolves() && convolution.pixels == 1; }
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
  // Those with parameters, in the order in which these lie in the model's vector.
  std::vector<const Layer*> learning() const;

  std::vector<Grid> grids;                     // the first one goes in, the last one comes out
  std::vector<std::unique_ptr<Layer>> layers;  // in an order in which they can be computed
  // For each grid, in which buffer its gradient lies; -1 where no layer with parameters comes before it, so that
  // nobody asks. Two grids share a buffer if the one is done with before the other begins.
  std::vector<int> gradient_buffer;
  std::vector<std::ptrdiff_t> buffers;         // floats of one example
  int chunk = 1;                               // examples that go through together
  std::int64_t parameters = 0;                 // of the model
  std::vector<std::int64_t> flat_at;           // for each packed parameter, where it lies in the model's; -1: padding

 private:
  void share_buffers();
  void choose_chunk();
  std::ptrdiff_t pack(Layer& layer, const Description& from, std::ptrdiff_t packed, int lanes);
};

}  // namespace fedward
