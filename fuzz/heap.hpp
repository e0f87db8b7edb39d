// SPDX-License-Identifier: Apache-2.0
// Linking heap.cpp replaces operator new by one that counts bytes.
#pragma once

#include <cstddef>

namespace rotary::fuzz {

// All bytes that operator new has given so far, those already given back included.
[[nodiscard]] std::size_t allocated_bytes() noexcept;

}  // namespace rotary::fuzz
