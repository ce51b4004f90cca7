// The first pass over a description: the activations that there are, and which of them each layer reads and writes.
#pragma once

#include <string>
#include <vector>

#include "plan.h"

namespace fedward {

struct Step {
  Description described;
  int from = 0, other = 0, to = 0;  // see Layer
};

struct Graph {
  std::vector<Grid> grids;  // the last one comes out
  std::vector<Step> steps;
};

// The floats of a picture: places within a chunk have 32 bits. No width, kernel or padding is larger than this.
constexpr int kMostExamples = 64;
constexpr int kLargest = 0x7fffffff / kMostExamples;

[[noreturn]] void refuse(const std::string& why);
// In floating point, where nothing overflows: this comes before anything of that size is made.
void check_size(double size, double most);

// Throws std::invalid_argument if the layers do not fit the input or each other.
Graph trace(int channels, int height, int width, const std::vector<Description>& layers, int lanes);

}  // namespace fedward
