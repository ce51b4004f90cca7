// The sum of clipped gradients of single examples of text, which are never written down.
#pragma once

#include <cstdint>
#include <vector>

#include "text_network.h"

namespace fedward {

// An example's gradient of a matrix is a sum of outer products, one for each of its tokens. Its squared norm is
//
//   |sum_t g_t a_t^T|^2 = sum_ts (g_t . g_s)(a_t . a_s),
//
// in double precision; and the sum over examples takes the products of all their tokens, scaled, in double precision
// too. So what is added is what was measured, up to the rounding of double precision.
class TextClipping {
 public:
  TextClipping(const TextNetwork& network, const std::vector<double>& bounds, std::size_t parameters);

  // Adds the examples of the network's last pass; one without a usable gradient contributes nothing.
  void add(int examples);
  // The sum, packed.
  const std::vector<double>& sum();

 private:
  struct Usable {
    int example;
    std::vector<double> scales;
  };

  void measure(int example, std::vector<double>& squares);
  double table_squares(int example);
  double layer_squares(int layer, int example);
  double output_squares(int example) const;
  void add_table(const Usable& usable);
  void add_layer(int layer, const std::vector<Usable>& examples);
  void add_output(const std::vector<Usable>& examples);
  // Collects rows of a product, and adds them up together: the sum is the largest of what is touched.
  void collect(const Convolution& product, std::ptrdiff_t at, const float* input, const float* gradient, double scale);
  void flush(const Convolution& product, std::ptrdiff_t at);

  const TextNetwork& network_;
  const TextPlan& plan_;
  const Kernels& kernels_;
  const std::vector<double>& bounds_;
  std::vector<double> sum_, gradients_;
  std::vector<float> inputs_;
  int waiting_ = 0;
};

}  // namespace fedward
