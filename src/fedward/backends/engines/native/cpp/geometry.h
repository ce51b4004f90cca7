// Where things lie: activations, convolutions and pools, in numbers and pointers only (see kernels_avx2.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

namespace fedward {

// The activations of one example between two layers: rows of pixels, the channels of a pixel side by side.
// A convolution that pads finds its zeros around the picture: `halo` pixels on each side, never written.
struct Grid {
  int channels = 0;   // that the model has
  int stride = 0;     // floats from pixel to pixel: channels, rounded up to whole vectors with zeros
  int height = 0, width = 0;
  int halo_height = 0, halo_width = 0;
  bool rectified = false;  // a ReLU follows whatever wrote this

  std::ptrdiff_t row() const { return std::ptrdiff_t(width + 2 * halo_width) * stride; }
  std::ptrdiff_t size() const { return (height + 2 * halo_height) * row(); }
  std::ptrdiff_t at(int h, int w) const {
    return (h + halo_height) * row() + std::ptrdiff_t(w + halo_width) * stride;
  }
};

// A convolution, or a linear layer: that is a convolution whose kernel is as large as the picture.
//
// One output pixel is a product of `taps` inputs with [taps, columns] weights. Its inputs are `segments`
// stretches of `segment` floats that lie `segment_step` apart; nothing is copied to bring them together.
struct Convolution {
  int columns = 0;         // output channels, rounded up to whole vectors
  int used_columns = 0;    // output channels that the model has
  int taps = 0;
  int segments = 0, segment = 0;
  std::ptrdiff_t segment_step = 0;
  int pixels = 0;          // output pixels of one example
  bool biased = false;
  bool rectified = false;
  // Where each output pixel of each example in a chunk finds its first input, and where it is written.
  const std::int32_t* input_at = nullptr;
  const std::int32_t* output_at = nullptr;
  const std::int32_t* tap_at = nullptr;  // where each tap lies, from the first

  std::ptrdiff_t weights() const { return std::ptrdiff_t(taps) * columns; }
  std::ptrdiff_t parameters() const { return weights() + columns; }
};

// A pool: output pixel p looks at the input pixels input_at[first[p]] to input_at[first[p + 1]].
struct Pool {
  bool takes_largest = false;  // or the mean
  int pixels = 0;              // output pixels of one example
  int stride = 0;              // floats of a pixel, in and out
  std::ptrdiff_t from_size = 0, to_size = 0;  // floats of one example
  const std::int32_t* first = nullptr;
  const std::int32_t* input_at = nullptr;
  const std::int32_t* output_at = nullptr;  // for each output pixel
  const float* share = nullptr;             // what a mean multiplies the sum by, for each output pixel
};

// Group normalisation: an example's pixels times the channels of a group have mean 0 and variance 1, before each
// channel is multiplied by its weight and shifted by its bias. Its parameters are a row of each.
struct Normalisation {
  int groups = 0;
  float epsilon = 0;    // added to the variance
  bool affine = false;  // or without parameters
};

}  // namespace fedward
