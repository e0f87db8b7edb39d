// SPDX-License-Identifier: Apache-2.0
// The features that hold a pair before and after a rotation.
#pragma once

#include "kernels/kernels.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/rotate.hpp"

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

// interleaved_to_half rotates and then permutes. Its transpose and inverse permute back first.
[[nodiscard]] inline PairOrder pair_order(Pairing pairing, Direction direction) noexcept {
  switch (pairing) {
    case Pairing::half:
      break;
    case Pairing::interleaved:
      return {.read = FeatureOrder::neighbours, .written = FeatureOrder::neighbours};
    case Pairing::interleaved_to_half:
      if (direction == Direction::forward) {
        return {.read = FeatureOrder::neighbours, .written = FeatureOrder::halves};
      }
      return {.read = FeatureOrder::halves, .written = FeatureOrder::neighbours};
  }
  return {.read = FeatureOrder::halves, .written = FeatureOrder::halves};
}

[[nodiscard]] inline const kernels::RotateKernels& kernels_for(const kernels::KernelTable& table,
                                                               const PairOrder& order) noexcept {
  if (order.read == FeatureOrder::halves) {
    return order.written == FeatureOrder::halves ? table.rotate_half
                                                 : table.rotate_half_to_interleaved;
  }
  return order.written == FeatureOrder::halves ? table.rotate_interleaved_to_half
                                               : table.rotate_interleaved;
}

}  // namespace rotary
