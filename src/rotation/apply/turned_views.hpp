// SPDX-License-Identifier: Apache-2.0
// Checks views against the rotations applied to them. Each error names the view.
#pragma once

#include <string_view>

#include "rotary/result.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// Checks that the extents fit the rotations.
[[nodiscard]] Status check_extents(std::string_view name, const Extents& n,
                                   const Rotations& rotations);

// Checks that the view is well-formed and fits the rotations.
[[nodiscard]] Status check_view(std::string_view name, const ConstHeadsView& view,
                                const Rotations& rotations);

}  // namespace rotary
