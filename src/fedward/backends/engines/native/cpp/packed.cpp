#include "packed.h"

#include <cmath>
#include <numeric>

namespace fedward {
namespace {

// The same two numbers as in local/per_example/gradient_sum.py: a little less than the bound pays for rounding, and a
// gradient so many times its bound can no longer be scaled down with full precision.
const double kMargin = 1.0 - std::ldexp(1.0, -18);
const double kMost = std::ldexp(1.0, 100);

double distance(const std::vector<float>& from, const std::vector<float>& to) {
  double sum = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const double moved = double(to[i]) - double(from[i]);
    sum += moved * moved;
  }
  return std::sqrt(sum);
}

}  // namespace

bool project(const std::vector<float>& centre, double bound, std::vector<float>& weights) {
  const double far = distance(centre, weights);
  if (!std::isfinite(far)) return false;
  if (far > bound) {
    const double scale = bound / far * kMargin;
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = static_cast<float>(centre[i] + (double(weights[i]) - double(centre[i])) * scale);
  }
  return true;
}

bool scales_for(std::vector<double>& squares, const std::vector<double>& bounds, std::vector<double>& scales) {
  const bool whole = bounds.size() == 1;
  if (whole) std::fill(squares.begin(), squares.end(), std::accumulate(squares.begin(), squares.end(), 0.0));
  for (std::size_t l = 0; l < squares.size(); ++l) {
    const double bound = bounds[whole ? 0 : l], norm = std::sqrt(squares[l]);
    if (!std::isfinite(norm) || norm > bound * kMost) return false;
    scales[l] = std::min(1.0, bound / norm * kMargin);
  }
  return true;
}

}  // namespace fedward
