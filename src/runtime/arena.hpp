// SPDX-License-Identifier: Apache-2.0
// Lays out the working memory of a call. The same code counts its bytes and hands them out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rotary {

// Hands out consecutive stretches of memory, each a multiple of 64 bytes. Without memory (null) it
// only counts the bytes.
class Arena {
 public:
  static constexpr std::size_t alignment = 64;

  explicit Arena(std::byte* memory) noexcept : memory_(memory) {}

  template <class T>
  [[nodiscard]] T* take(std::int64_t count) noexcept {
    constexpr std::int64_t most = std::int64_t{1} << 55;  // beyond any memory; sums of sizes fit
    const std::size_t bytes = static_cast<std::size_t>(std::min(count, most)) * sizeof(T);
    const std::size_t begin = bytes_;
    bytes_ += (bytes + alignment - 1) / alignment * alignment;
    return memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + begin);
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* memory_;
  std::size_t bytes_ = 0;
};

}  // namespace rotary
