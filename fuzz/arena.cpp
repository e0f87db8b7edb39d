// SPDX-License-Identifier: Apache-2.0
#include "fuzz/arena.hpp"

#include <algorithm>
#include <cstring>

#include "fuzz/check.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define ROTARY_FUZZ_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ROTARY_FUZZ_POISONS 1
#endif
#endif

#ifdef ROTARY_FUZZ_POISONS
#include <sanitizer/asan_interface.h>
#endif

namespace rotary::fuzz {
namespace {

constexpr std::byte guard_byte{0xA5};
constexpr std::byte work_byte{0xFF};

void forbid([[maybe_unused]] std::span<const std::byte> bytes) noexcept {
#ifdef ROTARY_FUZZ_POISONS
  __asan_poison_memory_region(bytes.data(), bytes.size());
#endif
}

void permit([[maybe_unused]] std::span<const std::byte> bytes) noexcept {
#ifdef ROTARY_FUZZ_POISONS
  __asan_unpoison_memory_region(bytes.data(), bytes.size());
#endif
}

// Uses the C library, whose loops no sanitizer slows down.
void set(std::span<std::byte> bytes, std::byte value) noexcept {
  std::memset(bytes.data(), std::to_integer<int>(value), bytes.size());
}

bool holds_alone(std::span<const std::byte> bytes, std::byte value) noexcept {
  if (bytes.empty()) return true;
  return bytes[0] == value && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

}  // namespace

void Arena::clear() noexcept {
  count_ = 0;
  used_ = 0;
}

std::byte* Arena::place(const Span& span, std::int64_t shift) noexcept {
  constexpr std::size_t guard_bytes = 64;
  if (span.end - span.begin > capacity || count_ == places_.size()) return nullptr;
  const std::size_t begin = (used_ + 7) / 8 * 8 + guard_bytes + static_cast<std::size_t>(shift);
  const std::size_t end = begin + static_cast<std::size_t>(span.end - span.begin);
  if (end + guard_bytes > capacity) return nullptr;
  set(std::span(bytes_).subspan(used_, end + guard_bytes - used_), guard_byte);
  used_ = end + guard_bytes;
  places_[count_++] = {.begin = begin, .end = end};
  return bytes_.data() + begin - static_cast<std::int64_t>(span.begin);
}

bool Arena::holds(const void* first, const Span& span) const noexcept {
  const std::int64_t at = static_cast<const std::byte*>(first) - bytes_.data();
  return std::any_of(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(count_),
                     [&](const Place& place) {
                       return at + span.begin >= static_cast<long double>(place.begin) &&
                              at + span.end <= static_cast<long double>(place.end);
                     });
}

Memory Arena::keep() noexcept {
  std::memcpy(before_.data(), bytes_.data(), used_);
  return {.before = std::span(before_).first(used_), .after = std::span(bytes_).first(used_)};
}

std::vector<std::byte> Arena::contents() const {
  std::vector<std::byte> all;
  for (std::size_t i = 0; i < count_; ++i) {
    const auto begin = bytes_.begin();
    all.insert(all.end(), begin + static_cast<std::ptrdiff_t>(places_[i].begin),
               begin + static_cast<std::ptrdiff_t>(places_[i].end));
  }
  return all;
}

void Arena::guard() noexcept {
  forbid(bytes_);
  for (std::size_t i = 0; i < count_; ++i) permit(bytes_of(places_[i]));
}

void Arena::unguard() noexcept { permit(bytes_); }

std::span<std::byte> WorkMemory::take(std::size_t bytes) noexcept {
  if (bytes > capacity) fail("a small call must need little memory");
  taken_ = bytes;
  const auto all = std::span(bytes_);
  set(all.first(guard_bytes), guard_byte);
  set(all.subspan(guard_bytes, bytes), work_byte);
  set(all.subspan(guard_bytes + bytes, guard_bytes), guard_byte);
  forbid(all.first(guard_bytes));
  forbid(all.subspan(guard_bytes + bytes));
  return all.subspan(guard_bytes, bytes);
}

bool WorkMemory::is_untouched() const noexcept {
  return holds_alone(std::span(bytes_).subspan(guard_bytes, taken_), work_byte);
}

bool WorkMemory::give_back() noexcept {
  permit(bytes_);
  const auto all = std::span(bytes_);
  return holds_alone(all.first(guard_bytes), guard_byte) &&
         holds_alone(all.subspan(guard_bytes + taken_, guard_bytes), guard_byte);
}

}  // namespace rotary::fuzz
