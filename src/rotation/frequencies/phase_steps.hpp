// SPDX-License-Identifier: Apache-2.0
// Tables of cos and sin of positions 0, 1, … for each pair. Kernels use them to step from an anchor
// (kernels/rows-inl.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.hpp"

namespace rotary {

// Elements from a row's cos to its sin: the number of pairs, rounded up to full vectors.
[[nodiscard]] inline std::int64_t lane_stride_for(std::int64_t pairs) noexcept {
  return (pairs + kernels::lane_multiple - 1) / kernels::lane_multiple * kernels::lane_multiple;
}

// Number of pairs whose phases are on the stack at a time.
inline constexpr std::int64_t block_lanes = 64;
static_assert(block_lanes % kernels::lane_multiple == 0);

[[nodiscard]] inline std::size_t phase_step_count(std::int64_t pairs) noexcept {
  return static_cast<std::size_t>(kernels::steps_per_anchor * 2 * lane_stride_for(pairs));
}

// [steps_per_anchor][cos, sin][lane_stride] for the angles step * turns, correctly rounded except
// in rare cases. Padding lanes hold a pair that does not rotate.
[[nodiscard]] std::vector<double> phase_steps(std::span<const std::uint64_t> turns);

}  // namespace rotary
