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
  switch (pairing) {
    case Pairing::half:
      break;
    case Pairing::interleaved:
      return {.read = FeatureOrder::neighbours, .written = FeatureOrder::neighbours};
    case Pairing::interleaved_to_half:
      return {.read = FeatureOrder::neighbours, .written = FeatureOrder::halves};
  }
  return {.read = FeatureOrder::halves, .written = FeatureOrder::halves};
}

[[nodiscard]] constexpr bool reads_halves(Pairing pairing) noexcept {
  return pair_order(pairing).read == FeatureOrder::halves;
}

// False if a rotation also moves the pairs.
[[nodiscard]] constexpr bool keeps_order(Pairing pairing) noexcept {
  return pair_order(pairing).read == pair_order(pairing).written;
}

// The pairing of heads after a rotation with `pairing`.
[[nodiscard]] constexpr Pairing rotated(Pairing pairing) noexcept {
  return pair_order(pairing).written == FeatureOrder::halves ? Pairing::half : Pairing::interleaved;
}

}  // namespace rotary
