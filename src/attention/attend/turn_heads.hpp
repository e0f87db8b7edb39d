// SPDX-License-Identifier: Apache-2.0
// Selects a call's attention kernels, and converts rotations to the form that kernels read.
#pragma once

#include <cstdint>

#include "base/pairing.hpp"
#include "kernels/attend/attend_kernels.hpp"
#include "kernels/kernels.hpp"
#include "rotary/rotations.hpp"
#include "rotation/apply/apply_rotations.hpp"
#include "runtime/of_dtype.hpp"
#include "tensor/stored_heads.hpp"

namespace rotary {

[[nodiscard]] inline const kernels::StoredKernels& kernels_for(const kernels::AttendKernels& table,
                                                               const StoredHeads& heads) {
  return heads.dtype ? of_dtype(table.types, *heads.dtype).stored : table.int8;
}

// The rotation of a head from `token` on. row_stride leads from one token's row to the next.
[[nodiscard]] inline kernels::HeadRotation turn(const Rotations* rotations, std::int64_t batch,
                                                std::int64_t token) {
  if (rotations == nullptr) return {};
  const HeadWindow& window = rotations->window();
  const bool halves = reads_halves(window.pairing);
  const std::int64_t row_batch = rotations->batch() == 1 ? 0 : batch;
  return {.order = halves ? kernels::PairOrder::half : kernels::PairOrder::interleaved,
          .rows = static_cast<const float*>(row_of(*rotations, row_batch, token)),
          .row_stride = rotations->row_stride(),
          .lane_stride = rotations->lane_stride(),
          .first_feature = window.first_feature,
          .blocks = window.blocks,
          .pairs = window.pairs() / window.blocks};
}

}  // namespace rotary
