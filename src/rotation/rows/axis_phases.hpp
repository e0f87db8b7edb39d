// SPDX-License-Identifier: Apache-2.0
// Phases of pairs that turn by one of several axes, or by all (dense axes).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "phase/fractional_phase.hpp"
#include "phase/turns.hpp"
#include "rotary/frequencies.hpp"
#include "rotation/frequencies/phase_steps.hpp"
#include "tensor/position_access.hpp"

namespace rotary {

using Coordinates = std::array<SplitPosition, max_axes>;

template <class Numbers>
[[nodiscard]] Coordinates coordinates_at(const Numbers& positions, std::int64_t axes,
                                         const TokenIndex& at) noexcept {
  Coordinates all;
  for (std::int64_t axis = 0; axis < axes; ++axis)
    all[static_cast<std::size_t>(axis)] = split_position(coordinate_at(positions, axis, at));
  return all;
}

// Turns of pairs [first, first + block_lanes); padding lanes do not rotate. Requires valid
// frequencies with inv_freq.
class AxisPhases {
 public:
  AxisPhases(const Frequencies& frequencies, std::int64_t first) : axes_(frequencies.axes.count) {
    const PairAxes& axes = frequencies.axes;
    const std::int64_t pairs = frequencies.window.pairs();
    dense_ = axes.is_dense();
    for (std::int64_t i = 0; i < std::min(block_lanes, pairs - first); ++i) {
      const auto lane = static_cast<std::size_t>(i);
      const auto pair = static_cast<std::size_t>(first + i);
      if (!axes.of_pair.empty()) axis_[lane] = static_cast<std::size_t>(axes.of_pair[pair]);
      for (std::size_t table = 0; table < (dense_ ? static_cast<std::size_t>(axes_) : 1); ++table)
        turns_[table][lane] =
            turns_of(frequencies.inv_freq[table * static_cast<std::size_t>(pairs) + pair]);
    }
  }

  // A phase modulo 1, in units of 2^-64 turn.
  [[nodiscard]] std::uint64_t of(const Coordinates& at, std::size_t lane) const noexcept {
    if (!dense_) return phase_of(at[axis_[lane]], turns_[0][lane]);
    std::uint64_t sum = 0;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(axes_); ++axis)
      sum += phase_of(at[axis], turns_[axis][lane]);
    return sum;
  }

  [[nodiscard]] std::size_t axis_of(std::size_t lane) const noexcept { return axis_[lane]; }

 private:
  std::int64_t axes_;
  bool dense_ = false;
  std::array<std::size_t, block_lanes> axis_{};
  std::array<std::array<Turns, block_lanes>, max_axes> turns_{};
};

}  // namespace rotary
