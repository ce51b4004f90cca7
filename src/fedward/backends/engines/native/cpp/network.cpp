#include "network.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fedward {

Network::Network(const Plan& for_plan, const Kernels& with_kernels) : plan(for_plan), kernels(with_kernels) {
  // The kernels work in whole vectors; the examples themselves may end within one.
  for (const Grid& grid : plan.grids) values_.emplace_back(plan.chunk * grid.size() + kernels.lanes, 0.0f);
  for (const std::ptrdiff_t size : plan.buffers) gradients_.emplace_back(plan.chunk * size + kernels.lanes, 0.0f);
  for (const auto& layer : plan.layers) {
    const std::ptrdiff_t channels = plan.grids[layer->to].stride;
    const bool normalises = layer->kind == Layer::Kind::normalisation;
    transposed_.emplace_back(layer->convolves() && gradient_of(layer->from) ? layer->convolution.weights() : 0, 0.0f);
    winners_.emplace_back(layer->pool.takes_largest ? values_[layer->to].size() : 0, 0);
    statistics_.emplace_back(normalises ? plan.chunk * 2 * channels : 0, 0.0f);
    if (normalises) sums_.resize(std::max<std::size_t>(sums_.size(), 2 * channels));
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
  for (std::size_t i = 0; trains && i < plan.layers.size(); ++i)
    if (!transposed_[i].empty())
      kernels.transpose(plan.layers[i]->convolution, weights + plan.layers[i]->parameters_at, transposed_[i].data());
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
    const Grid &from = plan.grids[layer.from], &to = plan.grids[layer.to];
    const float *in = values_[layer.from].data(), *weights = weights_ + layer.parameters_at;
    float* out = values_[layer.to].data();
    switch (layer.kind) {
      case Layer::Kind::convolution:
        kernels.forward(layer.convolution, count, in, weights, out);
        break;
      case Layer::Kind::pool:
        kernels.pool(layer.pool, count, in, out, winners_[i].data());
        if (to.rectified) kernels.rectify(out, count * to.size());
        break;
      case Layer::Kind::normalisation:
        kernels.normalise(layer.normalisation, from, to, count, in, weights, out, statistics_[i].data(), sums_.data());
        break;
      case Layer::Kind::sum:
        kernels.add(from, plan.grids[layer.other], to, count, in, values_[layer.other].data(), out, to.rectified);
        break;
    }
  }
  return values_.back().data();
}

void Network::score_gradient(const Data& data, const std::int64_t* index, int count, float scale) {
  const int classes = plan.classes(), stride = plan.output().stride;
  for (int example = 0; example < count; ++example) {
    const float* score = values_.back().data() + example * stride;
    float* gradient = gradient_of(int(plan.grids.size()) - 1) + example * stride;
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
  std::vector<bool> begun(plan.grids.size(), false);
  for (std::size_t i = plan.layers.size(); i-- > 0;) {
    const Layer& layer = *plan.layers[i];
    const Grid& to = plan.grids[layer.to];
    float* arriving = gradient_of(layer.to);
    if (!arriving) continue;
    if (to.rectified) kernels.mask(arriving, values_[layer.to].data(), count * to.size());
    // What several layers read gets the sum of what they send back.
    for (const int grid : {layer.from, layer.other}) {
      if (begun[grid] || !gradient_of(grid)) continue;
      std::fill_n(gradient_of(grid), count * plan.grids[grid].size(), 0.0f);
      begun[grid] = true;
    }
    go_back_through(i, count, gradient, outer || !layer.outer());
  }
}

void Network::go_back_through(std::size_t number, int count, float* gradient, bool learns) {
  const Layer& layer = *plan.layers[number];
  const Grid &from = plan.grids[layer.from], &to = plan.grids[layer.to];
  const float *in = values_[layer.from].data(), *arriving = gradient_of(layer.to);
  float *own = gradient + layer.parameters_at, *sent_back = gradient_of(layer.from);
  switch (layer.kind) {
    case Layer::Kind::convolution:
      if (learns) kernels.weight_gradient(layer.convolution, count, in, arriving, own);
      if (sent_back)
        kernels.input_gradient(layer.convolution, count, arriving, transposed_[number].data(), sent_back);
      break;
    case Layer::Kind::pool:
      kernels.pool_gradient(layer.pool, count, arriving, winners_[number].data(), sent_back);
      break;
    case Layer::Kind::normalisation:
      kernels.normalise_gradient(layer.normalisation, from, to, count, in, weights_ + layer.parameters_at,
                                 statistics_[number].data(), arriving, layer.parameters ? own : nullptr, sent_back,
                                 sums_.data());
      break;
    case Layer::Kind::sum:
      for (const int grid : {layer.from, layer.other})
        if (float* part = gradient_of(grid))
          kernels.add(plan.grids[grid], to, plan.grids[grid], count, part, arriving, part, false);
      break;
  }
}

}  // namespace fedward
