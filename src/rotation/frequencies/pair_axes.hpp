// SPDX-License-Identifier: Apache-2.0
// The pairs of each axis of an Axes, and the frequency that each takes.
#pragma once

#include <cstdint>
#include <vector>

#include "rotary/axes.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary {

// Checks axes by themselves and against a spec with this many pairs.
[[nodiscard]] Status validate(const Axes& axes, std::int64_t pairs);

// Finds the axis of each pair. Error: invalid_argument if an interleaved arrangement does not give
// each axis its number of pairs. Requires valid axes.
[[nodiscard]] Result<PairAxes> deal_pairs(const Axes& axes);

// For each pair, the index of its frequency: in the table of the whole window (shared, in_turn) or
// in the table of its axis (own). Requires axes that validate() accepts and their pairs.
[[nodiscard]] std::vector<std::size_t> exponent_places(const Axes& axes, const PairAxes& dealt);

// Checks axes made by hand: a count in range, and either an entry for each pair or none.
[[nodiscard]] Status validate(const PairAxes& axes, std::int64_t pairs);

}  // namespace rotary
