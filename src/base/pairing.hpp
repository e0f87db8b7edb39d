// SPDX-License-Identifier: Apache-2.0
// The order in which a pairing reads and writes the features of a head.
#pragma once

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

// The pairing of heads after a rotation with `pairing`.
[[nodiscard]] constexpr Pairing rotated(Pairing pairing) noexcept {
  return writes_halves(pairing) ? Pairing::half : Pairing::interleaved;
}

}  // namespace rotary
