// SPDX-License-Identifier: Apache-2.0
// The buffer that C calls write to, and its shadow, which the C++ calls beside them write to.
#pragma once

#include <cstddef>
#include <span>

namespace rotary::fuzz {

class CMemory {
 public:
  [[nodiscard]] static std::span<std::byte> buffer();
  // The byte of the shadow for one of the buffer; any other pointer as it is.
  [[nodiscard]] static std::byte* shadow_of(std::byte* byte);
  [[nodiscard]] static const std::byte* shadow_of(const std::byte* byte);

  static void copy();  // makes the shadow what the buffer is
  static void keep();  // before a call
  // After a call: both hold the same bytes, unchanged if nothing may be written.
  static void check(bool may_write);
};

}  // namespace rotary::fuzz
