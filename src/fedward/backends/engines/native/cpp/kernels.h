// All arithmetic that is worth vector instructions, as one table for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "geometry.h"
#include "recurrence.h"

namespace fedward {

struct Kernels {
  const char* name;
  int lanes;  // floats in a vector; channels are rounded up to it, and weights lie in panels of two vectors

  // out = in * weights + bias, rectified if the convolution says so.
  void (*forward)(const Convolution&, int examples, const float* in, const float* weights, float* out);
  // weight_gradient += in^T * out_gradient, and the bias likewise.
  void (*weight_gradient)(const Convolution&, int examples, const float* in, const float* out_gradient,
                          float* weight_gradient);
  // in_gradient += out_gradient * transposed.
  void (*input_gradient)(const Convolution&, int examples, const float* out_gradient, const float* transposed,
                         float* in_gradient);
  void (*transpose)(const Convolution&, const float* weights, float* transposed);

  // Winners are kept for the way back: which of its inputs each output of a largest-pool took.
  void (*pool)(const Pool&, int examples, const float* in, float* out, std::int32_t* winners);
  // in_gradient += what the outputs send back.
  void (*pool_gradient)(const Pool&, int examples, const float* out_gradient, const std::int32_t* winners,
                        float* in_gradient);

  // Means, and what the distance from them is multiplied by, are kept for the way back: a row of the one and a row of
  // the other for each example. `sums` is room for two rows of numbers.
  void (*normalise)(const Normalisation&, const Grid& from, const Grid& to, int examples, const float* in,
                    const float* parameters, float* out, float* statistics, double* sums);
  // parameter_gradient += and in_gradient += what the outputs send back; null where nobody needs it.
  void (*normalise_gradient)(const Normalisation&, const Grid& from, const Grid& to, int examples, const float* in,
                             const float* parameters, const float* statistics, const float* out_gradient,
                             float* parameter_gradient, float* in_gradient, double* sums);
  // sum = one + other, pixel by pixel: the three may have different halos. The sum may be one of the two.
  void (*add)(const Grid& of_one, const Grid& of_other, const Grid& of_sum, int examples, const float* one,
              const float* other, float* sum, bool rectified);

  void (*rectify)(float* values, std::size_t count);
  // Sets a gradient to zero wherever a ReLU gave zero.
  void (*mask)(float* gradient, const float* values, std::size_t count);
  // g += decay w, v = momentum v + g, w -= rate v. Without a velocity, w -= rate g.
  void (*step)(float* weights, float* velocity, const float* gradient, std::size_t count, float rate,
               float momentum, float decay);
  double (*squares)(const float* values, std::size_t count);
  void (*add_scaled)(double* total, const float* values, double scale, std::size_t count);
  // The same two for the gradient of one example at a layer with one output pixel, which is an outer product:
  // it is never written down.
  double (*outer_squares)(const Convolution&, const float* in, const float* out_gradient);
  // `inputs` are rows of taps, one for each example; `gradients` rows of columns, scaled already.
  void (*add_outer)(const Convolution&, int examples, const float* inputs, const double* gradients, double* total);

  // Sums to gates, cells and states; and back from what arrives at the states to the gradients of the sums.
  void (*lstm_forward)(const LstmStep&);
  void (*lstm_backward)(const LstmStep&);
  // Scores to the gradient of scale * cross-entropy, in place.
  void (*softmax_gradient)(float* scores, int classes, int columns, std::int64_t label, float scale);
  double (*product)(const float* a, const float* b, std::size_t count);
};

namespace portable {
extern const Kernels kKernels;
}
#if defined(__x86_64__)
namespace avx2 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}
#endif

// The kernels of a name: "portable", "avx2", "avx512", or "auto" for the widest that this processor has.
// Throws std::invalid_argument for a name that does not exist here or needs what the processor lacks.
const Kernels& kernels_named(const char* name);

}  // namespace fedward
