// SPDX-License-Identifier: Apache-2.0
// The results that attend() must have written once it accepted a case.
#pragma once

#include "fuzz/attention/attend_case.hpp"

namespace rotary::fuzz {

// True where the library needs at most some milliseconds: it refuses the case, or keys are few.
[[nodiscard]] bool ends_soon(const AttendCase& of);

// True where checking the results of an accepted case takes as little time.
[[nodiscard]] bool is_small(const AttendCase& of);

// Marks the bytes that the call may write.
void allow_results(Arena& arena, const AttendCase& of);

// Every element is within the bound of what attention is by its definition; rows of no sequence are
// those of no key. Requires an accepted case, whose operands are as they were.
void check_results(const AttendCase& of);

}  // namespace rotary::fuzz
