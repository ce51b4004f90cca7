// One step of an LSTM layer, in numbers and pointers only (see kernels_avx2.cpp).
#pragma once

#include <cstddef>

namespace fedward {

// A step for `rows` sequences. Of each there are `units` states and four gates in a row of the order of torch: i, f,
// g, o. Units are rounded up to whole vectors; what is added has weights of zero, and its state stays zero.
struct LstmStep {
  int rows = 0, units = 0;
  std::ptrdiff_t gate_row = 0, unit_row = 0;  // floats from sequence to sequence
  const float* bias = nullptr;                // added to what the products gave
  const float* cells_before = nullptr;        // of the step before; none in the first, where they are zero
  float* gates = nullptr;                     // sums, then gates; on the way back the gradients of the sums
  float* cells = nullptr;
  float* squashed = nullptr;                  // tanh of the cells
  float* states = nullptr;
  // On the way back: what arrives at the states, and what goes from cells to cells, there and on.
  const float* arriving = nullptr;
  float* carried = nullptr;
};

}  // namespace fedward
