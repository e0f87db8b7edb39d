// SPDX-License-Identifier: Apache-2.0
// The relative position that each map gives to a query and a key, and the bounds of parameters.
#include "rotary/position_maps.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "attention/maps/map_passes.hpp"
#include "base/arithmetic_modes.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"

namespace rotary {
namespace {

constexpr std::int64_t most_tokens = std::int64_t{1} << 40;
constexpr std::int64_t most_factor = std::int64_t{1} << 20;

struct Bounded {
  std::string_view name;
  std::int64_t value;
  std::int64_t least;
  std::int64_t most;
};

Status check(const Bounded& of) {
  if (of.value >= of.least && of.value <= of.most) return {};
  return invalid_argument(of.name, " must be from ", of.least, " to ", of.most, ", got ", of.value);
}

Status check(const ReRope& map) { return check({"window", map.window, 0, most_tokens}); }

Status check(const LeakyReRope& map) {
  if (auto status = check({"window", map.window, 0, most_tokens}); !status) return status;
  return check({"factor", map.factor, 1, most_factor});
}

Status check(const SelfExtend& map) {
  if (auto status = check({"neighbors", map.neighbors, 0, most_tokens}); !status) return status;
  return check({"group", map.group, 1, most_tokens});
}

Status check(const DualChunk& map) {
  if (auto status = check({"chunk", map.chunk, 1, most_tokens}); !status) return status;
  return check({"local", map.local, 0, map.chunk - 1});
}

Status check(const ClippedAngle& map) {
  if (map.max_angle > 0 && map.max_angle <= std::numbers::pi) return {};
  return invalid_argument("max_angle must be > 0 and at most pi, got ", map.max_angle);
}

struct Pair {
  std::int64_t query;
  std::int64_t key;
  double inv_freq;

  [[nodiscard]] std::int64_t distance() const noexcept { return query - key; }
};

double position(const ReRope& map, const Pair& pair) {
  return static_cast<double>(std::min(pair.distance(), map.window));
}

double position(const LeakyReRope& map, const Pair& pair) {
  const std::int64_t beyond = std::max<std::int64_t>(pair.distance() - map.window, 0);
  return static_cast<double>(pair.distance() - beyond) +
         static_cast<double>(beyond) / static_cast<double>(map.factor);
}

double position(const SelfExtend& map, const Pair& pair) {
  if (pair.distance() < map.neighbors) return static_cast<double>(pair.distance());
  const std::int64_t groups =
      floor_divided(pair.query, map.group) - floor_divided(pair.key, map.group);
  const std::int64_t offset = map.neighbors - map.neighbors / map.group;
  return static_cast<double>(groups + offset);
}

double position(const DualChunk& map, const Pair& pair) {
  const std::int64_t stride = map.chunk - map.local;
  const std::int64_t strides = floor_divided(pair.query, stride) - floor_divided(pair.key, stride);
  if (strides == 0) return static_cast<double>(pair.distance());
  const std::int64_t query =
      strides == 1 ? floor_remainder(pair.query, stride) + stride : 2 * stride - 1;
  return static_cast<double>(std::min(query, map.chunk) - floor_remainder(pair.key, stride));
}

double position(const ClippedAngle& map, const Pair& pair) {
  const auto distance = static_cast<double>(pair.distance());
  const double frequency = std::abs(pair.inv_freq);
  return distance * frequency >= map.max_angle ? map.max_angle / frequency : distance;
}

}  // namespace

Status validate(const PositionMap& map) noexcept {
  return guarded(
      [&]() -> Status { return std::visit([](const auto& each) { return check(each); }, map); });
}

double relative_position(const PositionMap& map, std::int64_t query, std::int64_t key,
                         double inv_freq) noexcept {
  const DefaultModes modes;
  const Pair pair{.query = query, .key = key, .inv_freq = inv_freq};
  return computed_here(std::visit([&](const auto& each) { return position(each, pair); }, map));
}

}  // namespace rotary
