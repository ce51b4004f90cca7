#include "plan.h"

#include <algorithm>
#include <numeric>

#include "graph.h"

namespace fedward {
namespace {

// Activations and their gradients of one chunk, in floats: half of a usual second cache.
constexpr std::ptrdiff_t kChunkFloats = 64 * 1024;
// Weights beyond this many floats are read from behind that cache, several times for each chunk: as many examples
// share them as have, by this factor, as many activations. But a chunk never has more floats than the last number.
constexpr std::int64_t kManyParameters = 512 * 1024;
constexpr std::ptrdiff_t kShare = 3;
constexpr std::ptrdiff_t kMostFloats = 7680 * 1024;
// The packed parameters of a model.
constexpr std::int64_t kMostParameters = std::int64_t(1) << 28;

// What a pool looks at along one side of the picture.
struct Window {
  int begin = 0, end = 0;
  int counted = 0;  // as how long a mean counts it
};

struct Windows {
  std::vector<Window> rows, columns;
};

std::vector<Window> windows(int size, int outputs, int kernel, int stride, int padding, bool counts_padding) {
  std::vector<Window> found(outputs);
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

Windows windows_of(const Description& from, const Grid& in, const Grid& out) {
  if (from.kind == Description::Kind::adaptive_mean)
    return {adaptive_windows(in.height, out.height), adaptive_windows(in.width, out.width)};
  const bool padded = from.counts_padding;
  return {windows(in.height, out.height, from.kernel_height, from.stride_height, from.padding_height, padded),
          windows(in.width, out.width, from.kernel_width, from.stride_width, from.padding_width, padded)};
}

void connect_pool(Layer& layer, const Description& from, const Grid& in, const Grid& out) {
  const Windows windows = windows_of(from, in, out);
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
        const std::ptrdiff_t corner =
            in.at(h * from.stride_height - from.padding_height, w * from.stride_width - from.padding_width);
        layer.input_at.push_back(static_cast<std::int32_t>(example * in.size() + corner));
        layer.output_at.push_back(static_cast<std::int32_t>(example * out.size() + out.at(h, w)));
      }
  for (int s = 0; s < conv.segments; ++s)
    for (int k = 0; k < conv.segment; ++k)
      layer.tap_at.push_back(static_cast<std::int32_t>(s * conv.segment_step + k));
  conv.input_at = layer.input_at.data();
  conv.output_at = layer.output_at.data();
  conv.tap_at = layer.tap_at.data();
}

void check_place(std::int64_t at, std::int64_t count, std::int64_t parameters) {
  if (at < 0 || count > parameters || at > parameters - count)
    refuse("the parameters of a layer lie outside of the model's");
}

// They must lie within the model's; check_cover then sees whether they overlap.
void check_parameters(const Layer& layer, const Description& from, const Grid& in, std::int64_t parameters) {
  if (layer.convolves()) {
    const std::int64_t weights = std::int64_t(from.outputs) * from.kernel_height * from.kernel_width * in.channels;
    check_place(from.weight_at, weights, parameters);
    if (from.bias_at != -1) check_place(from.bias_at, from.outputs, parameters);
  } else if (layer.normalisation.affine) {
    check_place(from.weight_at, in.channels, parameters);
    check_place(from.bias_at, in.channels, parameters);
  }
}

// For each packed parameter of a layer its place in the flat vector, or -1.
void pack_convolution(const Layer& layer, const Description& from, const Grid& in, int lanes,
                      std::vector<std::int64_t>& flat_at) {
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

Layer::Kind kind_of(const Description& from) {
  switch (from.kind) {
    case Description::Kind::convolution: return Layer::Kind::convolution;
    case Description::Kind::normalisation: return Layer::Kind::normalisation;
    case Description::Kind::sum: return Layer::Kind::sum;
    default: return Layer::Kind::pool;
  }
}

}  // namespace

std::vector<const Layer*> Plan::learning() const {
  std::vector<const Layer*> found;
  for (const auto& layer : layers)
    if (layer->parameters > 0) found.push_back(layer.get());
  std::sort(found.begin(), found.end(), [](const Layer* a, const Layer* b) { return a->flat_at < b->flat_at; });
  return found;
}

// Backwards through the layers: a gradient's buffer is taken when the last layer that reads the activations sends
// something back, and free again when the layer that wrote them has passed it on. What an outer product is made of
// is kept to the end, and so are the scores', whose padding nobody writes.
void Plan::share_buffers() {
  std::vector<bool> asked(grids.size(), false);
  for (const auto& layer : layers) {
    const bool learns = layer->convolves() || layer->normalisation.affine;
    asked[layer->to] = learns || asked[layer->from] || asked[layer->other];
  }
  gradient_buffer.assign(grids.size(), -1);
  std::vector<int> idle;
  const auto take = [&](int grid) {
    if (!asked[grid] || gradient_buffer[grid] >= 0) return;
    if (idle.empty()) {
      idle.push_back(int(buffers.size()));
      buffers.push_back(0);
    }
    const int buffer = gradient_buffer[grid] = idle.back();
    idle.pop_back();
    buffers[buffer] = std::max(buffers[buffer], grids[grid].size());
  };
  take(int(grids.size()) - 1);
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    const Layer& each = **layer;
    take(each.from);
    take(each.other);
    const bool last = each.to + 1 == int(grids.size());
    const Grid& to = grids[each.to];
    const bool outer = each.convolves() && to.height * to.width == 1;
    if (asked[each.to] && !last && !outer) idle.push_back(gradient_buffer[each.to]);
  }
}

void Plan::choose_chunk() {
  std::ptrdiff_t values = 0, gradients = 0;
  for (const Grid& grid : grids) values += grid.size();
  for (const std::ptrdiff_t size : buffers) gradients += size;
  std::ptrdiff_t examples = kChunkFloats / (2 * values);
  if (parameters > kManyParameters) examples = std::min(kShare * parameters, kMostFloats) / (values + gradients);
  chunk = static_cast<int>(std::clamp<std::ptrdiff_t>(examples, 1, kMostExamples));
}

// Where a layer's parameters lie, from `packed` on; returns where they end.
std::ptrdiff_t Plan::pack(Layer& layer, const Description& from, std::ptrdiff_t packed, int lanes) {
  const Grid& in = grids[layer.from];
  if (layer.convolves()) layer.parameters = layer.convolution.parameters();
  if (layer.normalisation.affine) layer.parameters = 2 * std::ptrdiff_t(in.stride);
  if (layer.parameters == 0) return packed;
  check_size(double(packed) + double(layer.parameters), kMostParameters);
  layer.parameters_at = packed;
  layer.flat_at = from.weight_at;
  flat_at.resize(packed + layer.parameters, -1);
  if (layer.convolves()) {
    pack_convolution(layer, from, in, lanes, flat_at);
  } else {
    std::int64_t* place = flat_at.data() + packed;
    std::iota(place, place + in.channels, from.weight_at);
    std::iota(place + in.stride, place + in.stride + in.channels, from.bias_at);
  }
  return packed + layer.parameters;
}

Plan::Plan(int channels, int height, int width, const std::vector<Description>& described, std::int64_t total,
           int lanes)
    : parameters(total) {
  if (total < 1) refuse("the input and the model must not be empty");
  check_size(double(total), kMostParameters);
  Graph graph = trace(channels, height, width, described, lanes);
  grids = std::move(graph.grids);
  for (const Step& step : graph.steps) {
    auto layer = std::make_unique<Layer>();
    layer->kind = kind_of(step.described);
    layer->from = step.from;
    layer->other = step.other;
    layer->to = step.to;
    if (layer->kind == Layer::Kind::normalisation)
      layer->normalisation = {step.described.groups, step.described.epsilon,
                              step.described.weight_at != -1 || step.described.bias_at != -1};
    layers.push_back(std::move(layer));
  }
  if (std::none_of(layers.begin(), layers.end(), [](const auto& layer) { return layer->convolves(); }))
    refuse("the model must have a layer with parameters");
  if (output().height != 1 || output().width != 1) refuse("the model must end with one score for each class");
  share_buffers();
  choose_chunk();

  std::ptrdiff_t packed = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Layer& layer = *layers[i];
    const Description& from = graph.steps[i].described;
    const Grid &in = grids[layer.from], &out = grids[layer.to];
    check_parameters(layer, from, in, parameters);  // before anything of their size is made
    if (layer.kind == Layer::Kind::pool) connect_pool(layer, from, in, out);
    if (layer.convolves()) connect_convolution(layer, from, in, out, chunk);
    packed = pack(layer, from, packed, lanes);
  }
  check_cover(flat_at, parameters);
}

}  // namespace fedward
