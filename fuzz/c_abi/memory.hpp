// SPDX-License-Identifier: Apache-2.0
// The buffer to which C calls write, and its shadow, to which the same calls in C++ write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rotary::fuzz {

class CMemory {
 public:
  [[nodiscard]] static std::span<std::byte> buffer();
  // The distance from an address in the buffer to its shadow; 0 for any other address.
  [[nodiscard]] static std::uintptr_t to_shadow(const void* address);

  static void copy();  // copies the buffer to the shadow
  static void keep();  // keeps the bytes from before a call
  // Checks after a call that buffer and shadow are equal, and unchanged if nothing may be written.
  static void check(bool may_write);
};

// The object's shadow, or the object itself if it is not in the buffer.
template <class T>
[[nodiscard]] T* in_shadow(T* object) {
  const auto address = reinterpret_cast<std::uintptr_t>(object);
  return reinterpret_cast<T*>(address + CMemory::to_shadow(object));
}

}  // namespace rotary::fuzz
