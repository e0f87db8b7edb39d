// SPDX-License-Identifier: Apache-2.0
#include "reference/head_norm.hpp"

#include <cmath>

namespace rotary::reference {

NormalizedToken normalize(std::span<const long double> x, std::int64_t heads,
                          const HeadNorm& norm) {
  const std::size_t size = x.size();
  const std::size_t group =
      norm.over == NormOver::all_heads ? size : size / static_cast<std::size_t>(heads);
  NormalizedToken token;
  for (std::size_t first = 0; first < size; first += group) {
    long double mean = 0;
    for (const long double each : x.subspan(first, group)) {
      mean += each * each / static_cast<long double>(group);
    }
    token.root_mean_square.insert(token.root_mean_square.end(), group,
                                  std::sqrt(mean + norm.epsilon));
  }
  for (std::size_t i = 0; i < size; ++i) {
    const long double gain =
        norm.weight.empty() ? 1 : norm.weight_offset + norm.weight[i % norm.weight.size()];
    token.gain.push_back(gain);
    token.y.push_back(x[i] / token.root_mean_square[i] * gain);
  }
  return token;
}

}  // namespace rotary::reference
