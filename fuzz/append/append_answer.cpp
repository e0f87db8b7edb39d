// SPDX-License-Identifier: Apache-2.0
#include "fuzz/append/append_answer.hpp"

#include <cmath>
#include <set>

#include "fuzz/int128.hpp"
#include "fuzz/rotations_fit.hpp"

namespace rotary::fuzz {
namespace {

constexpr std::int64_t longest_normalized_head = 2048;

bool is_empty(const ConstHeadsView& view) { return fuzz::is_empty(strided(view)); }

bool is_conversion(DType from, DType to) {
  return from == to || (from == DType::f32 && (to == DType::bf16 || to == DType::f16));
}

// The stride of a single feature does not matter.
bool has_adjacent_features(const ConstHeadsView& view) {
  return view.extents.features <= 1 || view.strides.feature == 1;
}

// Judges a cache and the heads that it takes, of k or of v.
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

// Cache: of either form.
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

// Consecutive slots of tokens that have no element may be outside: nothing is stored there.
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

}  // namespace rotary::fuzz
