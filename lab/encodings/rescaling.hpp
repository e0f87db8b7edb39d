// SPDX-License-Identifier: Apache-2.0
// How a trained rotary encoding is stretched over longer sequences, by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "rotary/scaling.hpp"

namespace rotary::lab {

struct Stretch {
  std::int64_t factor = 1;  // how many times longer
  std::int64_t tokens = 0;  // of a sequence in training
};

// "linear" (position interpolation), "ntk", "yarn"; absent for any other name. Dynamic NTK is ntk
// of the length that it sees.
[[nodiscard]] std::optional<Scaling> rescaled(std::string_view rule, const Stretch& stretch);

}  // namespace rotary::lab
