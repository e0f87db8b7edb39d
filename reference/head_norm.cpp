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
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t first = i / group * group;  // of the group that shares a mean square
    long double mean = 0;
    for (std::size_t j = first; j < first + group; ++j) {
      mean += x[j] * x[j] / static_cast<long double>(group);
    }
    const long double root = std::sqrt(mean + norm.epsilon);
    const long double gain =
        norm.weight.empty() ? 1 : norm.weight_offset + norm.weight[i % norm.weight.size()];
    token.y.push_back(x[i] / root * gain);
    token.gain.push_back(gain);
    token.root_mean_square.push_back(root);
  }
  return token;
}

}  // namespace rotary::reference
