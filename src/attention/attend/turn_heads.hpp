// SPDX-License-Identifier: Apache-2.0
// Selects a call's attention kernels, and converts rotations to the form that kernels read.
#pragma once

#include <cstdint>

#include "base/pairing.hpp"
#include "kernels/attend/attend_kernels.hpp"
#include "kernels/kernels.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"
#include "rotation/apply/apply_rotations.hpp"
#include "tensor/stored_heads.hpp"

namespace rotary {

[[nodiscard]] inline const kernels::AttendTypeKernels& of_dtype(const kernels::AttendKernels& table,
                                                                DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return table.bf16;
    case DType::f16:
      return table.f16;
    case DType::f32:
    case DType::f64:  // refused by the checks
      break;
  }
  return table.f32;
}

[[nodiscard]] inline const kernels::StoredKernels& kernels_for(const kernels::AttendKernels& table,
                                                               const StoredHeads& heads) {
  return heads.dtype ? of_dtype(table, *heads.dtype).stored : table.int8;
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
