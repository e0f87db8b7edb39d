// SPDX-License-Identifier: Apache-2.0
// Refuses keys that were rotated for another context than the one they are read in.
#pragma once

#include "attention/attend/attend_call.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Requires checked sequences and rotations.
[[nodiscard]] Status check_cached_keys(const AttendCall& call);

}  // namespace rotary
