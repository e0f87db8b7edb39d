// SPDX-License-Identifier: Apache-2.0
// The requirements on frequencies of every function that makes rows.
#pragma once

#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Checks that the frequencies are complete: everything these positions use has an entry for each
// pair.
[[nodiscard]] Status validate(const Frequencies& frequencies, const Positions& positions);

}  // namespace rotary
