// SPDX-License-Identifier: Apache-2.0
#include "extents/places.hpp"
#include "extents/rows.hpp"
#include "rotary/kv_cache.hpp"

namespace rotary::test {
namespace {

constexpr Size head{.natural = 4, .held = Held::each};

// Batch, tokens, heads, features; heads and features of v; blocks and slots.
const std::vector<Size> cache_sizes = {{}, {}, {}, head, {}, head, {}, {}};

KvHeads heads_of(Sizes n) {
  return {.k = heads({n[0], n[1], n[2], n[3]}), .v = heads({n[0], n[1], n[4], n[5]})};
}

KvCache cache_of(Sizes n) {
  return {.k = heads({n[6], n[7], n[2], n[3]}), .v = heads({n[6], n[7], n[4], n[5]})};
}

// Every token in the same slot or, if that is negative, in no slot.
template <class Number>
TokenArray<Number> slots(Sizes n, const Number& slot) {
  return {.data = &slot, .batch = n[0], .tokens = n[1], .batch_stride = 0, .token_stride = 0};
}

constexpr std::int64_t padding = -1;
constexpr std::int32_t first_slot = 0;

Row append_row(const std::function<Slots(Sizes)>& slots_of) {
  return {"rotary::append(*rotary::Rotations", cache_sizes, [=](Sizes n) -> Status {
            const auto by = rows_for(n[1]);
            if (!by) return by.error();
            return append(cache_of(n), heads_of(n), slots_of(n), *by);
          }};
}

Row append_unrotated_row(const std::function<Slots(Sizes)>& slots_of) {
  return {"rotary::append(*> const&, rotary::AppendOptions", cache_sizes,
          [=](Sizes n) { return append(cache_of(n), heads_of(n), slots_of(n)); }};
}

// Batch, tokens, heads, features.
Row normalize_row(NormOver over) {
  return {"rotary::normalize_heads(", {{}, {}, {}, head}, [=](Sizes n) {
            const HeadsView dst = heads({n[0], n[1], n[2], n[3]});
            const HeadNorm norm{.epsilon = 1e-5, .over = over};
            const Status in_place = normalize_heads(dst, dst, norm);
            const Status apart = normalize_heads(dst, heads(dst.extents), norm);
            return in_place ? apart : in_place;
          }};
}

}  // namespace

Rows cache_rows() {
  const std::function<Slots(Sizes)> ways[] = {[](Sizes) { return ConsecutiveSlots{}; },
                                              [](Sizes n) { return slots(n, padding); },
                                              [](Sizes n) { return slots(n, first_slot); }};
  Rows all = {normalize_row(NormOver::each_head), normalize_row(NormOver::all_heads)};
  for (const auto& slots_of : ways) {
    all.push_back(append_row(slots_of));
    all.push_back(append_unrotated_row(slots_of));
  }
  return all;
}

}  // namespace rotary::test
