// SPDX-License-Identifier: Apache-2.0
// A position map as attentions over keys in different ranges of distance: within each of them a
// pair's angle is once more a difference of two, one of the query and one of the key.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "rotary/frequencies.hpp"
#include "rotary/position_maps.hpp"

namespace rotary {

// Rounded down, as the remainder is >= 0, for negative positions too. Require divisor > 0.
[[nodiscard]] constexpr std::int64_t floor_remainder(std::int64_t value,
                                                     std::int64_t divisor) noexcept {
  const std::int64_t remainder = value % divisor;
  return remainder < 0 ? remainder + divisor : remainder;
}
[[nodiscard]] constexpr std::int64_t floor_divided(std::int64_t value,
                                                   std::int64_t divisor) noexcept {
  return (value - floor_remainder(value, divisor)) / divisor;
}

// Where a token is turned to: min(position % modulo / divisor + offset, most).
struct TurnedPosition {
  std::optional<std::int64_t> modulo = {};  // 1: every token to the same place; absent: none
  std::int64_t divisor = 1;
  std::int64_t offset = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] std::int64_t of(std::int64_t position) const noexcept;
  friend bool operator==(const TurnedPosition&, const TurnedPosition&) = default;
};

inline constexpr std::int64_t any_distance = std::numeric_limits<std::int64_t>::max();

// Keys by how far they lie before the query.
struct PassKeys {
  std::int64_t unit = 1;  // tokens; more: distances count the multiples of unit in between
  std::int64_t nearest = 0;
  std::int64_t farthest = any_distance;
};

struct MapPass {
  PassKeys keys;
  TurnedPosition query = {};
  TurnedPosition key = {};
  std::int64_t slower = 1;  // by which inv_freq is divided
  // Pairs that have turned by so much at keys.nearest: the query's stays there, the key's at 0.
  std::optional<double> max_angle = {};
};

// The fewest positions after which a pair of this frequency has turned by max_angle; any_distance
// where there are no such that a position can be.
[[nodiscard]] std::int64_t positions_to(double max_angle, double inv_freq) noexcept;

// The passes that keys up to `farthest` positions before their query need, from the nearest on.
// Requires a valid map.
[[nodiscard]] std::vector<MapPass> passes_of(const PositionMap& map, const Frequencies& frequencies,
                                             std::int64_t farthest);

}  // namespace rotary
