// SPDX-License-Identifier: Apache-2.0
// Finds the axis and the frequency of each pair from Axes.
#pragma once

#include <cstdint>
#include <vector>

#include "rotary/axes.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary {

// Checks axes of a spec with this number of pairs.
[[nodiscard]] Status validate(const Axes& axes, std::int64_t pairs);

// The axis of each pair. Error: invalid_argument if an interleaved arrangement does not give each
// axis its number of pairs. Requires valid axes.
[[nodiscard]] Result<PairAxes> deal_pairs(const Axes& axes);

// The index of each pair's frequency in the table of the window (shared, in_turn) or of its axis
// (own). Requires valid axes. dealt: their deal_pairs().
[[nodiscard]] std::vector<std::size_t> exponent_places(const Axes& axes, const PairAxes& dealt);

// Checks axes that a caller made: count, and an entry for each pair or none.
[[nodiscard]] Status validate(const PairAxes& axes, std::int64_t pairs);

}  // namespace rotary
