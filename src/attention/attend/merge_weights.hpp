// SPDX-License-Identifier: Apache-2.0
// Weights that combine attentions over two disjoint sets of keys, from their log-sum-exp:
// out = into * out_into + from * out_from.
#pragma once

#include <algorithm>
#include <cmath>

namespace rotary {

struct MergeWeights {
  double into = 0;
  double from = 0;
  double log_sum_exp = 0;
};

// At least one argument must be greater than -Inf, which is the log-sum-exp of no keys.
[[nodiscard]] inline MergeWeights merge_weights(double into, double from) noexcept {
  const double most = std::max(into, from);
  const double of_into = std::exp(into - most);
  const double of_from = std::exp(from - most);
  const double sum = of_into + of_from;
  return {.into = of_into / sum, .from = of_from / sum, .log_sum_exp = most + std::log(sum)};
}

}  // namespace rotary
