// SPDX-License-Identifier: Apache-2.0
// An implementation rotates one head by one position. Properties are checked on the library and on
// planted bugs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "rotary/rotary_spec.hpp"
#include "rotary/rotate.hpp"

namespace rotary::test {

struct Request {
  std::span<const float> head;  // [head_dim]
  std::int64_t position = 0;
  Direction direction = Direction::forward;
  Role role = Role::query;
};

using RotateHead = std::function<std::vector<float>(const Request&)>;
using Implementation = std::function<RotateHead(const RotarySpec&)>;

// The library, by make_frequencies, make_rotations and rotate.
[[nodiscard]] RotateHead library(const RotarySpec& spec);

}  // namespace rotary::test
