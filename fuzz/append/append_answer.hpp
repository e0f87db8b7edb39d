// SPDX-License-Identifier: Apache-2.0
// The required answer of append to a case, from the comments of kv_cache.hpp.
// Checks every element and every slot.
#pragma once

#include <cstddef>

#include "fuzz/append/append_case.hpp"
#include "fuzz/strided.hpp"

namespace rotary::fuzz {

// rotations: null where keys are stored as they are.
[[nodiscard]] Answer expected_answer(const AppendCase& append, const Rotations* rotations,
                                     const std::byte* buffer);

}  // namespace rotary::fuzz
