// SPDX-License-Identifier: Apache-2.0

#include "fuzz/append/append_answer.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/append/stored.hpp"
#include "fuzz/check.hpp"
#include "fuzz/elements.hpp"
#include "fuzz/strided.hpp"
#include "fuzz/turned.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::fuzz {

namespace {

constexpr std::int64_t longest_normalized_head = 2048;

bool is_empty(const ConstHeadsView& view) { return fuzz::is_empty(strided(view)); }

bool is_conversion(DType from, DType to) {
  return from == to || (from == DType::f32 && (to == DType::bf16 || to == DType::f16));
}

// The stride of a single feature is ignored.
bool has_adjacent_features(const ConstHeadsView& view) {
  return view.extents.features <= 1 || view.strides.feature == 1;
}

// Judges a cache (of k or v) with the heads to store in it.
bool is_bad_pair(const ConstHeadsView& cache, const ConstHeadsView& heads) {
  return !is_well_formed(strided(cache)) || !is_well_formed(strided(heads)) ||
         !has_adjacent_features(cache) || !has_adjacent_features(heads) ||
         cache.extents.heads != heads.extents.heads ||
         cache.extents.features != heads.extents.features ||
         !is_conversion(heads.dtype, cache.dtype);
}

bool is_bad_pair(const QuantizedHeadsView& cache, const ConstHeadsView& heads) {
  return !is_well_formed(cache) || !is_well_formed(strided(heads)) ||
         !has_adjacent_features(heads) || cache.extents.heads != heads.extents.heads ||
         cache.extents.features != heads.extents.features || heads.dtype == DType::f64 ||
         heads.extents.features > longest_normalized_head;
}

// Cache: with elements of a dtype or in 8 bits.
template <class Cache>
bool is_bad_cache(const Cache& cache, const KvHeads& heads) {
  const auto& [k, v] = heads;
  if (is_bad_pair(cache.k, k) || cache.v.has_value() != v.has_value()) return true;
  if (!v) return false;
  const Extents& blocks = cache.k.extents;
  return v->extents.batch != k.extents.batch || v->extents.tokens != k.extents.tokens ||
         cache.v->extents.batch != blocks.batch || cache.v->extents.tokens != blocks.tokens ||
         is_bad_pair(*cache.v, *v);
}

bool is_bad_cache(const AppendCase& append) {
  return append.quantized ? is_bad_cache(*append.quantized, append.heads)
                          : is_bad_cache(append.cache, append.heads);
}

bool rounds_16_bit_products(const ConstHeadsView& k, const Rotations* rotations) {
  return rotations != nullptr && k.dtype != DType::f32 &&
         rotations->numerics() == Numerics::transformers &&
         (rotations->rounding() == Rounding::every_step ||
          rotations->rounding() == Rounding::double_angle);
}

bool is_bad_weight(const HeadNorm& norm, const Extents& k) {
  const auto count = static_cast<std::int64_t>(norm.weight.size());
  if (count == 0) return norm.weight_offset != 0;
  const auto wanted =
      static_cast<int128>(k.features) * (norm.over == NormOver::all_heads ? k.heads : 1);
  return count != wanted && !(norm.over == NormOver::all_heads && k.heads == 0);
}

bool is_bad_norm(const KeyNorm& k_norm, const ConstHeadsView& k, const Rotations* rotations) {
  const HeadNorm& norm = k_norm.norm;
  if (k.dtype == DType::f64 || k.extents.features > longest_normalized_head) return true;
  if (k_norm.order != NormOrder::before_rotation && k_norm.order != NormOrder::after_rotation) {
    return true;
  }
  if (norm.over != NormOver::each_head && norm.over != NormOver::all_heads) return true;
  if (!(norm.epsilon >= 0x1p-126) || std::isinf(norm.epsilon)) return true;
  if (!(std::abs(norm.weight_offset) <= 0x1p126)) return true;
  if (rotations == nullptr && k_norm.order == NormOrder::after_rotation) return true;
  if (rounds_16_bit_products(k, rotations)) return true;
  return is_bad_weight(norm, k.extents);
}

// Consecutive slots may be out of range for tokens without elements: nothing is stored there.
Answer expected_of_consecutive(const AppendCase& append) {
  const Extents& k = append.heads.k.extents;
  const Extents& cache = cache_extents(append);
  if (k.batch == 0 || k.tokens == 0) return Answer::accept;
  const std::int64_t first = append.slots.first;
  const bool fit = k.batch <= cache.batch && first >= 0 && k.tokens <= cache.tokens &&
                   first <= cache.tokens - k.tokens;
  if (fit) return Answer::accept;
  const bool is_stored =
      !is_empty(append.heads.k) || (append.heads.v && !is_empty(*append.heads.v));
  return is_stored ? Answer::refuse : Answer::either;
}

Answer expected_of_map(const AppendCase& append) {
  const Extents& k = append.heads.k.extents;
  const Extents& cache = cache_extents(append);
  const auto& [batch, tokens] = append.slots.counts;
  if (batch != k.batch || tokens != k.tokens) return Answer::refuse;
  const auto slots = static_cast<int128>(cache.batch) * cache.tokens;
  if (slots >= static_cast<int128>(1) << 63) return Answer::refuse;
  const bool is_stored =
      !is_empty(append.heads.k) || (append.heads.v && !is_empty(*append.heads.v));
  if (!is_stored) return Answer::accept;
  std::set<long double> stored;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      const long double slot = number_at(append.slots, b, t);
      if (slot >= static_cast<long double>(slots)) return Answer::refuse;
      if (slot >= 0 && !stored.insert(slot).second) return Answer::refuse;
    }
  }
  return Answer::accept;
}

}  // namespace

Answer expected_answer(const AppendCase& append, const Rotations* rotations,
                       const std::byte* buffer) {
  const ConstHeadsView& k = append.heads.k;
  if (rotations != nullptr && rotations->role() == Role::query) return Answer::refuse;
  if (rotations != nullptr && !fits(k, *rotations)) return Answer::refuse;
  if (is_bad_cache(append)) return Answer::refuse;
  if (append.quantized && rounds_16_bit_products(k, rotations)) return Answer::refuse;
  if (append.k_norm && is_bad_norm(*append.k_norm, k, rotations)) return Answer::refuse;
  const AppendViews views = views_of(append);
  if (!is_well_formed(strided(append.slots))) return Answer::refuse;
  const Answer of_sharing = expected_of_sharing(views.written, views.read, buffer);
  if (of_sharing == Answer::refuse) return of_sharing;
  const bool is_map = append.slots.kind != NumberKind::consecutive;
  return stricter(of_sharing, is_map ? expected_of_map(append) : expected_of_consecutive(append));
}

namespace {

// Contiguous [batch, tokens, heads, features].
struct Floats {
  std::vector<float> numbers;
  Extents extents;

  [[nodiscard]] HeadsView view() {
    return {.data = numbers.data(),
            .dtype = DType::f32,
            .extents = extents,
            .strides = strides_bthd(extents)};
  }
  [[nodiscard]] std::span<const float> head(const Stored& of, std::int64_t head) const {
    const std::int64_t index =
        ((of.batch * extents.tokens + of.token) * extents.heads + head) * extents.features;
    return std::span(numbers).subspan(static_cast<std::size_t>(index),
                                      static_cast<std::size_t>(extents.features));
  }
};

// Heads of f32, bf16 or f16, with their contents from before the call.
Floats floats_of(const ConstHeadsView& heads, const Memory& memory) {
  Floats floats{.numbers = {}, .extents = heads.extents};
  const Strided view = strided(heads);
  for_each_element(view, [&](const Axes& index) {
    const std::size_t at = place_of(view, memory.after.data(), index);
    floats.numbers.push_back(static_cast<float>(value_at(heads.dtype, memory.before.data() + at)));
  });
  return floats;
}

Floats stored_keys(const AppendCase& append, const Rotations* rotations, const Memory& memory) {
  Floats keys = floats_of(append.heads.k, memory);
  if (rotations == nullptr && !append.k_norm) return keys;
  Floats cache{.numbers = std::vector<float>(keys.numbers.size()), .extents = keys.extents};
  const auto status = rotary::append({.k = cache.view()}, {.k = keys.view()}, ConsecutiveSlots{},
                                     {.rotations = rotations, .k_norm = append.k_norm});
  if (!status) fail("a cache of f32 must take what one in 8 bits takes", status.error().message);
  return cache;
}

void check_head(std::span<const float> numbers, const check::Int8Head& head) {
  if (!head.has_bits_of(check::in_int8(numbers)))
    fail("a head in 8 bits must be its numbers' z * 127/m to nearest even, and m/127");
}

void check_heads(const AppendCase& append, const QuantizedHeadsView& cache, const Floats& from,
                 const Memory& memory) {
  if (from.numbers.empty()) return;
  for_each_stored(append, [&](const Stored& at) {
    for (std::int64_t h = 0; h < from.extents.heads; ++h) {
      check_head(from.head(at, h),
                 head_at(cache, memory.after.data(), memory, {at.block, at.place, h, 0}));
    }
  });
}

}  // namespace

void check_quantized(const AppendCase& append, const Rotations* rotations, const Memory& memory) {
  const QuantizedKvCache& cache = *append.quantized;
  const auto turns_floats = [](const Rotations& by) {
    return by.tensors().value_or(DType::f32) == DType::f32;
  };
  if (rotations == nullptr || turns_floats(*rotations)) {
    check_heads(append, cache.k, stored_keys(append, rotations, memory), memory);
  }
  if (cache.v) check_heads(append, *cache.v, floats_of(*append.heads.v, memory), memory);
}

namespace {

alignas(64) std::array<std::byte, 2 * largest_buffer> rotated;  // k, dense

Head head_at(const ConstHeadsView& view, const std::byte* bytes, const Memory& memory,
             const Axes& index) {
  return {.first = bytes + place_of(strided(view), memory.after.data(), index),
          .dtype = view.dtype,
          .stride = 1};
}

void check_head(const Head& from, const Head& to, std::int64_t features, std::string_view what) {
  for (std::int64_t f = 0; f < features; ++f) check_stored(from, to, f, what);
}

// k, rotated by rotate() into separate memory.
ConstHeadsView rotated_keys(const ConstHeadsView& k, const Rotations& rotations) {
  const HeadsView view{.data = rotated.data(),
                       .dtype = k.dtype,
                       .extents = k.extents,
                       .strides = strides_bthd(k.extents)};
  if (const auto status = rotate(view, k, rotations); !status) {
    fail("keys that append takes must rotate", status.error().message);
  }
  return view;
}

void check_keys(const AppendCase& append, const Rotations* rotations, const Memory& memory) {
  const ConstHeadsView& k = append.heads.k;
  const ConstHeadsView cache = append.cache.k;
  if (is_empty(strided(k))) return;
  const ConstHeadsView expected = rotations == nullptr ? k : rotated_keys(k, *rotations);
  for_each_stored(append, [&](const Stored& at) {
    for (std::int64_t h = 0; h < k.extents.heads; ++h) {
      const Axes from = {at.batch, at.token, h, 0};
      const Head to = head_at(cache, memory.after.data(), memory, {at.block, at.place, h, 0});
      const Head source = head_at(k, memory.before.data(), memory, from);
      if (rotations == nullptr) {
        check_head(source, to, k.extents.features, "a key must be stored as it is");
        continue;
      }
      const Strided dense = strided(expected);
      const Head turned{.first = rotated.data() + place_of(dense, rotated.data(), from),
                        .dtype = k.dtype};
      check_head(turned, to, k.extents.features, "a key must have the bits of rotate()");
      if (rotations->numerics() == Numerics::exact) {
        check_turned(source, to, {.rotations = *rotations, .batch = at.batch, .token = at.token});
      }
    }
  });
}

void check_normalized_keys(const AppendCase& append, const Rotations* rotations,
                           const Memory& memory) {
  if (rotations != nullptr && rotations->numerics() != Numerics::exact) return;
  const ConstHeadsView& k = append.heads.k;
  const ConstHeadsView cache = append.cache.k;
  for_each_stored(append, [&](const Stored& at) {
    std::vector<long double> token;
    std::vector<long double> stored;
    for (std::int64_t h = 0; h < k.extents.heads; ++h) {
      const Head from = head_at(k, memory.before.data(), memory, {at.batch, at.token, h, 0});
      const Head to = head_at(cache, memory.after.data(), memory, {at.block, at.place, h, 0});
      for (std::int64_t f = 0; f < k.extents.features; ++f) {
        token.push_back(from.at(f));
        stored.push_back(to.at(f));
      }
    }
    std::optional<check::KeyTurn> turn;
    if (rotations != nullptr) turn = check::turn_of(*rotations, at.batch, at.token);
    const auto exact = check::normalized(token, k.extents.heads, *append.k_norm, turn);
    const std::string fault = exact ? check::fault(*exact, stored, cache.dtype) : "";
    if (!fault.empty()) fail("a key must be normalised within the bound", fault);
  });
}

void check_values(const AppendCase& append, const Memory& memory) {
  const ConstHeadsView& v = *append.heads.v;
  const ConstHeadsView cache = *append.cache.v;
  if (is_empty(strided(v))) return;
  for_each_stored(append, [&](const Stored& at) {
    for (std::int64_t h = 0; h < v.extents.heads; ++h) {
      check_head(head_at(v, memory.before.data(), memory, {at.batch, at.token, h, 0}),
                 head_at(cache, memory.after.data(), memory, {at.block, at.place, h, 0}),
                 v.extents.features, "a value must be stored as it is");
    }
  });
}

void check_slots(const AppendCase& append, const Rotations* rotations, const Memory& memory) {
  if (append.quantized) {
    check_quantized(append, rotations, memory);
    return;
  }
  if (append.k_norm) {
    if (!is_empty(strided(append.heads.k))) check_normalized_keys(append, rotations, memory);
  } else {
    check_keys(append, rotations, memory);
  }
  if (append.heads.v) check_values(append, memory);
}

void put_back_slot(Strided cache, const Stored& at, const Memory& memory) {
  if (is_empty(cache)) return;
  cache.data =
      memory.after.data() + place_of(cache, memory.after.data(), {at.block, at.place, 0, 0});
  cache.counts[0] = cache.counts[1] = 1;
  put_back(cache, memory);
}

}  // namespace

void check_written(const AppendCase& append, const Rotations* rotations, const Memory& memory) {
  check_slots(append, rotations, memory);
  if (is_empty(strided(append.heads.k)) &&
      (!append.heads.v || is_empty(strided(*append.heads.v)))) {
    check_unchanged(memory, "nothing must be written where there is nothing to store");
    return;
  }
  const AppendViews views = views_of(append);
  for_each_stored(append, [&](const Stored& at) {
    for (const Strided& cache : views.written) put_back_slot(cache, at, memory);
  });
  check_unchanged(memory, "bytes that belong to no slot of a token must stay");
}

}  // namespace rotary::fuzz
