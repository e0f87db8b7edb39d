// SPDX-License-Identifier: Apache-2.0
// Where a pair stands in a head before and after a rotation.
#pragma once

#include "kernels/kernels.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/rotate.hpp"

namespace rotary {

// Which two features of a window of d hold pair i.
enum class FeatureOrder {
  halves,      // i and i + d/2
  neighbours,  // 2i and 2i + 1
};

struct PairOrder {
  FeatureOrder read;
  FeatureOrder written;
};

// The map of interleaved_to_half is a rotation, then a permutation: what goes back, transpose or
// inverse, starts with the inverse permutation.
[[nodiscard]] PairOrder pair_order(Pairing pairing, Direction direction) noexcept;

// The kernels that read and write so.
[[nodiscard]] const kernels::RotateKernels& kernels_for(const kernels::KernelTable& table,
                                                        const PairOrder& order) noexcept;

}  // namespace rotary
