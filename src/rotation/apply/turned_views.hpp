// SPDX-License-Identifier: Apache-2.0
// What a view must be beside the rotations that turn it. Each check names the view it speaks of.
#pragma once

#include <string_view>

#include "rotary/result.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// Extents that fit the rotations.
[[nodiscard]] Status check_extents(std::string_view name, const Extents& n,
                                   const Rotations& rotations);

// The view is well-formed and fits the rotations.
[[nodiscard]] Status check_view(std::string_view name, const ConstHeadsView& view,
                                const Rotations& rotations);

}  // namespace rotary
