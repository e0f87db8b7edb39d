// SPDX-License-Identifier: Apache-2.0
// Rotates views whose features are not adjacent, for example a transposed projection. Such views
// are rare, so the code is simple: it gathers pairs, rotates them by a kernel, and scatters them.
#pragma once

#include <cstdint>

#include "kernels/kernels.hpp"
#include "rotation/apply/pair_order.hpp"

namespace rotary {

// Pairs gathered at a time. Only permute_in_place() can reorder a head with more pairs in place.
inline constexpr std::int64_t strided_pairs_at_once = 256;

struct StridedRotation {
  kernels::RotateJob job;
  kernels::Rotate kernel_of_halves;  // for the dtype and order halves
  PairOrder order;
  std::int64_t element_bytes;
  std::int64_t row_element_bytes;
  std::int64_t src_feature_stride;  // in elements
  std::int64_t dst_feature_stride;
};

void rotate_strided_features(const StridedRotation& rotation) noexcept;

// Rotates in place with pairs written in another order than read. A kernel alone would overwrite
// features that it has not read. kernel: for rotation.order and the dtype. Requires equal src and
// dst.
void permute_in_place(const StridedRotation& rotation, kernels::Rotate kernel) noexcept;

}  // namespace rotary
