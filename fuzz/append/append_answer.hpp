// SPDX-License-Identifier: Apache-2.0
// The answer that append must give, and what it must write.
#pragma once

#include <cstddef>

#include "fuzz/append/append_case.hpp"
#include "fuzz/strided.hpp"
#include "rotary/rotations.hpp"

namespace rotary::fuzz {

// The answer that append must give, as the comments of kv_cache.hpp require. Checks every element
// and every slot. rotations: null if keys are stored unrotated.
[[nodiscard]] Answer expected_answer(const AppendCase& append, const Rotations* rotations,
                                     const std::byte* buffer);

// Checks heads stored in 8 bits against float32 heads, which the same call stores in a float32
// cache. Other cases check that cache. Requires a case with a cache in 8 bits. Checks keys only if
// the rotations also rotate float32.
void check_quantized(const AppendCase& append, const Rotations* rotations, const Memory& memory);

// Checks memory after append has accepted a case. Each slot of a token must hold the required
// values of its k and v. Every other byte must be unchanged. Restores the slots.
void check_written(const AppendCase& append, const Rotations* rotations, const Memory& memory);

}  // namespace rotary::fuzz
