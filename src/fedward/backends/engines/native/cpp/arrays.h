// Arrays of Python as they come in: taken as they are, and refused where they are not what they must be.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace fedward {

namespace py = pybind11;

// A wrong type or layout is refused, never converted behind the caller's back.
using Floats = py::array_t<float, py::array::c_style>;
using Doubles = py::array_t<double, py::array::c_style>;
using Numbers = py::array_t<std::int64_t, py::array::c_style>;

[[noreturn]] inline void refuse(const std::string& why) { throw std::invalid_argument(why); }

inline std::string shape_of(const py::array& array) {
  std::string text = "(";
  for (py::ssize_t i = 0; i < array.ndim(); ++i) text += std::to_string(array.shape(i)) + ", ";
  return text + ")";
}

inline void check_aligned(const py::array& array) {
  if (!(array.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_)) refuse("an array must be aligned in memory");
}

inline void check_model(const Floats& model, std::int64_t parameters) {
  check_aligned(model);
  if (model.ndim() != 1 || model.shape(0) != parameters)
    refuse("parameters must have shape (" + std::to_string(parameters) + ",), got " + shape_of(model));
}

inline void check_steps(const std::vector<std::int64_t>& sizes, std::int64_t order) {
  for (const std::int64_t size : sizes) {
    if (size < 1 || size > order) refuse("a step of " + std::to_string(size) + " examples does not fit the order");
    order -= size;
  }
  if (order != 0) refuse("the steps leave " + std::to_string(order) + " examples of the order");
}

inline void check_bound(double bound) {
  if (!(bound >= 0)) refuse("bound must be positive, or 0 for none, got " + std::to_string(bound));
}

inline void check_clip_bounds(const std::vector<double>& bounds, int groups) {
  if (bounds.size() != 1 && bounds.size() != std::size_t(groups))
    refuse("clip bounds must be 1 or one for each layer, got " + std::to_string(bounds.size()));
  for (const double bound : bounds)
    if (!(bound > 0) || std::isinf(bound)) refuse("clip bound must be positive and finite, got " + std::to_string(bound));
}

inline void check_span(std::int64_t first, std::int64_t count, std::int64_t examples) {
  if (first < 0 || count < 0 || first > examples - count)
    refuse("there are " + std::to_string(examples) + " examples, " + std::to_string(count) + " were asked for from " +
           std::to_string(first) + " on");
}

// The examples of an order exist, and their labels are classes.
inline void check_order(const Numbers& index, const Numbers& y, std::int64_t examples, std::int64_t classes) {
  check_aligned(y);
  check_aligned(index);
  if (y.ndim() != 1 || y.shape(0) != examples)
    refuse("there must be one label for each example, got " + shape_of(y) + " for " + std::to_string(examples) +
           " examples");
  if (index.ndim() != 1) refuse("the order of examples must be one row, got " + shape_of(index));
  for (py::ssize_t i = 0; i < index.size(); ++i) {
    const std::int64_t example = index.data()[i];
    if (example < 0 || example >= examples)
      refuse("example " + std::to_string(example) + " does not exist: there are " + std::to_string(examples));
    const std::int64_t label = y.data()[example];
    if (label < 0 || label >= classes)
      refuse("label " + std::to_string(label) + " does not exist: there are " + std::to_string(classes) + " classes");
  }
}

// Networks are costly to set up: those that are not in use wait here for the next call of any thread.
template <class Network>
class Idle {
 public:
  // Calls `work` with a network that nobody else has, and without Python's lock.
  template <class Make, class Work>
  void lend(Make&& make, Work&& work) {
    const py::gil_scoped_release others_may_run;
    std::unique_ptr<Network> network = take();
    if (!network) network = make();
    work(*network);
    const std::lock_guard<std::mutex> guard(mutex_);
    idle_.push_back(std::move(network));
  }

 private:
  std::unique_ptr<Network> take() {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (idle_.empty()) return nullptr;
    std::unique_ptr<Network> network = std::move(idle_.back());
    idle_.pop_back();
    return network;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Network>> idle_;
};

}  // namespace fedward
