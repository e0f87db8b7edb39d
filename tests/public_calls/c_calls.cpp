// SPDX-License-Identifier: Apache-2.0
// Calls of the C ABI: rotations and tensors.
#include <array>

#include "public_calls/c_call.hpp"
#include "rotary/rotary_kv_cache.h"

namespace rotary::test {
namespace {

template <class Number>
rotary_positions c_positions(std::int64_t batch, std::int64_t count, std::int64_t first = 0) {
  const TokenArray<Number> of = positions<Number>(batch, count, first);
  const auto kind = std::is_same_v<Number, double> ? ROTARY_POSITIONS_F64 : ROTARY_POSITIONS_INT64;
  return {sizeof(rotary_positions), kind, 0, 0, of.data, of.batch, count, of.batch_stride,
          of.token_stride,          0,    0};
}

// A shift by two positions. Sizes: batch of `from`, batch of `to`, tokens.
struct Shifted {
  rotary_positions here;
  rotary_positions there;
  rotary_rotated_at from;
  rotary_rotated_at to;

  explicit Shifted(Sizes n, const rotary_frequencies* frequencies = c_frequencies())
      : here(c_positions<std::int64_t>(n[0], n[2])),
        there(c_positions<std::int64_t>(n[1], n[2], 2)),
        from{sizeof(rotary_rotated_at), frequencies, &here},
        to{sizeof(rotary_rotated_at), c_frequencies(), &there} {}
  Shifted(const Shifted&) = delete;
  Shifted& operator=(const Shifted&) = delete;

  rotary_status make(rotary_rotations** out) const {
    return rotary_shift_make(&from, &to, nullptr, out);
  }
};

// Calls use(rotations) with rotations for any number of tokens.
template <class Use>
Outcome with_rotations_for(std::int64_t tokens, const Use& use) {
  const Shifted shifted(std::array<std::int64_t, 3>{1, 1, tokens});
  return with_made<rotary_rotations>([&](rotary_rotations** out) { return shifted.make(out); },
                                     use);
}

const SizeList tensor_sizes = {{}, {3}, {2}, each(16)};

rotary_heads_view view_of(Sizes n) { return c_view({n[0], n[1], n[2], n[3]}); }

// Calls function(sizes, rotations) with rotations for n[1] tokens, the second size, and with
// rotations for one token more.
void add_rotating(Calls& calls, std::string_view symbol, const SizeList& sizes,
                  const std::function<rotary_status(Sizes, const rotary_rotations*)>& function) {
  for (const std::int64_t more : {0, 1}) {
    calls.emplace_back(symbol, more == 0 ? "" : "of other tokens", sizes, [=](Sizes n) {
      return with_rotations_for(
          n[1] + more, [&](rotary_rotations* by) { return outcome_of_c(function(n, by)); });
    });
  }
}

rotary_int8_view c_int8_view(const Extents& n) {
  const QuantizedHeadsView of = quantized(n);
  const Strides& s = of.strides;
  return {sizeof(rotary_int8_view),
          of.data,
          of.scales,
          {n.batch, n.tokens, n.heads, n.features},
          {s.batch, s.token, s.head, s.feature},
          {s.batch, s.token, s.head}};
}

constexpr std::int64_t padding = -1;

// Sizes: batch, tokens, heads and features of k, heads and features of v, blocks, slots.
const SizeList cache_sizes = {{}, {3}, {2}, each(16), {1}, each(8), {2}, {4}};

// The slots are consecutive from the first, or all are padding.
struct CacheOperands {
  std::array<rotary_heads_view, 4> views;  // k and v of the cache, then k and v to store
  std::array<rotary_int8_view, 2> int8_views;
  rotary_kv cache;
  rotary_int8_kv int8_cache;
  rotary_kv heads;
  rotary_slots slots = ROTARY_SLOTS_INIT;

  CacheOperands(Sizes n, std::int32_t kind)
      : views{c_view({n[6], n[7], n[2], n[3]}), c_view({n[6], n[7], n[4], n[5]}),
              c_view({n[0], n[1], n[2], n[3]}), c_view({n[0], n[1], n[4], n[5]})},
        int8_views{c_int8_view({n[6], n[7], n[2], n[3]}), c_int8_view({n[6], n[7], n[4], n[5]})},
        cache{sizeof(rotary_kv), &views[0], &views[1]},
        int8_cache{sizeof(rotary_int8_kv), &int8_views[0], &int8_views[1]},
        heads{sizeof(rotary_kv), &views[2], &views[3]} {
    if (kind == ROTARY_SLOTS_CONSECUTIVE) return;
    slots = {sizeof(rotary_slots), kind, 0, 0, &padding, n[0], n[1], 0, 0};
  }
};

Calls tensor_calls() {
  Calls calls;
  add_rotating(calls, "rotary_rotate", tensor_sizes, [](Sizes n, auto* by) {
    const rotary_heads_view view = view_of(n);
    return rotary_rotate(&view, &view, by, nullptr);
  });
  add_rotating(calls, "rotary_rotate_qk", tensor_sizes, [](Sizes n, auto* by) {
    return rotary_rotate_qk(at(view_of(n)), at(view_of(n)), by, nullptr);
  });
  add_rotating(calls, "rotary_shift", tensor_sizes,
               [](Sizes n, auto* by) { return rotary_shift(at(view_of(n)), by, nullptr); });
  add_rotating(calls, "rotary_shift_int8", tensor_sizes, [](Sizes n, auto* by) {
    return rotary_shift_int8(at(c_int8_view({n[0], n[1], n[2], n[3]})), by, nullptr);
  });
  for (const double epsilon : {1e-6, 0.0}) {
    calls.emplace_back("rotary_normalize_heads", std::to_string(epsilon), tensor_sizes,
                       [epsilon](Sizes n) {
                         const rotary_heads_view view = view_of(n);
                         rotary_head_norm norm = ROTARY_HEAD_NORM_INIT;
                         norm.epsilon = epsilon;
                         norm.over = ROTARY_NORM_OVER_ALL_HEADS;
                         return outcome_of_c(rotary_normalize_heads(&view, &view, &norm, nullptr));
                       });
  }
  for (const auto kind : {ROTARY_SLOTS_CONSECUTIVE, ROTARY_SLOTS_INT64}) {
    add_rotating(calls, "rotary_append", cache_sizes, [kind](Sizes n, const rotary_rotations* by) {
      const CacheOperands on(n, kind);
      return rotary_append(&on.cache, &on.heads, &on.slots, by, nullptr);
    });
    calls.emplace_back("rotary_append_unrotated", "", cache_sizes, [kind](Sizes n) {
      const CacheOperands on(n, kind);
      return outcome_of_c(rotary_append_unrotated(&on.cache, &on.heads, &on.slots, nullptr));
    });
    add_rotating(calls, "rotary_append_int8", cache_sizes,
                 [kind](Sizes n, const rotary_rotations* by) {
                   const CacheOperands on(n, kind);
                   return rotary_append_int8(&on.int8_cache, &on.heads, &on.slots, by, nullptr);
                 });
    calls.emplace_back("rotary_append_int8_unrotated", "", cache_sizes, [kind](Sizes n) {
      const CacheOperands on(n, kind);
      return outcome_of_c(
          rotary_append_int8_unrotated(&on.int8_cache, &on.heads, &on.slots, nullptr));
    });
  }
  return calls;
}

// A function for Call. remake(sizes, rotations) gets rotations with room for only one token.
template <class Remake>
auto remaking(Remake remake) {
  return [remake](Sizes n) {
    return with_rotations_for(
        1, [&](rotary_rotations* rotations) { return outcome_of_c(remake(n, rotations)); });
  };
}

void add_rotations(Calls& calls, const rotary_frequencies* of, std::string_view what) {
  const Adding with_positions{calls, std::string(what), {each(2), {3}}};  // batch, tokens
  with_positions("rotary_rotations_make", making<rotary_rotations>([of](Sizes n, auto** out) {
                   return rotary_rotations_make(of, at(c_positions<double>(n[0], n[1])), nullptr,
                                                out);
                 }));
  with_positions("rotary_rotations_remake", remaking([of](Sizes n, auto* rotations) {
                   return rotary_rotations_remake(rotations, of,
                                                  at(c_positions<double>(n[0], n[1])));
                 }));
  const Adding with_shift{calls, std::string(what), {each(2), each(2), {3}}};  // as for Shifted
  with_shift("rotary_shift_make", making<rotary_rotations>([of](Sizes n, auto** out) {
               return Shifted(n, of).make(out);
             }));
  with_shift("rotary_shift_remake", remaking([of](Sizes n, auto* rotations) {
               const Shifted shifted(n, of);
               return rotary_shift_remake(rotations, &shifted.from, &shifted.to);
             }));
}

// make: rotary_rotations_of_cos_sin or its unchecked variant.
auto of_cos_sin(decltype(&rotary_rotations_of_cos_sin) make, double factor) {
  return making<rotary_rotations>([=](Sizes n, auto** out) {
    const CosSinView of = cos_sin(n[0], n[1]);
    const rotary_cos_sin rows{
        sizeof(rotary_cos_sin), of.cos,          of.sin,         ROTARY_F32, 0, of.batch, of.tokens,
        of.batch_stride,        of.token_stride, of.pair_stride, factor};
    return make(at(c_window()), &rows, nullptr, out);
  });
}

void add_rows(Calls& calls) {
  const SizeList sizes = {{2}, {3}};
  for (const double factor : {1.0, 3.0}) {
    const Adding add{calls, std::to_string(factor), sizes};
    add("rotary_rotations_of_cos_sin", of_cos_sin(rotary_rotations_of_cos_sin, factor));
    add("rotary_rotations_of_unchecked_cos_sin",
        of_cos_sin(rotary_rotations_of_unchecked_cos_sin, factor));
  }
  calls.emplace_back("rotary_row_bytes", "", SizeList{{}, {3}}, [](Sizes n) {
    std::size_t& bytes = operand(std::size_t{0});
    return outcome_of_c(rotary_row_bytes(at(c_window()), n[0], n[1], ROTARY_F32, &bytes));
  });
  static const auto* const rotations = made_once<rotary_rotations>([](auto** out) {
    return Shifted(std::array<std::int64_t, 3>{1, 1, 3}).make(out);
  });
  for_handle_and_null(rotations, [&](auto* of, auto what) {
    calls.emplace_back("rotary_rotations_rows", what, [of] {
      constexpr rotary_cos_sin rows = ROTARY_COS_SIN_INIT;
      return outcome_of_c(rotary_rotations_rows(of, &operand(rows)));
    });
  });
}

}  // namespace

Calls c_calls() {
  Calls calls = tensor_calls();
  for_handle_and_null(c_frequencies(),
                      [&](auto* of, auto what) { add_rotations(calls, of, what); });
  add_rows(calls);
  return calls;
}

}  // namespace rotary::test
