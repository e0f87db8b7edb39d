// SPDX-License-Identifier: Apache-2.0
// Reads single numbers of checked positions.
#pragma once

#include <cstdint>
#include <type_traits>
#include <variant>

#include "rotary/positions.hpp"

namespace rotary {

[[nodiscard]] inline std::int64_t batch_of(const ConsecutivePositions&) noexcept { return 1; }

template <class Number>
[[nodiscard]] std::int64_t batch_of(const TokenArray<Number>& positions) noexcept {
  return positions.batch;
}

// Consecutive positions, which decode steps have, are tested first because a visit is slower.
[[nodiscard]] inline std::int64_t batch_of(const Positions& positions) noexcept {
  if (std::holds_alternative<ConsecutivePositions>(positions)) return 1;
  return std::visit([](const auto& each) { return batch_of(each); }, positions);
}

[[nodiscard]] inline std::int64_t tokens_of(const Positions& positions) noexcept {
  if (const auto* run = std::get_if<ConsecutivePositions>(&positions)) return run->tokens;
  return std::visit([](const auto& each) { return each.tokens; }, positions);
}

// Number of coordinates of each token.
[[nodiscard]] inline std::int64_t axes_of(const Positions& positions) noexcept {
  if (std::holds_alternative<ConsecutivePositions>(positions)) return 1;
  return std::visit(
      []<class Each>(const Each& each) -> std::int64_t {
        if constexpr (std::is_same_v<Each, ConsecutivePositions>)
          return 1;
        else
          return each.axes;
      },
      positions);
}

// The position of token t of batch row b. Requires b < batch_of(positions).
[[nodiscard]] inline std::int64_t number_at(const ConsecutivePositions& positions, std::int64_t,
                                            std::int64_t t) noexcept {
  return positions.first + t;
}

template <class Number>
[[nodiscard]] Number number_at(const TokenArray<Number>& positions, std::int64_t b,
                               std::int64_t t) noexcept {
  return positions.data[b * positions.batch_stride + t * positions.token_stride];
}

struct TokenIndex {
  std::int64_t batch = 0;
  std::int64_t token = 0;
};

// The coordinate on one axis. Positions of one axis have the same coordinate on all axes.
[[nodiscard]] inline std::int64_t coordinate_at(const ConsecutivePositions& positions, std::int64_t,
                                                const TokenIndex& at) noexcept {
  return positions.first + at.token;
}
template <class Number>
[[nodiscard]] Number coordinate_at(const TokenArray<Number>& positions, std::int64_t axis,
                                   const TokenIndex& at) noexcept {
  const std::int64_t skipped = positions.axes == 1 ? 0 : axis * positions.axis_stride;
  return positions
      .data[skipped + at.batch * positions.batch_stride + at.token * positions.token_stride];
}

}  // namespace rotary
