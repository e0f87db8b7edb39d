// SPDX-License-Identifier: Apache-2.0
// The order of pairs in each direction of a rotation, and the kernels for it.
#pragma once

#include "base/pairing.hpp"
#include "kernels/kernels.hpp"
#include "rotary/rotate.hpp"

namespace rotary {

// The transpose and the inverse move the pairs back.
[[nodiscard]] inline PairOrder pair_order(Pairing pairing, Direction direction) noexcept {
  const PairOrder forward = pair_order(pairing);
  if (direction == Direction::forward) return forward;
  return {.read = forward.written, .written = forward.read};
}

[[nodiscard]] inline const kernels::RotateKernels& kernels_for(const kernels::KernelTable& table,
                                                               const PairOrder& order) noexcept {
  return table.rotate[order.read == FeatureOrder::halves][order.written == FeatureOrder::halves];
}

}  // namespace rotary
