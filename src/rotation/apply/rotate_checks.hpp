// SPDX-License-Identifier: Apache-2.0
// Checks of views against rotations. Each error names the view.
#pragma once

#include <string_view>

#include "rotary/result.hpp"
#include "rotary/rotate.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

[[nodiscard]] Status check_extents(std::string_view name, const Extents& n,
                                   const Rotations& rotations);

// Checks that the view is well-formed and fits the rotations.
[[nodiscard]] Status check_view(std::string_view name, const ConstHeadsView& view,
                                const Rotations& rotations);

// Check all that rotate() and rotate_qk() require. Strides along extents of 1 must be 0
// (without_unused_strides).
[[nodiscard]] Status check_rotate(const Transfer& of, const Rotations& rotations,
                                  Direction direction);
[[nodiscard]] Status check_rotate_qk(const Transfer& q, const Transfer& k,
                                     const Rotations& rotations, Direction direction);

}  // namespace rotary
