// SPDX-License-Identifier: Apache-2.0
// Linking support/counted_new.cpp into a test binary replaces operator new by one that counts.
#pragma once

#include <cstddef>

namespace rotary::test {

// Allocations since the start of the process.
[[nodiscard]] std::size_t allocation_count() noexcept;

}  // namespace rotary::test
