// SPDX-License-Identifier: Apache-2.0
#include "attention/cache/slot_checks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <variant>

#include "base/message.hpp"
#include "tensor/heads_views.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

Status check_form(const ConsecutiveSlots& slots, const Extents& cache, const Extents& k) {
  if (k.batch == 0 || k.tokens == 0) return {};
  if (k.batch > cache.batch) {
    return invalid_argument("cache.k: consecutive slots need a block for each batch row of k, ",
                            k.batch, "; got ", cache.batch);
  }
  if (k.tokens > cache.tokens) {
    return invalid_argument("slots: consecutive tokens need as many slots in a block, ", k.tokens,
                            "; got ", cache.tokens);
  }
  // By subtraction: the sum may overflow.
  if (slots.first >= 0 && slots.first <= cache.tokens - k.tokens) return {};
  return invalid_argument("slots: the first slot must be from 0 to ", cache.tokens - k.tokens,
                          ", so that ", k.tokens, " tokens fit in a block of ", cache.tokens,
                          " slots; got ", slots.first);
}

template <class Number>
Status check_form(const TokenArray<Number>& map, const Extents& cache, const Extents& k) {
  if (map.axes != 1) return invalid_argument("slots must have 1 axis, got ", map.axes);
  if (auto status = check_view("slots", heads_view(map)); !status) return status;
  if (map.batch != k.batch || map.tokens != k.tokens) {
    return invalid_argument("slots: batch and tokens must be those of k, ", k.batch, " and ",
                            k.tokens, "; got ", map.batch, " and ", map.tokens);
  }
  std::int64_t slots = 0;
  if (!__builtin_mul_overflow(cache.batch, cache.tokens, &slots)) return {};
  return invalid_argument("cache.k: blocks (batch) * slots (tokens) must be below 2^63, got ",
                          cache.batch, " * ", cache.tokens);
}

struct SlotRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Calls visit(slot) for every stored token. Stops and returns false if visit returns false.
template <class Visit>
bool for_each_slot(const SlotReader& slots, Visit visit) {
  for (std::int64_t b = 0; b < slots.batch(); ++b) {
    for (std::int64_t t = 0; t < slots.tokens(); ++t) {
      const std::int64_t slot = slots.at(b, t);
      if (slot >= 0 && !visit(slot)) return false;
    }
  }
  return true;
}

// True if every stored slot exceeds the one before. Then no slot repeats.
bool is_increasing(const SlotReader& slots) {
  std::int64_t last = -1;
  return for_each_slot(slots, [&last](std::int64_t slot) {
    const bool increases = slot > last;
    last = slot;
    return increases;
  });
}

// Up to this many tokens (a decode step) go into a hash table: their slots may be far apart.
constexpr std::int64_t few_tokens = 1024;

std::optional<std::int64_t> find_among_few(const SlotReader& slots) {
  constexpr std::int64_t none = -1;
  std::array<std::int64_t, 2 * few_tokens> table;  // open addressing, at most half full
  const auto size = std::bit_ceil(static_cast<std::uint64_t>(2 * slots.batch() * slots.tokens()));
  std::fill_n(table.begin(), size, none);
  std::optional<std::int64_t> repeated;
  for_each_slot(slots, [&](std::int64_t slot) {
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

// For many tokens (a prefill): goes through the range in windows of one bit per slot. Reads all
// tokens for each window.
std::optional<std::int64_t> find_among_many(const SlotReader& slots, const SlotRange& range) {
  std::array<std::uint64_t, 4096> bits;  // 32 KiB
  constexpr auto window = static_cast<std::int64_t>(bits.size() * 64);
  std::optional<std::int64_t> repeated;
  for (std::int64_t begin = range.begin; begin < range.end && !repeated; begin += window) {
    const std::int64_t count = std::min(window, range.end - begin);
    std::fill_n(bits.begin(), (count + 63) / 64, 0);
    for_each_slot(slots, [&](std::int64_t slot) {
      const auto offset = static_cast<std::uint64_t>(slot) - static_cast<std::uint64_t>(begin);
      if (offset >= static_cast<std::uint64_t>(count)) return true;
      std::uint64_t& word = bits[offset / 64];
      const std::uint64_t bit = std::uint64_t{1} << (offset % 64);
      if ((word & bit) != 0) repeated = slot;
      word |= bit;
      return !repeated;
    });
  }
  return repeated;
}

// Finds a slot that two tokens share. Negative slots never count as shared. Requires that all other
// slots are within the range.
std::optional<std::int64_t> find_repeated_slot(const SlotReader& slots, const SlotRange& range) {
  if (is_increasing(slots)) return {};
  if (slots.tokens() <= few_tokens / slots.batch()) return find_among_few(slots);
  return find_among_many(slots, range);
}

}  // namespace

Status check_v_beside_k(const KvHeads& heads, const Extents& k, const Extents* v) {
  if ((v != nullptr) != heads.v.has_value()) {
    return invalid_argument("the cache and the heads must both have v or neither, got v in the ",
                            heads.v ? "heads" : "cache", " alone");
  }
  if (!heads.v) return {};
  const Extents& of_heads = heads.v->extents;
  const Extents& n = heads.k.extents;
  if (of_heads.batch != n.batch || of_heads.tokens != n.tokens) {
    return invalid_argument("v: batch and tokens must be those of k, ", n.batch, " and ", n.tokens,
                            "; got ", of_heads.batch, " and ", of_heads.tokens);
  }
  if (v->batch == k.batch && v->tokens == k.tokens) return {};
  return invalid_argument("cache.v: blocks (batch) and slots (tokens) must be those of cache.k, ",
                          k.batch, " and ", k.tokens, "; got ", v->batch, " and ", v->tokens);
}

Status check_slots(const Slots& slots, const Extents& cache, const Extents& k) {
  return std::visit([&](const auto& each) { return check_form(each, cache, k); }, slots);
}

Result<bool> stores_tokens(const SlotReader& slots, const Extents& cache) {
  if (!slots.is_map()) return true;
  const std::int64_t count = cache.batch * cache.tokens;
  SlotRange stored{.begin = count, .end = 0};
  for (std::int64_t b = 0; b < slots.batch(); ++b) {
    for (std::int64_t t = 0; t < slots.tokens(); ++t) {
      const std::int64_t slot = slots.at(b, t);
      if (slot >= count) {
        return invalid_argument("slots: each must be negative or below blocks * slots, ", count,
                                "; got ", slot, " for token ", t, " of batch row ", b);
      }
      if (slot < 0) continue;
      stored = {.begin = std::min(stored.begin, slot), .end = std::max(stored.end, slot + 1)};
    }
  }
  const auto repeated = find_repeated_slot(slots, stored);
  if (!repeated) return stored.end > 0;
  return invalid_argument("slots: those that are not negative must be distinct, got ", *repeated,
                          " twice");
}

}  // namespace rotary
