// SPDX-License-Identifier: Apache-2.0
// Gives the library access to private members of Rotations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rotary/rotations.hpp"

namespace rotary {

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
  // The caller's memory, or empty.
  [[nodiscard]] static std::span<const std::byte> memory(const Rotations& rotations) {
    return rotations.memory_;
  }

  // Rotations without rows; memory, row_dtype, role and tensors come from the options.
  [[nodiscard]] static Result<Rotations> empty(const HeadWindow& window,
                                               const RotationsOptions& options);

  // Makes room for rows of this shape. An error changes nothing. Requires a valid window.
  [[nodiscard]] static Status reshape(Rotations& rotations, const RowsShape& shape);

  // The rows to write, laid out as Rotations::data().
  [[nodiscard]] static std::byte* rows(Rotations& rotations) noexcept {
    return rotations.memory_.empty() ? rotations.owned_.data() : rotations.memory_.data();
  }
};

}  // namespace rotary
