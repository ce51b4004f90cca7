#include "plan.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace fedward {
namespace {

// Activations and their gradients of one chunk, in floats: half of a usual second cache.
constexpr std::ptrdiff_t kChunkFloats = 64 * 1024;
constexpr int kMostExamples = 64;
// The floats of a picture: places within a chunk have 32 bits. No width, kernel or padding is larger than this.
constexpr int kLargest = std::numeric_limits<std::int32_t>::max() / kMostExamples;
// The packed parameters of a model.
constexpr std::int64_t kMostParameters = std::int64_t(1) << 28;

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument(why); }

int rounded_up(int number, int to) { return (number + to - 1) / to * to; }

// In floating point, where nothing overflows: this comes before anything of that size is made.
void check_size(double size, double most) {
  if (size > most) refuse("a layer is too large");
}

void check_size(const Grid& grid) {
  const double height = grid.height + 2.0 * grid.halo_height, width = grid.width + 2.0 * grid.halo_width;
  check_size(height * width * grid.stride, kLargest);
}

void check_numbers(const Description& each) {
  for (const int number : {each.outputs, each.kernel_height, each.kernel_width, each.stride_height, each.stride_width,
                           each.padding_height, each.padding_width, each.out_height, each.out_width}) {
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

// What a pool looks at along one side of the picture.
struct Window {
  int begin = 0, end = 0;
  int counted = 0;  // as how long a mean counts it
};

struct Windows {
  std::vector<Window> rows, columns;
};

std::vector<Window> windows(int size, int kernel, int stride, int padding, bool counts_padding) {
  std::vector<Window> found(outputs_along(size, kernel, stride, padding, "pool"));
  for (std::size_t i = 0; i < found.size(); ++i) {
    const int begin = static_cast<int>(i) * stride - padding;
    found[i].begin = std::max(begin, 0);
    found[i].end = std::min(begin + kernel, size);
    found[i].counted = counts_padding ? kernel : found[i].end - found[i].begin;
  }
  return found;
}

std::vector<Window> adaptive_windows(int size, int outputs) {
  std::vector<Window> found(outputs);
  for (int i = 0; i < outputs; ++i) {
    found[i].begin = static_cast<int>(std::int64_t(i) * size / outputs);
    found[i].end = static_cast<int>((std::int64_t(i + 1) * size + outputs - 1) / outputs);
    found[i].counted = found[i].end - found[i].begin;
  }
  return found;
}

double length(const std::vector<Window>& windows) {
  double sum = 0;
  for (const Window& window : windows) sum += window.end - window.begin;
  return sum;
}

Windows windows_of(const Description& from, const Grid& in) {
  if (from.kind == Description::Kind::adaptive_mean)
    return {adaptive_windows(in.height, from.out_height), adaptive_windows(in.width, from.out_width)};
  return {windows(in.height, from.kernel_height, from.stride_height, from.padding_height, from.counts_padding),
          windows(in.width, from.kernel_width, from.stride_width, from.padding_width, from.counts_padding)};
}

Grid shape_after(const Description& from, const Grid& in, int lanes) {
  const bool convolves = from.kind == Description::Kind::convolution;
  Grid out;
  out.channels = convolves ? from.outputs : in.channels;
  if (from.kind == Description::Kind::adaptive_mean) {
    out.height = from.out_height;
    out.width = from.out_width;
  } else {
    if (!convolves && (2 * from.padding_height > from.kernel_height || 2 * from.padding_width > from.kernel_width))
      refuse("the padding of a pool must be at most half of its kernel");
    const char* what = convolves ? "convolution" : "pool";
    out.height = outputs_along(in.height, from.kernel_height, from.stride_height, from.padding_height, what);
    out.width = outputs_along(in.width, from.kernel_width, from.stride_width, from.padding_width, what);
  }
  if (out.channels < 1 || out.height < 1 || out.width < 1) refuse("a layer must have at least one output");
  out.stride = rounded_up(out.channels, lanes);
  return out;
}

void connect_pool(Layer& layer, const Description& from, const Grid& in, const Grid& out) {
  const Windows windows = windows_of(from, in);
  check_size(length(windows.rows) * length(windows.columns), kLargest);
  for (int h = 0; h < out.height; ++h)
    for (int w = 0; w < out.width; ++w) {
      const Window &row = windows.rows[h], &column = windows.columns[w];
      layer.first.push_back(std::int32_t(layer.input_at.size()));
      for (int i = row.begin; i < row.end; ++i)
        for (int j = column.begin; j < column.end; ++j) layer.input_at.push_back(std::int32_t(in.at(i, j)));
      layer.output_at.push_back(std::int32_t(out.at(h, w)));
      layer.share.push_back(1.0f / (float(row.counted) * float(column.counted)));
    }
  layer.first.push_back(std::int32_t(layer.input_at.size()));
  Pool& pool = layer.pool;
  pool.takes_largest = from.kind == Description::Kind::largest;
  pool.pixels = out.height * out.width;
  pool.stride = out.stride;
  pool.from_size = in.size();
  pool.to_size = out.size();
  pool.first = layer.first.data();
  pool.input_at = layer.input_at.data();
  pool.output_at = layer.output_at.data();
  pool.share = layer.share.data();
}

// Only once both grids are final: their halos and strides are the neighbours' business.
void connect_convolution(Layer& layer, const Description& from, const Grid& in, const Grid& out, int chunk) {
  Convolution& conv = layer.convolution;
  conv.columns = out.stride;
  conv.used_columns = out.channels;
  conv.segments = from.kernel_height;
  conv.segment = from.kernel_width * in.stride;
  conv.segment_step = in.row();
  if (conv.segment == conv.segment_step) {  // the kernel is as wide as the picture: one stretch
    conv.segment *= conv.segments;
    conv.segments = 1;
  }
  conv.taps = conv.segments * conv.segment;
  conv.pixels = out.height * out.width;
  conv.biased = from.bias_at >= 0;
  conv.rectified = out.rectified;
  for (int example = 0; example < chunk; ++example)
    for (int h = 0; h < out.height; ++h)
      for (int w = 0; w < out.width; ++w) {
        // at() begins within the halo; a window begins at its corner.
        const std::ptrdiff_t corner = h * from.stride_height * in.row() + std::ptrdiff_t(w) * from.stride_width * in.stride;
        layer.input_at.push_back(static_cast<std::int32_t>(example * in.size() + corner));
        layer.output_at.push_back(static_cast<std::int32_t>(example * out.size() + out.at(h, w)));
      }
  for (int s = 0; s < conv.segments; ++s)
    for (int k = 0; k < conv.segment; ++k)
      layer.tap_at.push_back(static_cast<std::int32_t>(s * conv.segment_step + k));
  conv.input_at = layer.input_at.data();
  conv.output_at = layer.output_at.data();
  conv.tap_at = layer.tap_at.data();
  layer.parameters = conv.parameters();
}

// A layer's parameters must lie within the model's; check_cover then sees whether they overlap.
void check_parameters(const Description& from, const Grid& in, std::int64_t parameters) {
  const std::int64_t weights = std::int64_t(from.outputs) * from.kernel_height * from.kernel_width * in.channels;
  const bool weights_fit = from.weight_at >= 0 && weights <= parameters && from.weight_at <= parameters - weights;
  const bool bias_fits = from.bias_at == -1 || (from.bias_at >= 0 && from.outputs <= parameters &&
                                                from.bias_at <= parameters - from.outputs);
  if (!weights_fit || !bias_fits) refuse("the parameters of a layer lie outside of the model's");
}

// For each packed parameter of a layer its place in the flat vector, or -1.
void pack(const Layer& layer, const Description& from, const Grid& in, int lanes, std::vector<std::int64_t>& flat_at) {
  const Convolution& conv = layer.convolution;
  const int panel = 2 * lanes;
  const std::int64_t high = from.kernel_height, wide = from.kernel_width, channels = in.channels;
  std::int64_t* place = flat_at.data() + layer.parameters_at;
  for (int o = 0; o < from.outputs; ++o) {
    const int first = o / panel * panel;
    const int width = std::min(panel, conv.columns - first);
    for (std::int64_t i = 0; i < high; ++i)
      for (std::int64_t j = 0; j < wide; ++j)
        for (std::int64_t c = 0; c < channels; ++c) {
          const std::int64_t tap = (i * wide + j) * in.stride + c;
          const std::int64_t flat = from.channels_last ? ((o * high + i) * wide + j) * channels + c
                                                       : ((o * channels + c) * high + i) * wide + j;
          place[std::int64_t(first) * conv.taps + tap * width + (o - first)] = from.weight_at + flat;
        }
    if (conv.biased) place[conv.weights() + o] = from.bias_at + o;
  }
}

// Every parameter of the model must be exactly one packed parameter.
void check_cover(const std::vector<std::int64_t>& flat_at, std::int64_t parameters) {
  std::vector<bool> seen(parameters, false);
  std::int64_t found = 0;
  for (const std::int64_t flat : flat_at) {
    if (flat < 0) continue;
    if (flat >= parameters || seen[flat]) refuse("the parameters of the layers overlap");
    seen[flat] = true;
    ++found;
  }
  if (found != parameters)
    refuse("the layers have " + std::to_string(found) + " parameters, the model has " + std::to_string(parameters));
}

}  // namespace

int Plan::convolutions() const {
  return static_cast<int>(std::count_if(layers.begin(), layers.end(), [](const auto& layer) { return layer->convolves; }));
}

Plan::Plan(int channels, int height, int width, const std::vector<Description>& described, std::int64_t total,
           int lanes)
    : parameters(total) {
  if (channels < 1 || height < 1 || width < 1 || total < 1) refuse("the input and the model must not be empty");
  for (const int number : {channels, height, width}) check_size(number, kLargest);
  check_size(double(total), kMostParameters);
  Grid first;
  first.channels = channels;
  first.stride = rounded_up(channels, lanes);
  first.height = height;
  first.width = width;
  grids.push_back(first);

  std::vector<const Description*> kept;
  for (const Description& each : described) {
    if (each.kind == Description::Kind::relu) {
      grids.back().rectified = true;
      continue;
    }
    check_numbers(each);
    auto layer = std::make_unique<Layer>();
    layer->convolves = each.kind == Description::Kind::convolution;
    if (layer->convolves) {
      grids.back().halo_height = each.padding_height;
      grids.back().halo_width = each.padding_width;
    }
    check_size(grids.back());
    grids.push_back(shape_after(each, grids.back(), lanes));
    check_size(grids.back());
    layers.push_back(std::move(layer));
    kept.push_back(&each);
  }
  if (convolutions() == 0) refuse("the model must have a layer with parameters");
  // No gradient goes back to the examples, so a convolution may read them as they are.
  if (layers.front()->convolves) grids.front().stride = channels;
  if (output().height != 1 || output().width != 1) refuse("the model must end with one score for each class");

  std::ptrdiff_t floats = 0;
  for (const Grid& grid : grids) floats += 2 * grid.size();
  // Where every layer is linear, weights are most of what is read: they are read once for a chunk, and activations may
  // take half as much room.
  const bool linear = std::all_of(grids.begin(), grids.end(), [](const Grid& grid) { return grid.height * grid.width == 1; });
  const std::ptrdiff_t room = linear ? std::max<std::ptrdiff_t>(kChunkFloats, parameters / 2) : kChunkFloats;
  chunk = static_cast<int>(std::clamp<std::ptrdiff_t>(room / floats, 1, kMostExamples));

  while (!layers[lowest]->convolves) ++lowest;
  std::ptrdiff_t packed = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Layer& layer = *layers[i];
    if (!layer.convolves) {
      connect_pool(layer, *kept[i], grids[i], grids[i + 1]);
      continue;
    }
    check_parameters(*kept[i], grids[i], parameters);
    connect_convolution(layer, *kept[i], grids[i], grids[i + 1], chunk);
    check_size(double(packed) + double(layer.parameters), kMostParameters);
    layer.parameters_at = packed;
    packed += layer.parameters;
    flat_at.resize(packed, -1);
    pack(layer, *kept[i], grids[i], lanes, flat_at);
  }
  check_cover(flat_at, parameters);
}

}  // namespace fedward
