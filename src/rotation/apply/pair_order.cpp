// SPDX-License-Identifier: Apache-2.0
#include "rotation/apply/pair_order.hpp"

namespace rotary {

PairOrder pair_order(Pairing pairing, Direction direction) noexcept {
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

const kernels::RotateKernels& kernels_for(const kernels::KernelTable& table,
                                          const PairOrder& order) noexcept {
  if (order.read == FeatureOrder::halves) {
    return order.written == FeatureOrder::halves ? table.rotate_half
                                                 : table.rotate_half_to_interleaved;
  }
  return order.written == FeatureOrder::halves ? table.rotate_interleaved_to_half
                                               : table.rotate_interleaved;
}

}  // namespace rotary
