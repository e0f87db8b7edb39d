// SPDX-License-Identifier: Apache-2.0
// One buffer for all tensors of a case. Each tensor has its own place, between two guards.
// AddressSanitizer detects any access to a guard; a comparison detects any change.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fuzz/strided.hpp"

namespace rotary::fuzz {

class Arena {
 public:
  static constexpr std::size_t capacity = std::size_t{1} << 17;

  void clear() noexcept;

  // Reserves memory for a tensor of this span. Returns the address of its first element, `shift`
  // bytes from a multiple of 8; null if there is no room.
  [[nodiscard]] std::byte* place(const Span& span, std::int64_t shift) noexcept;

  // True if the span from this address is within one reserved place.
  [[nodiscard]] bool holds(const void* first, const Span& span) const noexcept;

  [[nodiscard]] std::span<std::byte> latest() noexcept { return bytes_of(places_[count_ - 1]); }

  // Keeps a copy of the bytes from before a call.
  [[nodiscard]] Memory keep() noexcept;

  [[nodiscard]] std::vector<std::byte> contents() const;

  // From guard() to unguard(), a write to a guard is an error.
  void guard() noexcept;
  void unguard() noexcept;

 private:
  struct Place {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  [[nodiscard]] std::span<std::byte> bytes_of(const Place& place) noexcept {
    return std::span(bytes_).subspan(place.begin, place.end - place.begin);
  }

  alignas(64) std::array<std::byte, capacity> bytes_{};
  alignas(64) std::array<std::byte, capacity> before_{};
  std::array<Place, 16> places_{};
  std::size_t count_ = 0;
  std::size_t used_ = 0;
};

template <class Call>
[[nodiscard]] auto guarded_call(Arena& arena, const Call& call) {
  arena.guard();
  auto result = call();
  arena.unguard();
  return result;
}

// Working memory that a caller gives to a call, between two guards.
class WorkMemory {
 public:
  static constexpr std::size_t capacity = std::size_t{1} << 22;

  // Returns bytes that read as NaN in every float type. Requires bytes <= capacity.
  [[nodiscard]] std::span<std::byte> take(std::size_t bytes) noexcept;
  // True if all of the taken bytes are unchanged.
  [[nodiscard]] bool is_untouched() const noexcept;
  // Deactivates the guards. Returns true if they are intact.
  [[nodiscard]] bool give_back() noexcept;

 private:
  // More than the distance between two parts of a call's memory, which is at most about 50 KB.
  static constexpr std::size_t guard_bytes = std::size_t{1} << 16;

  alignas(64) std::array<std::byte, capacity + 2 * guard_bytes> bytes_{};
  std::size_t taken_ = 0;
};

}  // namespace rotary::fuzz
