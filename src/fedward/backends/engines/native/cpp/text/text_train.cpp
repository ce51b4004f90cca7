#include "text_train.h"

#include <algorithm>
#include <numeric>

#include "text_clipping.h"

namespace fedward {
namespace {

// The longest first, as passes want them; those of one length in the order in which they came.
std::vector<std::int64_t> longest_first(const Texts& texts, const std::int64_t* index, std::int64_t count) {
  std::vector<std::pair<std::int64_t, std::int64_t>> order(count);
  for (std::int64_t i = 0; i < count; ++i) order[i] = {-texts.length(index[i]), index[i]};
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::int64_t> sorted(count);
  std::transform(order.begin(), order.end(), sorted.begin(), [](const auto& each) { return each.second; });
  return sorted;
}

void add_batch(TextNetwork& network, const Texts& texts, const std::int64_t* index, std::int64_t count,
               float* gradient) {
  const std::vector<std::int64_t> order = longest_first(texts, index, count);
  in_chunks(count, network.plan.chunk, [&](std::int64_t first, int some) {
    network.forward(texts, order.data() + first, some);
    network.send_back(texts, order.data() + first, 1.0f / static_cast<float>(count));
    network.add_gradient(gradient);
  });
}

}  // namespace

void train(TextNetwork& network, const float* start, const Texts& texts, const std::vector<std::int64_t>& sizes,
           const std::int64_t* order, const Steps& steps, float* update) {
  const std::vector<float> reached = take_steps(
      network.kernels, network.plan.packed(start), sizes, order, steps,
      [&](const float* weights, const std::int64_t* index, std::int64_t count, float* gradient) {
        network.set(weights, true);
        add_batch(network, texts, index, count, gradient);
      });
  network.plan.unpack(reached, update);
  for (std::int64_t i = 0; i < network.plan.parameters; ++i) update[i] -= start[i];
}

void gradient(TextNetwork& network, const float* flat, const Texts& texts, const std::int64_t* index,
              std::int64_t count, float* found) {
  const std::vector<float> weights = network.plan.packed(flat);
  std::vector<float> sum(weights.size(), 0.0f);
  network.set(weights.data(), true);
  add_batch(network, texts, index, count, sum.data());
  network.plan.unpack(sum, found);
}

void clipped_sum(TextNetwork& network, const float* flat, const Texts& texts, const std::int64_t* index,
                 std::int64_t count, const std::vector<double>& bounds, double* found) {
  const std::vector<float> weights = network.plan.packed(flat);
  network.set(weights.data(), true);
  TextClipping clipping(network, bounds, weights.size());
  const std::vector<std::int64_t> order = longest_first(texts, index, count);
  in_chunks(count, network.plan.chunk, [&](std::int64_t first, int some) {
    network.forward(texts, order.data() + first, some);
    network.send_back(texts, order.data() + first, 1.0f);
    clipping.add(some);
  });
  network.plan.unpack(clipping.sum(), found);
}

void scores(TextNetwork& network, const float* flat, const Texts& texts, std::int64_t first, std::int64_t count,
            float* found) {
  const TextPlan& plan = network.plan;
  const std::vector<float> weights = plan.packed(flat);
  network.set(weights.data(), false);
  std::vector<std::int64_t> index(count);
  std::iota(index.begin(), index.end(), first);
  const std::vector<std::int64_t> order = longest_first(texts, index.data(), count);
  in_chunks(count, plan.chunk, [&](std::int64_t done, int some) {
    const float* rows = network.forward(texts, order.data() + done, some);
    for (int e = 0; e < some; ++e)
      std::copy_n(rows + std::ptrdiff_t(e) * plan.output.columns, plan.classes(),
                  found + (order[done + e] - first) * plan.classes());
  });
}

}  // namespace fedward
