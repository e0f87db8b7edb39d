// SPDX-License-Identifier: Apache-2.0
// The answer that append must give, and what it must write.
#pragma once

#include <cstddef>

#include "fuzz/append/append_case.hpp"
#include "fuzz/strided.hpp"
#include "rotary/rotations.hpp"

namespace rotary::fuzz {

// The required answer of append to a case, from the comments of kv_cache.hpp.
// Checks every element and every slot.
// rotations: null where keys are stored as they are.
[[nodiscard]] Answer expected_answer(const AppendCase& append, const Rotations* rotations,
                                     const std::byte* buffer);

// Heads that a call has stored in 8 bits, against the float32 numbers that it must have made them
// of: those that the same call stores in a float32 cache, which other cases check.
// Requires a case with a cache in 8 bits. Keys are checked where the rotations turn float32 too.
void check_quantized(const AppendCase& append, const Rotations* rotations, const Memory& memory);

// The check of memory after append accepted a case.
// Checks that each slot of a token holds the values that the contract requires for its k and v, and
// that every other byte is unchanged. Restores the slots.
void check_written(const AppendCase& append, const Rotations* rotations, const Memory& memory);

}  // namespace rotary::fuzz
