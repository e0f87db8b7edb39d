// SPDX-License-Identifier: Apache-2.0
// Calls of the KV cache and of norms.
#include <type_traits>

#include "public_calls/call.hpp"
#include "rotary/kv_cache.hpp"

namespace rotary::test {
namespace {

// Sizes: batch, tokens, heads and features of k, heads and features of v, blocks, slots.
SizeList cache_sizes(std::int64_t tokens) {
  return {{}, {tokens}, {2}, each(16), {1}, each(8), {2}, {tokens + 1}};
}

KvHeads heads_of(Sizes n) {
  return {.k = heads({n[0], n[1], n[2], n[3]}), .v = heads({n[0], n[1], n[4], n[5]})};
}

KvCache cache_of(Sizes n) {
  return {.k = heads({n[6], n[7], n[2], n[3]}), .v = heads({n[6], n[7], n[4], n[5]})};
}

QuantizedKvCache quantized_cache_of(Sizes n) {
  return {.k = quantized({n[6], n[7], n[2], n[3]}), .v = quantized({n[6], n[7], n[4], n[5]})};
}

// Puts every token in the same slot, or in none if the slot is negative.
template <const auto& slot>
Slots one_slot(Sizes n) {
  using Number = std::remove_cvref_t<decltype(slot)>;
  return TokenArray<Number>{
      .data = &slot, .batch = n[0], .tokens = n[1], .batch_stride = 0, .token_stride = 0};
}

constexpr std::int64_t padding = -1;
constexpr std::int32_t first_slot = 0;

struct NamedSlots {
  std::string_view what;
  Slots (*of)(Sizes);
};

constexpr NamedSlots slots_of_calls[] = {
    {"consecutive", [](Sizes) -> Slots { return ConsecutiveSlots{.first = 1}; }},
    {"beyond the cache", [](Sizes) -> Slots { return ConsecutiveSlots{.first = 1000}; }},
    {"padding", one_slot<padding>},
    {"one slot for all", one_slot<first_slot>},
    {"a map",
     [](Sizes n) -> Slots {
       return positions<std::int64_t>(n[1] > 0 && n[0] > most_token_rows ? 1 : n[0], n[1]);
     }},
};

AppendOptions options_with_norm() {
  return {.executor = in_parts(),
          .k_norm = KeyNorm{.norm = {.epsilon = 1e-6, .over = NormOver::each_head},
                            .order = NormOrder::before_rotation}};
}

// cache(sizes) makes the cache.
template <class Cache>
void add_append(Calls& calls, std::string_view symbol, const NamedSlots& slots,
                const SizeList& sizes, Cache (*cache)(Sizes)) {
  calls.emplace_back(symbol, slots.what, sizes, [of = slots.of, cache](Sizes n) -> Status {
    auto by = rotations_for(n[1]);
    if (!by) return std::move(by).error();
    AppendOptions options = options_with_norm();
    options.rotations = &*by;
    return append(cache(n), heads_of(n), of(n), options);
  });
  calls.emplace_back(symbol, slots.what, sizes, [of = slots.of, cache](Sizes n) {
    return append(cache(n), heads_of(n), of(n), options_with_norm());
  });
}

struct NamedNorm {
  std::string_view what;
  HeadNorm norm;
};

constexpr NamedNorm norms[] = {
    {"each head", {.epsilon = 1e-6, .over = NormOver::each_head}},
    {"all heads", {.epsilon = 1e-6, .over = NormOver::all_heads}},
    {"a negative epsilon", {.epsilon = -1, .over = NormOver::each_head}},
};

}  // namespace

// Calls with 200 tokens are split into parts.
Calls cache_calls() {
  Calls calls;
  for (const std::int64_t token_count : {3, 200}) {
    for (const NamedSlots& slots : slots_of_calls) {
      const SizeList sizes = cache_sizes(token_count);
      add_append(calls, "rotary::append(rotary::KvCache", slots, sizes, cache_of);
      add_append(calls, "rotary::append(rotary::QuantizedKvCache", slots, sizes,
                 quantized_cache_of);
    }
    for (const NamedNorm& each_norm : norms) {
      const SizeList sizes = {{}, {token_count}, {2}, each(16)};
      const HeadNorm& norm = each_norm.norm;
      calls.emplace_back("rotary::normalize_heads(", each_norm.what, sizes, [norm](Sizes n) {
        const HeadsView dst = heads({n[0], n[1], n[2], n[3]});
        return normalize_heads(dst, dst, norm, in_parts());
      });
      calls.emplace_back("rotary::normalize_heads(", each_norm.what, sizes, [norm](Sizes n) {
        const HeadsView dst = heads({n[0], n[1], n[2], n[3]});
        return normalize_heads(dst, heads(dst.extents), norm, in_parts());
      });
    }
  }
  return calls;
}

}  // namespace rotary::test
