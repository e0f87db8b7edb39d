// SPDX-License-Identifier: Apache-2.0
#include "attention/maps/map_passes.hpp"

#include <algorithm>
#include <cmath>

namespace rotary {
namespace {

using Passes = std::vector<MapPass>;

constexpr TurnedPosition place(std::int64_t offset) { return {.modulo = 1, .offset = offset}; }

Passes passes(const ReRope& map, const Frequencies&, std::int64_t) {
  return {{.keys = {.farthest = map.window - 1}},
          {.keys = {.nearest = map.window}, .query = place(map.window), .key = place(0)}};
}

// Beyond the window the position is (i + window (factor - 1) - j) / factor. Dividing the
// frequencies instead keeps positions whole.
Passes passes(const LeakyReRope& map, const Frequencies&, std::int64_t) {
  return {{.keys = {.farthest = map.window - 1}},
          {.keys = {.nearest = map.window},
           .query = {.offset = map.window * (map.factor - 1)},
           .slower = map.factor}};
}

Passes passes(const SelfExtend& map, const Frequencies&, std::int64_t) {
  return {{.keys = {.farthest = map.neighbors - 1}},
          {.keys = {.nearest = map.neighbors},
           .query = {.divisor = map.group, .offset = map.neighbors - map.neighbors / map.group},
           .key = {.divisor = map.group}}};
}

Passes passes(const DualChunk& map, const Frequencies&, std::int64_t) {
  const std::int64_t stride = map.chunk - map.local;
  const TurnedPosition within{.modulo = stride};
  return {
      {.keys = {.unit = stride, .farthest = 0}, .query = within, .key = within},
      {.keys = {.unit = stride, .nearest = 1, .farthest = 1},
       .query = {.modulo = stride, .offset = stride, .most = map.chunk},
       .key = within},
      {.keys = {.unit = stride, .nearest = 2},
       .query = place(std::min(2 * stride - 1, map.chunk)),
       .key = within},
  };
}

// A new pass begins at each distance where one more pair reaches max_angle.
Passes passes(const ClippedAngle& map, const Frequencies& frequencies, std::int64_t farthest) {
  std::vector<std::int64_t> begins = {0};
  for (const double inv_freq : frequencies.inv_freq)
    begins.push_back(positions_to(map.max_angle, inv_freq));
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  Passes result;
  for (std::size_t i = 0; i < begins.size() && begins[i] <= farthest; ++i) {
    const bool last = i + 1 == begins.size();
    result.push_back(
        {.keys = {.nearest = begins[i], .farthest = last ? any_distance : begins[i + 1] - 1},
         .max_angle = map.max_angle});
  }
  return result;
}

}  // namespace

std::int64_t TurnedPosition::of(std::int64_t position) const noexcept {
  const std::int64_t within = modulo ? floor_remainder(position, *modulo) : position;
  return std::min(floor_divided(within, divisor) + offset, most);
}

std::int64_t positions_to(double max_angle, double inv_freq) noexcept {
  const double positions = std::ceil(max_angle / std::abs(inv_freq));
  return positions < 0x1p62 ? static_cast<std::int64_t>(positions) : any_distance;
}

std::vector<MapPass> passes_of(const PositionMap& map, const Frequencies& frequencies,
                               std::int64_t farthest) {
  Passes all =
      std::visit([&](const auto& each) { return passes(each, frequencies, farthest); }, map);
  std::erase_if(all, [&](const MapPass& pass) {
    const PassKeys& keys = pass.keys;
    return keys.farthest < keys.nearest || (keys.unit == 1 && keys.nearest > farthest);
  });
  return all;
}

}  // namespace rotary
