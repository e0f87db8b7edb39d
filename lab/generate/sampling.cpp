// SPDX-License-Identifier: Apache-2.0
#include "lab/generate/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

namespace rotary::lab {

std::int64_t choose(std::span<const float> logits, const Sampling& sampling, Random& random) {
  std::vector<std::int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto logit = [&](std::int64_t index) { return logits[static_cast<std::size_t>(index)]; };
  std::ranges::stable_sort(order, std::greater(), logit);
  if (sampling.temperature == 0) return order.front();
  if (sampling.top_k > 0 && sampling.top_k < std::ssize(order))
    order.resize(static_cast<std::size_t>(sampling.top_k));
  std::vector<double> weights;
  for (const std::int64_t index : order) {
    const double below = static_cast<double>(logit(index)) - logit(order.front());
    weights.push_back(std::exp(below / sampling.temperature));
  }
  double rest = random.uniform() * std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t n = 0; n < weights.size(); ++n) {
    rest -= weights[n];
    if (rest < 0) return order[n];
  }
  return order.front();  // where roundings leave something of the rest
}

}  // namespace rotary::lab
