// SPDX-License-Identifier: Apache-2.0
// The cos and sin of positions 0, 1, … of each pair, from which rows are stepped
// (kernels/rows-inl.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rotary {

// Floats (or doubles) from the cos to the sin of one row: pairs rounded up to whole vectors.
[[nodiscard]] std::int64_t lane_stride_for(std::int64_t pairs) noexcept;

// Entries of the table below.
[[nodiscard]] std::size_t phase_step_count(std::int64_t pairs) noexcept;

// [steps_per_anchor][cos, sin][lane_stride] of the angles step * turns, each correctly rounded but
// for rare cases one ulp off; padding lanes are those of a pair that does not turn.
[[nodiscard]] std::vector<double> phase_steps(std::span<const std::uint64_t> turns);

}  // namespace rotary
