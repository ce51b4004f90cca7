#include "network.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fedward {

Network::Network(const Plan& for_plan, const Kernels& with_kernels) : plan(for_plan), kernels(with_kernels) {
  for (const Grid& grid : plan.grids) {
    // The kernels work in whole vectors; the examples themselves may end within one.
    const std::size_t size = plan.chunk * grid.size() + kernels.lanes;
    values_.emplace_back(size, 0.0f);
    gradients_.emplace_back(size, 0.0f);
  }
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    const Layer& layer = *plan.layers[i];
    const bool sends_back = layer.convolves && int(i) > plan.lowest;
    transposed_.emplace_back(sends_back ? layer.convolution.weights() : 0, 0.0f);
    winners_.emplace_back(layer.pool.takes_largest ? values_[i + 1].size() : 0, 0);
  }
}

std::vector<float> Network::packed(const float* flat) const {
  std::vector<float> weights(plan.flat_at.size(), 0.0f);
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (plan.flat_at[i] >= 0) weights[i] = flat[plan.flat_at[i]];
  return weights;
}

void Network::set(const float* weights, bool trains) {
  weights_ = weights;
  for (int i = plan.lowest + 1; trains && i < int(plan.layers.size()); ++i) {
    const Layer& layer = *plan.layers[i];
    if (layer.convolves)
      kernels.transpose(layer.convolution, weights + layer.parameters_at, transposed_[i].data());
  }
}

void Network::load(const Data& data, const std::int64_t* index, int count) {
  const Grid& grid = plan.input();
  const std::ptrdiff_t picture = std::ptrdiff_t(grid.height) * grid.width;
  for (int example = 0; example < count; ++example) {
    const float* from = data.x + index[example] * picture * grid.channels;
    float* to = values_[0].data() + example * grid.size();
    for (int h = 0; h < grid.height; ++h) {
      float* row = to + grid.at(h, 0);
      if (grid.stride == 1) {
        std::memcpy(row, from + std::ptrdiff_t(h) * grid.width, sizeof(float) * grid.width);
        continue;
      }
      for (int c = 0; c < grid.channels; ++c)
        for (int w = 0; w < grid.width; ++w) row[w * grid.stride + c] = from[c * picture + h * grid.width + w];
    }
  }
  if (grid.rectified) kernels.rectify(values_[0].data(), count * grid.size());
}

const float* Network::forward(const Data& data, const std::int64_t* index, int count) {
  load(data, index, count);
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    const Layer& layer = *plan.layers[i];
    const Grid& to = plan.grids[i + 1];
    const float* in = values_[i].data();
    float* out = values_[i + 1].data();
    if (layer.convolves) {
      kernels.forward(layer.convolution, count, in, weights_ + layer.parameters_at, out);
    } else {
      kernels.pool(layer.pool, count, in, out, winners_[i].data());
      if (to.rectified) kernels.rectify(out, count * to.size());
    }
  }
  return values_.back().data();
}

void Network::score_gradient(const Data& data, const std::int64_t* index, int count, float scale) {
  const int classes = plan.classes(), stride = plan.output().stride;
  for (int example = 0; example < count; ++example) {
    const float* score = values_.back().data() + example * stride;
    float* gradient = gradients_.back().data() + example * stride;
    const float largest = *std::max_element(score, score + classes);
    float sum = 0;
    for (int c = 0; c < classes; ++c) sum += gradient[c] = std::exp(score[c] - largest);
    for (int c = 0; c < classes; ++c)
      gradient[c] = (gradient[c] / sum - (c == data.y[index[example]] ? 1.0f : 0.0f)) * scale;
  }
}

void Network::backward(const Data& data, const std::int64_t* index, int count, float scale, float* gradient) {
  go_back(data, index, count, scale, gradient, true);
}

void Network::backward_but_outer(const Data& data, std::int64_t index, float* gradient) {
  go_back(data, &index, 1, 1.0f, gradient, false);
}

void Network::go_back(const Data& data, const std::int64_t* index, int count, float scale, float* gradient,
                      bool outer) {
  score_gradient(data, index, count, scale);
  for (int i = int(plan.layers.size()) - 1; i >= plan.lowest; --i) {
    const Layer& layer = *plan.layers[i];
    const Grid &from = plan.grids[i], &to = plan.grids[i + 1];
    const std::vector<float>& in = values_[i];
    std::vector<float>& sent_back = gradients_[i];
    std::vector<float>& arriving = gradients_[i + 1];
    if (to.rectified)
      kernels.mask(arriving.data(), values_[i + 1].data(),
                   count * to.size());
    if (layer.convolves && (outer || layer.convolution.pixels > 1))
      kernels.weight_gradient(layer.convolution, count, in.data(), arriving.data(), gradient + layer.parameters_at);
    if (i == plan.lowest) return;
    std::fill_n(sent_back.begin(), count * from.size(), 0.0f);
    if (layer.convolves)
      kernels.input_gradient(layer.convolution, count, arriving.data(),
                             transposed_[i].data(), sent_back.data());
    else
      kernels.pool_gradient(layer.pool, count, arriving.data(),
                            winners_[i].data(), sent_back.data());
  }
}

}  // namespace fedward
