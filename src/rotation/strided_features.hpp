// SPDX-License-Identifier: Apache-2.0
// Views whose features do not lie next to each other, for example a transposed projection. Rare, so
// simple: a few pairs at a time are gathered, rotated by the same kernel (the same bits) and
// scattered.
#pragma once

#include <cstdint>

#include "kernels/kernels.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary {

struct StridedRotation {
  kernels::RotateJob job;
  kernels::Rotate kernel;
  Pairing pairing;
  std::int64_t element_bytes;
  std::int64_t row_element_bytes;
  std::int64_t src_feature_stride;  // in elements
  std::int64_t dst_feature_stride;
};

void rotate_strided_features(const StridedRotation& rotation) noexcept;

}  // namespace rotary
