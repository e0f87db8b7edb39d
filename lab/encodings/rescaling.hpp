// SPDX-License-Identifier: Apache-2.0
// How a trained rotary encoding is stretched over longer sequences, by name.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "rotary/rotary_spec.hpp"

namespace rotary::lab {

struct Stretch {
  std::int64_t factor = 1;  // how many times longer
  std::int64_t tokens = 0;  // of a sequence in training
};

// linear:  position interpolation (Chen et al. 2023)
// ntk:     NTK-aware, alpha the factor (bloc97 2023)
// dynamic: NTK-aware for the length that is evaluated, which grows twice as fast as the length
//          does (emozilla 2023; configs say factor 2); at twice the length alpha 3, at four times 7
// yarn:    YaRN (Peng et al. 2023)
// abf:     base 500000 whatever the factor (Xiong et al. 2023), who train on with it
inline constexpr std::array<std::string_view, 5> rescaling_rules = {"linear", "ntk", "dynamic",
                                                                    "yarn", "abf"};

[[nodiscard]] bool is_rescaling_rule(std::string_view rule) noexcept;

// A spec without a scaling rule as this one, one of rescaling_rules, makes it; any other leaves it.
[[nodiscard]] RotarySpec rescaled(RotarySpec spec, std::string_view rule, const Stretch& stretch);

}  // namespace rotary::lab
