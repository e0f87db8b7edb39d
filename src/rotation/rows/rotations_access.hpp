// SPDX-License-Identifier: Apache-2.0
// The one door to what Rotations hold: sizes are checked and memory found before anything changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rotary/rotations.hpp"

namespace rotary {

// Whose a row is.
enum class RowSharing { each_token, one_for_all };

// What rows are of.
struct RowsShape {
  const HeadWindow& window;
  double attention_factor = 1;
  std::int64_t batch = 1;
  std::int64_t tokens = 0;
  Numerics numerics = Numerics::exact;
  Rounding rounding = Rounding::every_step;
  RowSharing sharing = RowSharing::each_token;
  ContextRange contexts = {};
};

struct RotationsAccess {
  // The caller's, or empty.
  [[nodiscard]] static std::span<const std::byte> memory(const Rotations& rotations) {
    return rotations.memory_;
  }

  // Without rows yet; memory, row_dtype, role and tensors are those of the options.
  [[nodiscard]] static Result<Rotations> empty(const HeadWindow& window,
                                               const RotationsOptions& options);

  // Makes room for rows of this shape, or fails and changes nothing. Requires a valid window.
  [[nodiscard]] static Status reshape(Rotations& rotations, const RowsShape& shape);

  // Where they go: [batch][tokens][cos, sin][lane_stride] elements of row_dtype(), or one row.
  [[nodiscard]] static std::byte* rows(Rotations& rotations) noexcept {
    return rotations.memory_.empty() ? rotations.owned_.data() : rotations.memory_.data();
  }
};

}  // namespace rotary
