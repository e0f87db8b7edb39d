// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>

#include "attention/cache/slot_reader.hpp"

namespace rotary {
namespace {

// Calls visit(slot) for every stored token until it returns false. Returns whether it never did.
template <class Visit>
bool for_each_slot(const SlotTokens& of, Visit visit) {
  for (std::int64_t b = 0; b < of.batch; ++b) {
    for (std::int64_t t = 0; t < of.tokens; ++t) {
      const std::int64_t slot = of.slots.at(b, t);
      if (slot >= 0 && !visit(slot)) return false;
    }
  }
  return true;
}

// True for one sequence, or a cache filled from its start: no table is needed.
bool is_increasing(const SlotTokens& of) {
  std::int64_t last = -1;
  return for_each_slot(of, [&last](std::int64_t slot) {
    const bool increases = slot > last;
    last = slot;
    return increases;
  });
}

// Up to this many tokens, as in a decode step, are put into a hash table: their slots may be
// anywhere in a large cache.
constexpr std::int64_t few_tokens = 1024;

std::optional<std::int64_t> find_among_few(const SlotTokens& of) {
  constexpr std::int64_t none = -1;
  std::array<std::int64_t, 2 * few_tokens> table;  // open addressing, at most half full
  const auto size = std::bit_ceil(static_cast<std::uint64_t>(2 * of.batch * of.tokens));
  std::fill_n(table.begin(), size, none);
  std::optional<std::int64_t> repeated;
  for_each_slot(of, [&](std::int64_t slot) {
    // The upper half of the product with 2^64 / golden ratio depends on every bit of slot.
    const auto hash = (static_cast<std::uint64_t>(slot) * 0x9E3779B97F4A7C15U) >> 32;
    std::uint64_t at = hash % size;
    while (table[at] != none && table[at] != slot) at = (at + 1) % size;
    if (table[at] == slot) repeated = slot;
    table[at] = slot;
    return !repeated;
  });
  return repeated;
}

// For many tokens, as in a prefill: goes through the range in windows of one bit per slot and reads
// all tokens for each window.
std::optional<std::int64_t> find_among_many(const SlotTokens& of, const SlotRange& range) {
  std::array<std::uint64_t, 4096> bits;  // 32 KiB
  constexpr auto window = static_cast<std::int64_t>(bits.size() * 64);
  std::optional<std::int64_t> repeated;
  for (std::int64_t begin = range.begin; begin < range.end && !repeated; begin += window) {
    const std::int64_t slots = std::min(window, range.end - begin);
    std::fill_n(bits.begin(), (slots + 63) / 64, 0);
    for_each_slot(of, [&](std::int64_t slot) {
      const auto offset = static_cast<std::uint64_t>(slot) - static_cast<std::uint64_t>(begin);
      if (offset >= static_cast<std::uint64_t>(slots)) return true;
      std::uint64_t& word = bits[offset / 64];
      const std::uint64_t bit = std::uint64_t{1} << (offset % 64);
      if ((word & bit) != 0) repeated = slot;
      word |= bit;
      return !repeated;
    });
  }
  return repeated;
}

}  // namespace

std::optional<std::int64_t> find_repeated_slot(const SlotTokens& of,
                                               const SlotRange& range) noexcept {
  if (is_increasing(of)) return {};
  if (of.tokens <= few_tokens / of.batch) return find_among_few(of);
  return find_among_many(of, range);
}

}  // namespace rotary
