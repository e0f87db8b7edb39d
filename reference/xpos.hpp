// SPDX-License-Identifier: Apache-2.0
// xPos factors in long double: Sun et al. 2022 (arXiv 2212.10554), §3.2, as in microsoft/torchscale
// (torchscale/component/xpos_relative_position.py at 4d1e0e82).
#pragma once

#include <cstdint>

#include "rotary/rotary_spec.hpp"
#include "rotary/rotations.hpp"

namespace rotary::reference {

struct XposRole {
  Xpos xpos;
  Role role = Role::query;
};

struct PairOf {
  std::int64_t pair = 0;
  std::int64_t pairs = 1;
};

// The factor of this pair's cos and sin.
[[nodiscard]] long double xpos_factor(const XposRole& of, const PairOf& pair, long double position);

}  // namespace rotary::reference
