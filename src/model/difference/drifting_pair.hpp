// SPDX-License-Identifier: Apache-2.0
// A pair under two rotations. Finds the first position at which its cos and sin differ, from phases
// (fractions of a turn).
#pragma once

#include <cstdint>
#include <optional>

namespace rotary {

// Positions first, first + 1, …, last - 1, from 0 to 2^31.
struct PositionSpan {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

struct Turning {
  std::uint64_t turns = 0;  // Frequencies::turns
  double factor = 1;        // A
};

class DriftingPair {
 public:
  DriftingPair(Turning one, Turning other) noexcept : one_(one), other_(other) {}

  // The larger of the differences of A cos and of A sin at a position.
  [[nodiscard]] double apart(std::int64_t position) const noexcept;

  // The first position at which the points (A cos, A sin) are farther than `distance` apart. It is
  // computed with no cosine, by one division for each turn of the drift.
  [[nodiscard]] std::optional<std::int64_t> first_beyond(double distance,
                                                         PositionSpan span) const noexcept;

  [[nodiscard]] std::optional<std::int64_t> first_apart(double tolerance,
                                                        PositionSpan span) const noexcept;

 private:
  [[nodiscard]] std::int64_t drift(std::int64_t position) const noexcept;

  Turning one_;
  Turning other_;
};

// sin and cos of position * turns.
struct SinCos {
  double sin = 0;
  double cos = 1;
};
[[nodiscard]] SinCos sin_cos(std::uint64_t turns, std::int64_t position) noexcept;

}  // namespace rotary
