// SPDX-License-Identifier: Apache-2.0
// The buffer that C calls write to, and its shadow for the C++ calls beside them.
#pragma once

#include <cstddef>
#include <span>

namespace rotary::fuzz {

class CMemory {
 public:
  [[nodiscard]] static std::span<std::byte> buffer();
  // The shadow's byte for a byte of the buffer. Returns any other pointer unchanged.
  [[nodiscard]] static std::byte* shadow_of(std::byte* byte);
  [[nodiscard]] static const std::byte* shadow_of(const std::byte* byte);

  static void copy();  // copies the buffer to the shadow
  static void keep();  // keeps the bytes from before a call
  // Checks after a call that buffer and shadow are equal, and unchanged if nothing may be written.
  static void check(bool may_write);
};

}  // namespace rotary::fuzz
