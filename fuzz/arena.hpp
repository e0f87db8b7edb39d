// SPDX-License-Identifier: Apache-2.0
// One buffer that holds all tensors of a case, each in a separate place with guards around it:
// AddressSanitizer detects any access to a guard, a comparison detects any change.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fuzz/bytes.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::fuzz {

// Bytes that a tensor spans, relative to its first element.
struct Reach {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

class Arena {
 public:
  static constexpr std::size_t capacity = std::size_t{1} << 17;

  // Forgets all places.
  void clear() noexcept;

  // A new place for a tensor with this reach, `shift` bytes from a multiple of 8: the address of
  // its first element, or null if there is no room.
  [[nodiscard]] std::byte* place(const Reach& reach, std::int64_t shift) noexcept;

  // True if the whole reach from an address lies in one of the places.
  [[nodiscard]] bool holds(const void* first, const Reach& reach) const noexcept;

  [[nodiscard]] std::span<std::byte> place_at(std::size_t index) noexcept;
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  // Copies the bytes for differs() and restore().
  void remember() noexcept;
  void restore() noexcept;

  // The bytes of all places.
  [[nodiscard]] std::vector<std::byte> contents() const;

  // Marks bytes that may differ.
  void allow(const void* first, std::size_t bytes) noexcept;
  void allow_nothing() noexcept { allowed_.reset(); }
  // True if a byte outside the allowed ones differs from the copy of remember().
  [[nodiscard]] bool differs() const noexcept;

  // Between these two calls the guards may not be touched.
  void guard() noexcept;
  void unguard() noexcept;

 private:
  struct Place {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  alignas(64) std::array<std::byte, capacity> bytes_{};
  alignas(64) std::array<std::byte, capacity> before_{};
  std::bitset<capacity> allowed_;
  std::array<Place, 16> places_{};
  std::size_t count_ = 0;
  std::size_t used_ = 0;
};

// Runs a call while the guards of the arena are active.
template <class Call>
[[nodiscard]] auto guarded_call(Arena& arena, const Call& call) {
  arena.guard();
  auto result = call();
  arena.unguard();
  return result;
}

// The memory that the caller gives a call to work in, with guards around it.
class WorkMemory {
 public:
  static constexpr std::size_t capacity = std::size_t{1} << 22;

  // Bytes that are a NaN in every float. Requires bytes <= capacity.
  [[nodiscard]] std::span<std::byte> take(std::size_t bytes) noexcept;
  // True if all of the taken bytes are unchanged.
  [[nodiscard]] bool is_untouched() const noexcept;
  // Deactivates the guards and returns whether they are intact.
  [[nodiscard]] bool give_back() noexcept;

 private:
  // A call's parts of memory are at most some 50 KB apart.
  static constexpr std::size_t guard_bytes = std::size_t{1} << 16;

  alignas(64) std::array<std::byte, capacity + 2 * guard_bytes> bytes_{};
  std::size_t taken_ = 0;
};

}  // namespace rotary::fuzz
