// SPDX-License-Identifier: Apache-2.0
// The order in which a pairing reads and writes the features of a head.
#pragma once

#include <cstddef>
#include <utility>

#include "rotary/rotary_spec.hpp"

namespace rotary {

// The two features that hold pair i in a window of d features.
enum class FeatureOrder {
  halves,      // i and i + d/2
  neighbours,  // 2i and 2i + 1
};

struct PairOrder {
  FeatureOrder read;
  FeatureOrder written;
};

// The order of a forward rotation.
[[nodiscard]] constexpr PairOrder pair_order(Pairing pairing) noexcept {
  return {.read = reads_halves(pairing) ? FeatureOrder::halves : FeatureOrder::neighbours,
          .written = writes_halves(pairing) ? FeatureOrder::halves : FeatureOrder::neighbours};
}

// The features of a pair of the window. `order`: FeatureOrder::halves for blocks other than 1.
[[nodiscard]] constexpr std::pair<std::size_t, std::size_t> features_of_pair(
    const HeadWindow& window, FeatureOrder order, std::size_t pair) noexcept {
  const auto first = static_cast<std::size_t>(window.first_feature);
  if (order == FeatureOrder::neighbours) return {first + 2 * pair, first + 2 * pair + 1};
  const auto half = static_cast<std::size_t>(window.pairs() / window.blocks);
  const std::size_t begin = first + pair / half * 2 * half + pair % half;
  return {begin, begin + half};
}

// The pairing of heads after a rotation with `pairing`.
[[nodiscard]] constexpr Pairing rotated(Pairing pairing) noexcept {
  return writes_halves(pairing) ? Pairing::half : Pairing::interleaved;
}

}  // namespace rotary
