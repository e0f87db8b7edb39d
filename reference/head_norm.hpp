// SPDX-License-Identifier: Apache-2.0
// RMS norm of a token's heads: Zhang and Sennrich 2019 (arXiv 1910.07467), eq. 4. As in models,
// epsilon is under the root, and weights have an offset.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rotary/kv_cache.hpp"

namespace rotary::reference {

// A normalised token. Each list is [heads][features].
struct NormalizedToken {
  std::vector<long double> y;
  std::vector<long double> gain;              // weight_offset + weight, or 1
  std::vector<long double> root_mean_square;  // includes epsilon
};

[[nodiscard]] NormalizedToken normalize(std::span<const long double> x, std::int64_t heads,
                                        const HeadNorm& norm);

}  // namespace rotary::reference
