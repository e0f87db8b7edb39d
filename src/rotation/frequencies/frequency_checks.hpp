// SPDX-License-Identifier: Apache-2.0
// What everything that makes rows asks of frequencies.
#pragma once

#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"

namespace rotary {

// They are whole: what turns these positions has an entry for each pair.
[[nodiscard]] Status validate(const Frequencies& frequencies, const Positions& positions);

}  // namespace rotary
