// SPDX-License-Identifier: Apache-2.0
// Linking heap.cpp replaces operator new by one that counts bytes.
#pragma once

#include <cstddef>

namespace rotary::fuzz {

// Number of bytes that operator new has returned so far, including freed ones.
[[nodiscard]] std::size_t allocated_bytes() noexcept;

}  // namespace rotary::fuzz
