// SPDX-License-Identifier: Apache-2.0
// A position map as several attentions, each over a range of distances. Within a range, a pair's
// angle is the query's angle minus the key's.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "rotary/frequencies.hpp"
#include "rotary/position_maps.hpp"

namespace rotary {

// Floor division: the remainder is >= 0, for negative values too. Both require divisor > 0.
[[nodiscard]] constexpr std::int64_t floor_remainder(std::int64_t value,
                                                     std::int64_t divisor) noexcept {
  const std::int64_t remainder = value % divisor;
  return remainder < 0 ? remainder + divisor : remainder;
}
[[nodiscard]] constexpr std::int64_t floor_divided(std::int64_t value,
                                                   std::int64_t divisor) noexcept {
  return (value - floor_remainder(value, divisor)) / divisor;
}

// The position that a token is rotated to: min(position % modulo / divisor + offset, most).
struct TurnedPosition {
  std::optional<std::int64_t> modulo = {};  // 1: one position for all tokens; absent: no modulo
  std::int64_t divisor = 1;
  std::int64_t offset = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] std::int64_t of(std::int64_t position) const noexcept;
  friend bool operator==(const TurnedPosition&, const TurnedPosition&) = default;
};

inline constexpr std::int64_t any_distance = std::numeric_limits<std::int64_t>::max();

// Keys selected by their distance before the query.
struct PassKeys {
  std::int64_t unit = 1;  // positions; a distance is floor(query / unit) - floor(key / unit)
  std::int64_t nearest = 0;
  std::int64_t farthest = any_distance;
};

struct MapPass {
  PassKeys keys;
  TurnedPosition query = {};
  TurnedPosition key = {};
  std::int64_t slower = 1;  // inv_freq is divided by this
  // Pairs that reach this angle at distance keys.nearest keep it: the query is rotated by
  // max_angle, the key by 0.
  std::optional<double> max_angle = {};
};

// The fewest positions in which a pair of this frequency reaches max_angle; any_distance if no
// position is that large.
[[nodiscard]] std::int64_t positions_to(double max_angle, double inv_freq) noexcept;

// The passes for keys up to `farthest` before their query, nearest first. Requires a valid map.
[[nodiscard]] std::vector<MapPass> passes_of(const PositionMap& map, const Frequencies& frequencies,
                                             std::int64_t farthest);

}  // namespace rotary
