// SPDX-License-Identifier: Apache-2.0
// One head of a view as doubles, and what attention does with it, by the definitions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fuzz/elements.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::fuzz {

struct HeadPlace {
  std::int64_t batch = 0;
  std::int64_t token = 0;
  std::int64_t head = 0;
};

[[nodiscard]] inline std::vector<double> head_values(const ConstHeadsView& view,
                                                     const HeadPlace& at) {
  if (view.extents.features == 0) return {};  // strides may be any
  const Strides& s = view.strides;
  const std::int64_t first = at.batch * s.batch + at.token * s.token + at.head * s.head;
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(view.extents.features));
  for (std::int64_t f = 0; f < view.extents.features; ++f) {
    values.push_back(value_at(view.dtype, static_cast<const std::byte*>(view.data) +
                                              (first + f * s.feature) * size_in_bytes(view.dtype)));
  }
  return values;
}

// By the rows as they are, in double.
inline void turn(std::span<double> head, const Rotations& rotations, std::int64_t batch,
                 std::int64_t token) {
  const std::vector<double> from(head.begin(), head.end());
  const auto cos = rotations.cos(batch, token);
  const auto sin = rotations.sin(batch, token);
  for (std::int64_t pair = 0; pair < rotations.window().pairs(); ++pair) {
    const PairFeatures at = features_of(rotations.window(), Direction::forward, pair);
    const auto i = static_cast<std::size_t>(pair);
    const double x = from[static_cast<std::size_t>(at.read_x)];
    const double y = from[static_cast<std::size_t>(at.read_y)];
    head[static_cast<std::size_t>(at.written_x)] = x * cos[i] - y * sin[i];
    head[static_cast<std::size_t>(at.written_y)] = x * sin[i] + y * cos[i];
  }
}

}  // namespace rotary::fuzz
