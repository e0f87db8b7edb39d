// SPDX-License-Identifier: Apache-2.0
// Bounds of arguments that keep all sums and products in this folder from overflowing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/message.hpp"
#include "rotary/axis_positions.hpp"
#include "rotary/result.hpp"

namespace rotary::positions {

inline constexpr std::int64_t largest_position = std::int64_t{1} << 53;

struct Bounded {
  std::string_view name;
  std::int64_t value;
  std::int64_t least;
  std::int64_t most;
};

[[nodiscard]] inline Status check(const Bounded& of) {
  if (of.value >= of.least && of.value <= of.most) return {};
  return invalid_argument(of.name, " must be from ", of.least, " to ", of.most, ", got ", of.value);
}

// The product of extents >= 0. Error: invalid_argument if it exceeds most_axis_tokens.
template <std::size_t n>
[[nodiscard]] Result<std::int64_t> token_count(const std::array<std::int64_t, n>& extents) {
  std::int64_t tokens = 1;
  for (const std::int64_t extent : extents) {
    if (extent != 0 && tokens > most_axis_tokens / extent)
      return invalid_argument("tokens must be at most ", most_axis_tokens, ", got more");
    tokens *= extent;
  }
  return tokens;
}

template <class Number>
[[nodiscard]] AxisPositions<Number> empty_positions(std::int64_t axes, std::int64_t tokens) {
  return {.axes = axes,
          .tokens = tokens,
          .numbers = std::vector<Number>(static_cast<std::size_t>(axes * tokens))};
}

}  // namespace rotary::positions
