// SPDX-License-Identifier: Apache-2.0
// Views whose features do not lie next to each other, for example a transposed projection. Rare, so
// simple: a few pairs at a time are gathered, rotated by a kernel as any others (the same bits) and
// scattered.
#pragma once

#include <cstdint>

#include "kernels/kernels.hpp"
#include "rotation/apply/pair_order.hpp"

namespace rotary {

// A head of more is done in parts, so it can change its order in place only where it has no more.
inline constexpr std::int64_t strided_pairs_at_once = 256;

struct StridedRotation {
  kernels::RotateJob job;
  kernels::Rotate kernel_of_halves;  // of the dtype; gathered pairs stand so
  PairOrder order;
  std::int64_t element_bytes;
  std::int64_t row_element_bytes;
  std::int64_t src_feature_stride;  // in elements
  std::int64_t dst_feature_stride;
};

void rotate_strided_features(const StridedRotation& rotation) noexcept;

}  // namespace rotary
