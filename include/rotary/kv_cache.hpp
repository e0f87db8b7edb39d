// SPDX-License-Identifier: Apache-2.0
// append: stores a step's keys and values in a KV cache and rotates the keys, in one pass.
//
//   const KvCache cache{.k = k_cache, .v = v_cache};
//   append(cache, {.k = k, .v = v}, ConsecutiveSlots{.first = 7},
//          {.rotations = &rotations});
#ifndef ROTARY_KV_CACHE_HPP
#define ROTARY_KV_CACHE_HPP

#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <variant>

#include "rotary/executor.hpp"
#include "rotary/export.h"
#include "rotary/result.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// QK-norm: the RMS norm of queries and keys, before or after their rotation.
//
//   normalize_heads(q, q, {.weight = w, .epsilon = 1e-6, .over = NormOver::each_head});  // Qwen 3

// The features of a token that share one mean square.
enum class NormOver : std::int32_t {
  each_head = 1,  // those of one head: Qwen3, Gemma 3, HunYuan, Llama 4
  all_heads = 2,  // those of all heads, which the view must hold: OLMo 2
};

// y = x / sqrt(mean(x²) + epsilon) · (weight_offset + weight), feature by feature.
struct HeadNorm {
  // [features], or [heads][features] over all_heads. Empty: no multiplication (Llama 4, NanoChat).
  // Convert bf16 and f16 weights to float32, which is exact. Not owned.
  std::span<const float> weight = {};
  // Gemma: 1. From -2^126 to 2^126, rounded to float32; 0 without weights.
  double weight_offset = 0;
  double epsilon = 0;  // rms_norm_eps; must be given, at least 2^-126 and finite
  NormOver over = {};  // must be given
};

// Normalises every head of src into dst; append() does this for keys. To work in place, pass the
// same view twice; otherwise src and dst share no element, as in rotate(). Extents are equal.
// dtypes are equal, unless src is f32 and dst is bf16 or f16; f64 is refused. Features are adjacent
// (a stride of 1).
//
// Arithmetic is float32, with the mean square in double and one rounding to nearest even on store.
// (On instruction_set() "AVX3_BF16" a bf16 result that is subnormal in float32 becomes 0.)
// normalize_error_bound (numeric_contract.hpp) bounds a float32 result. A token's bits depend only
// on its elements and the instruction set. Models in bf16 may also round between steps, as
// Transformers' Qwen3RMSNorm does before it multiplies by the weight.
//
// Allocates nothing on success; executor as in RotateOptions. On an error nothing has been written.
// Errors: invalid_argument, with the requirement and what was got; unsupported, as rotate().
[[nodiscard]] ROTARY_API Status normalize_heads(HeadsView dst, ConstHeadsView src,
                                                const HeadNorm& norm,
                                                const Executor& executor = {}) noexcept;

// A cache of extents.batch blocks with extents.tokens slots each; a slot holds one token. A block
// is a batch row of a contiguous cache, or a page of a paged one:
//   [B, T, H, D]  [pages, page_size, H, D]    strides_bthd
//   [B, H, T, D]  [pages, H, page_size, D]    strides_bhtd
// Other strides work, too, if features are adjacent (a stride of 1). v has as many blocks and slots
// as k, but its own heads and features; absent: values are not cached.
struct KvCache {
  HeadsView k;
  std::optional<HeadsView> v = {};
};

// A KvCache in 8 bits, with one float32 scale for each head of a slot.
struct QuantizedKvCache {
  QuantizedHeadsView k;
  std::optional<QuantizedHeadsView> v = {};
};

// The tokens to store, [batch, tokens, heads, features]; features adjacent.
struct KvHeads {
  ConstHeadsView k;
  std::optional<ConstHeadsView> v = {};  // given if the cache has v; has k's batch and tokens
};

// Token t of batch row b goes to slot first + t of block b.
struct ConsecutiveSlots {
  std::int64_t first = 0;
};

// The slot of each token: number s is slot s % n of block s / n, for n slots in a block. A negative
// number: the token is not stored (padding).
using Slots = std::variant<ConsecutiveSlots, TokenArray<std::int32_t>, TokenArray<std::int64_t>>;

// token_array() under a name for slots: [tokens] of one batch row, or [batch, tokens].
template <std::ranges::contiguous_range Range>
[[nodiscard]] auto slots_of(const Range& tokens) noexcept {
  return token_array(tokens);
}
template <std::ranges::contiguous_range Range>
[[nodiscard]] auto slots_of(const Range& slots, std::int64_t batch) noexcept {
  return token_array(slots, batch);
}

// Whether a key is normalised before or after its rotation.
enum class NormOrder : std::int32_t {
  before_rotation = 1,  // Qwen3, Gemma 3, OLMo 2
  after_rotation = 2,   // Llama 4, HunYuan, NanoChat
};

// The norm of keys, and its order relative to the rotation.
struct KeyNorm {
  HeadNorm norm;
  NormOrder order = {};  // must be given
};

// Options of append.
struct AppendOptions {
  // Null: keys are stored unrotated, for layers without positions, and for caches whose keys are
  // rotated when they are read. Such caches suit positions or frequencies that change often: each
  // shift() of rotated keys would round them again.
  const Rotations* rotations = nullptr;
  Executor executor = {};
  // Without rotations, a norm after the rotation is refused.
  std::optional<KeyNorm> k_norm = {};
};

// Stores v and A R(position) k, or k if there are no rotations, in the slots of their tokens. Other
// slots keep their bytes.
//
// k has the head_dim, tokens and batch of the rotations, as in rotate(). Elements keep their dtype,
// or are converted from f32 to bf16 or f16; cache.k and cache.v may differ in dtype. Their elements
// are distinct and shared with no input. Slots are distinct and within the cache; with consecutive
// slots the cache has at least as many blocks as k has batch rows.
//
// Without k_norm the keys have the bits of rotate(), or of its float32 result rounded once to
// nearest even if the dtype changes. (On "AVX3_BF16", a k or v that is subnormal in float32 becomes
// 0 in bf16.) With k_norm, arithmetic is float32, rounded once on store; the bounds are
// rotate_normalized_error_bound and normalize_rotated_error_bound (numeric_contract.hpp). k_norm
// refuses f64, heads of more than 2048 features, and 16-bit keys with rotations that round each
// product (Rounding::every_step, double_angle). Except for f64, call normalize_heads() and then
// append() without k_norm instead.
//
// The bits do not depend on layout or executor. Allocates nothing on success; starts no thread;
// options.executor as in RotateOptions. On an error nothing has been written. Errors:
// invalid_argument, with the requirement and what was got, also for rotations of role query;
// unsupported, as rotate().
[[nodiscard]] ROTARY_API Status append(const KvCache& cache, const KvHeads& heads,
                                       const Slots& slots,
                                       const AppendOptions& options = {}) noexcept;

// append() into a cache in 8 bits. k and v are f32, bf16 or f16; refuses what k_norm refuses.
// Arithmetic is float32. Let z be a head's numbers to store, and m the largest |z|. The
// elements are z * 127/m, rounded to nearest even, and the scale is m/127. append_int8_error_bound
// (numeric_contract.hpp) bounds the error. If m is below 2^-100, the elements and the scale are 0.
// If a z is not finite, the elements are 0 and the scale is NaN, so every query that sees the key
// gives NaN. Every instruction set gives the same bits for the same z.
[[nodiscard]] ROTARY_API Status append(const QuantizedKvCache& cache, const KvHeads& heads,
                                       const Slots& slots,
                                       const AppendOptions& options = {}) noexcept;

}  // namespace rotary

#endif  // ROTARY_KV_CACHE_HPP
