#include "graph.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace fedward {
namespace {

using Kind = Description::Kind;

int rounded_up(int number, int to) { return (number + to - 1) / to * to; }

void check_grid(const Grid& grid) {
  const double height = grid.height + 2.0 * grid.halo_height, width = grid.width + 2.0 * grid.halo_width;
  check_size(height * width * grid.stride, kLargest);
}

void check_numbers(const Description& each) {
  for (const int number : {each.outputs, each.kernel_height, each.kernel_width, each.stride_height, each.stride_width,
                           each.padding_height, each.padding_width, each.out_height, each.out_width, each.groups}) {
    if (number < 0) refuse("no number of a layer may be negative, got " + std::to_string(number));
    check_size(number, kLargest);
  }
}

int outputs_along(int size, int kernel, int stride, int padding, const char* what) {
  if (kernel < 1 || stride < 1 || padding < 0) refuse(std::string("the ") + what + " of a layer is not possible");
  const int room = size + 2 * padding - kernel;
  if (room < 0) refuse("a kernel of " + std::to_string(kernel) + " is larger than its input");
  return room / stride + 1;
}

void check_normalisation(const Description& each, const Grid& in) {
  if (each.groups < 1 || in.channels % each.groups != 0)
    refuse("groups must divide " + std::to_string(in.channels) + " channels, got " + std::to_string(each.groups));
  if (!(each.epsilon >= 0) || std::isinf(each.epsilon))
    refuse("what a normalisation adds to a variance must be finite and not negative");
}

Grid shape_after(const Description& each, const Grid& in, int lanes) {
  Grid out;
  out.channels = in.channels;
  out.height = in.height;
  out.width = in.width;
  if (each.kind == Kind::adaptive_mean) {
    out.height = each.out_height;
    out.width = each.out_width;
  } else if (each.kind == Kind::normalisation) {
    check_normalisation(each, in);
  } else if (each.kind != Kind::sum) {
    const bool convolves = each.kind == Kind::convolution;
    if (convolves) out.channels = each.outputs;
    if (!convolves && (2 * each.padding_height > each.kernel_height || 2 * each.padding_width > each.kernel_width))
      refuse("the padding of a pool must be at most half of its kernel");
    const char* what = convolves ? "convolution" : "pool";
    out.height = outputs_along(in.height, each.kernel_height, each.stride_height, each.padding_height, what);
    out.width = outputs_along(in.width, each.kernel_width, each.stride_width, each.padding_width, what);
  }
  if (out.channels < 1 || out.height < 1 || out.width < 1) refuse("a layer must have at least one output");
  out.stride = rounded_up(out.channels, lanes);
  return out;
}

class Tracer {
 public:
  Tracer(const Grid& first, int vector) : lanes_(vector) {
    graph_.grids.push_back(first);
    read_twice_.push_back(false);
  }

  void follow(const Description& each) {
    switch (each.kind) {
      case Kind::relu: return rectify();
      case Kind::branch: return branch();
      case Kind::shortcut: return shortcut();
      case Kind::sum: return sum(each);
      default: step(each, now_);
    }
  }

  Graph finish() {
    if (!open_.empty()) refuse("a branch has no sum");
    return std::move(graph_);
  }

 private:
  struct Open {
    int start, end;  // end: of the path, -1 as long as it is not there
  };

  Grid& now() { return graph_.grids[now_]; }

  void step(const Description& each, int other) {
    check_numbers(each);
    if (each.kind == Kind::convolution) {
      now().halo_height = std::max(now().halo_height, each.padding_height);
      now().halo_width = std::max(now().halo_width, each.padding_width);
    }
    check_grid(now());
    const Grid out = shape_after(each, now(), lanes_);
    check_grid(out);
    const int to = int(graph_.grids.size());
    graph_.grids.push_back(out);
    read_twice_.push_back(false);
    graph_.steps.push_back({each, now_, other, to});
    now_ = to;
  }

  void rectify() {
    if (now().rectified) return;
    if (read_twice_[now_]) {  // somebody else reads it as it is: a copy is rectified
      Description copy;
      copy.kind = Kind::mean;
      copy.kernel_height = copy.kernel_width = 1;
      step(copy, now_);
    }
    now().rectified = true;
  }

  void branch() {
    read_twice_[now_] = true;
    open_.push_back({now_, -1});
  }

  void shortcut() {
    if (open_.empty() || open_.back().end >= 0) refuse("a shortcut must come after a branch");
    open_.back().end = now_;
    now_ = open_.back().start;
  }

  void sum(const Description& each) {
    if (open_.empty() || open_.back().end < 0) refuse("a sum must come after a shortcut");
    const int end = open_.back().end;
    const Grid& path = graph_.grids[end];
    if (path.channels != now().channels || path.height != now().height || path.width != now().width)
      refuse("a path and its shortcut must end with the same shape");
    open_.pop_back();
    step(each, end);
  }

  Graph graph_;
  std::vector<bool> read_twice_;
  std::vector<Open> open_;
  const int lanes_;
  int now_ = 0;
};

// No gradient goes back to the examples, so convolutions may read them as they are.
bool only_convolutions_read(int grid, const Graph& graph) {
  return std::all_of(graph.steps.begin(), graph.steps.end(), [grid](const Step& step) {
    const bool reads = step.from == grid || (step.described.kind == Kind::sum && step.other == grid);
    return !reads || step.described.kind == Kind::convolution;
  });
}

}  // namespace

void refuse(const std::string& why) { throw std::invalid_argument(why); }

void check_size(double size, double most) {
  if (size > most) refuse("a layer is too large");
}

Graph trace(int channels, int height, int width, const std::vector<Description>& layers, int lanes) {
  if (channels < 1 || height < 1 || width < 1) refuse("the input and the model must not be empty");
  for (const int number : {channels, height, width}) check_size(number, kLargest);
  Grid first;
  first.channels = channels;
  first.stride = rounded_up(channels, lanes);
  first.height = height;
  first.width = width;
  Tracer tracer(first, lanes);
  for (const Description& each : layers) tracer.follow(each);
  Graph graph = tracer.finish();
  if (only_convolutions_read(0, graph)) graph.grids.front().stride = channels;
  return graph;
}

}  // namespace fedward
