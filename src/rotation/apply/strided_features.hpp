// SPDX-License-Identifier: Apache-2.0
// Rotates views whose features are not adjacent, for example a transposed projection. Such views
// are rare, so the code is simple: a few pairs at a time are gathered, rotated by an ordinary
// kernel (with the same bits) and scattered.
#pragma once

#include <cstdint>

#include "kernels/kernels.hpp"
#include "rotation/apply/pair_order.hpp"

namespace rotary {

// Pairs gathered at a time. A longer head is done in parts, so only a head of at most this many
// pairs can change its order in place.
inline constexpr std::int64_t strided_pairs_at_once = 256;

struct StridedRotation {
  kernels::RotateJob job;
  kernels::Rotate kernel_of_halves;  // for the dtype; gathered pairs have order halves
  PairOrder order;
  std::int64_t element_bytes;
  std::int64_t row_element_bytes;
  std::int64_t src_feature_stride;  // in elements
  std::int64_t dst_feature_stride;
};

void rotate_strided_features(const StridedRotation& rotation) noexcept;

// Rotates in place when pairs are written in another order than read: a kernel alone would
// overwrite features that it has not read. Uses memory of a fixed size for heads of any length.
// kernel: for rotation.order and the dtype. Requires equal src and dst.
void permute_in_place(const StridedRotation& rotation, kernels::Rotate kernel) noexcept;

}  // namespace rotary
