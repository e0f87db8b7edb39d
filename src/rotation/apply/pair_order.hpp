// SPDX-License-Identifier: Apache-2.0
// The features that hold a pair before and after a rotation.
#pragma once

#include "kernels/kernels.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/rotate.hpp"

namespace rotary {

// The two features of a window of d features that hold pair i.
enum class FeatureOrder {
  halves,      // i and i + d/2
  neighbours,  // 2i and 2i + 1
};

struct PairOrder {
  FeatureOrder read;
  FeatureOrder written;
};

// interleaved_to_half rotates, then permutes; its transpose and inverse therefore begin with the
// inverse permutation.
[[nodiscard]] PairOrder pair_order(Pairing pairing, Direction direction) noexcept;

// The kernels that read and write this order.
[[nodiscard]] const kernels::RotateKernels& kernels_for(const kernels::KernelTable& table,
                                                        const PairOrder& order) noexcept;

}  // namespace rotary
