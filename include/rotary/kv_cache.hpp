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

// QK-norm: the RMS norm that models apply to queries and keys before or after the rotation.
//
//   normalize_heads(q, q, {.weight = w, .epsilon = 1e-6, .over = NormOver::each_head});  // Qwen 3

// Selects which features of a token share one mean square.
enum class NormOver : std::int32_t {
  each_head = 1,  // the features of one head: Qwen3, Gemma 3, HunYuan, Llama 4
  all_heads = 2,  // the features of all heads of the view, which must hold every head of the token:
                  // OLMo 2
};

// y = x / sqrt(mean(x²) + epsilon) · (weight_offset + weight), feature by feature.
struct HeadNorm {
  // [features], or [heads][features] over all_heads. Empty: no multiplication (the norms without
  // weights of Llama 4 and NanoChat). Widen bf16 or f16 weights of a checkpoint, which is exact.
  // Not owned; must live until the call that it is passed to returns.
  std::span<const float> weight = {};
  // Gemma: 1; from -2^126 to 2^126, rounded to float32; 0 without weights.
  double weight_offset = 0;
  double epsilon = 0;  // rms_norm_eps; must be given, at least 2^-126 and finite
  NormOver over = {};  // must be given
};

// Normalises every head of src into dst: for queries, as append() does for keys. To work in place,
// pass the same view twice; otherwise as in rotate(). dst and src have the same extents and dtype,
// or src is f32 and dst bf16 or f16. Features are adjacent (a stride of 1); f64 is refused.
//
// Arithmetic is float32, with the mean square in double and one rounding to nearest even on store.
// (On instruction_set() "AVX3_BF16" a bf16 result that is subnormal in float32 becomes 0.) A
// float32 result is within normalize_error_bound units of 2^-24 * |exact result| of the exact
// formula (numeric_contract.hpp). A token's bits depend only on its elements and the instruction
// set. Models in bf16 may round between steps (Transformers' Qwen3RMSNorm rounds before it
// multiplies by the weight); this function does not.
//
// Allocates nothing on success; executor as in RotateOptions. On an error nothing has been written.
// Errors: invalid_argument, with the requirement and what was got; unsupported, as rotate().
[[nodiscard]] ROTARY_API Status normalize_heads(HeadsView dst, ConstHeadsView src,
                                                const HeadNorm& norm,
                                                const Executor& executor = {}) noexcept;

// A cache has extents.batch blocks of extents.tokens slots; a slot holds one token. A block is a
// batch row of a contiguous cache, or a page of a paged one:
//   [B, T, H, D]  [pages, page_size, H, D]    strides_bthd
//   [B, H, T, D]  [pages, H, page_size, D]    strides_bhtd
// Other strides work, too, if features are adjacent (a stride of 1). v has the blocks and slots of
// k, and its own heads and features; absent: this call caches no values.
struct KvCache {
  HeadsView k;
  std::optional<HeadsView> v = {};
};

// A KvCache in 8 bits, with a float32 scale beside each head of a slot.
struct QuantizedKvCache {
  QuantizedHeadsView k;
  std::optional<QuantizedHeadsView> v = {};
};

// The tokens to store, [batch, tokens, heads, features]; features adjacent.
struct KvHeads {
  ConstHeadsView k;
  std::optional<ConstHeadsView> v = {};  // if the cache has v; with k's batch and tokens
};

// Token t of batch row b goes to slot first + t of block b.
struct ConsecutiveSlots {
  std::int64_t first = 0;
};

// A slot number for each token, int32 or int64: number s is slot s % slots of block s / slots,
// where slots is the number of slots in a block. Negative: the token is not stored (padding).
using Slots = std::variant<ConsecutiveSlots, TokenArray<std::int32_t>, TokenArray<std::int64_t>>;

// As token_array: [tokens] of one batch row, as in packed batches, or contiguous [batch, tokens].
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

// The norm of keys (QK-norm), and whether it comes before or after their rotation.
struct KeyNorm {
  HeadNorm norm;
  NormOrder order = {};  // must be given
};

// Options of append.
struct AppendOptions {
  // Rotates the keys. Null: keys are stored unrotated, for layers without positions, and for caches
  // whose keys are rotated when they are read. Rotating stored keys again rounds them each time, so
  // a cache whose positions or frequencies change often should keep them unrotated.
  const Rotations* rotations = nullptr;
  Executor executor = {};
  // A norm after the rotation is refused without rotations: apply it when the keys are rotated.
  std::optional<KeyNorm> k_norm = {};
};

// Stores A R(position) k (without rotations k) and v in the slots of their tokens. Other slots keep
// their bytes.
//
// k has the head_dim, tokens and batch of the rotations, as in rotate() with direction forward.
// Elements keep their dtype, or are converted from f32 to bf16 or f16; cache.k and cache.v may
// differ in dtype. The two caches share no element with the inputs or with each other, and the
// elements of each are distinct. The slots of a map are distinct and within the cache, which is
// checked. Consecutive slots: batch row b is block b, so the cache has at least as many blocks as k
// has batch rows.
//
// Without k_norm the bits of k are those of rotate() followed by a copy; if the dtype changes, they
// are rotate()'s float32 result rounded once, to nearest even. (To bf16 on "AVX3_BF16", v included:
// a number that is subnormal in float32 becomes 0.) With k_norm, arithmetic is float32 from k to
// the cache, rounded once on store (rotate_normalized_error_bound, normalize_rotated_error_bound in
// numeric_contract.hpp). A head then has at most 2048 features. f64 is refused with k_norm, and so
// are 16-bit keys with rotations that round each product (Rounding::every_step, double_angle): call
// normalize_heads() first, then append without k_norm.
//
// The bits do not depend on layout or split. Allocates nothing on success; starts no thread;
// options.executor as in RotateOptions. On an error nothing has been written. Errors:
// invalid_argument, with the requirement and what was got, also for rotations of role query;
// unsupported, as rotate().
[[nodiscard]] ROTARY_API Status append(const KvCache& cache, const KvHeads& heads,
                                       const Slots& slots,
                                       const AppendOptions& options = {}) noexcept;

// append() into a cache in 8 bits. k and v are f32, bf16 or f16, and arithmetic is float32. The
// limits are those of k_norm: at most 2048 features in a head, and no 16-bit keys with rotations
// that round each product. Let z be the float32 numbers of a head, and m the largest |z|.
// The elements are z * 127/m, rounded to nearest even, none of them -128; the scale is m/127. The
// error is at most append_int8_error_bound (numeric_contract.hpp): half a step plus the error of z.
// A head whose m is below 2^-100 gets zeros and scale 0. A head with a number that is not finite
// gets zeros and a NaN scale, which shows in every query that attends to it. Every instruction set
// gives the same bits for the same z.
[[nodiscard]] ROTARY_API Status append(const QuantizedKvCache& cache, const KvHeads& heads,
                                       const Slots& slots,
                                       const AppendOptions& options = {}) noexcept;

}  // namespace rotary

#endif  // ROTARY_KV_CACHE_HPP
