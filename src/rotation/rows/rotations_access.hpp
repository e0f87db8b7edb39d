// SPDX-License-Identifier: Apache-2.0
// The only access to the members of Rotations. Checks sizes and finds memory before any change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rotary/rotations.hpp"

namespace rotary {

// Each token has its own row, or all share one.
enum class RowSharing { each_token, one_for_all };

struct RowsShape {
  const HeadWindow& window;
  double attention_factor = 1;
  std::int64_t batch = 1;
  std::int64_t tokens = 0;
  Numerics numerics = Numerics::exact;
  Rounding rounding = Rounding::every_step;
  RowSharing sharing = RowSharing::each_token;
  ContextRange contexts = {};
  bool unchecked = false;
};

struct RotationsAccess {
  // Memory given by the caller; empty if there is none.
  [[nodiscard]] static std::span<const std::byte> memory(const Rotations& rotations) {
    return rotations.memory_;
  }

  // Rotations without rows; memory, row_dtype, role and tensors come from the options.
  [[nodiscard]] static Result<Rotations> empty(const HeadWindow& window,
                                               const RotationsOptions& options);

  // Makes room for rows of this shape. A failure changes nothing. Requires a valid window.
  [[nodiscard]] static Status reshape(Rotations& rotations, const RowsShape& shape);

  // The rows to write: [batch][tokens][cos, sin][lane_stride] of row_dtype(), or one shared row.
  [[nodiscard]] static std::byte* rows(Rotations& rotations) noexcept {
    return rotations.memory_.empty() ? rotations.owned_.data() : rotations.memory_.data();
  }
};

}  // namespace rotary
