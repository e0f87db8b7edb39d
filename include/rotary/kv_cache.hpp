// SPDX-License-Identifier: Apache-2.0
// append: a step's keys and values into a KV cache, keys rotated on the way, in one pass.
#pragma once

#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <variant>

#include "rotary/executor.hpp"
#include "rotary/export.h"
#include "rotary/head_norm.hpp"
#include "rotary/result.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// A cache is blocks of slots, a slot holds one token: extents.batch blocks of extents.tokens slots.
// A block is a batch row of a contiguous cache, or a page of a paged one:
//   [B, T, H, D]  [pages, page_size, H, D]    strides_bthd
//   [B, H, T, D]  [pages, H, page_size, D]    strides_bhtd
// or any other strides whose features are adjacent (a stride of 1). v: absent where values are not
// cached by this call; otherwise of the same blocks and slots, heads and features its own.
struct KvCache {
  HeadsView k;
  std::optional<HeadsView> v = {};
};

// The tokens to store, [batch, tokens, heads, features]; features adjacent.
struct KvHeads {
  ConstHeadsView k;
  std::optional<ConstHeadsView> v = {};  // where the cache has v, of k's batch and tokens
};

// Token t of batch row b goes to place first + t of block b.
struct ConsecutiveSlots {
  std::int64_t first = 0;
};

// A slot for each token: slot s is place s % slots of block s / slots, where slots is the number
// that a block has. A negative one: the token is not stored (padding). Number: int32 or int64. Not
// owned; strides in elements.
template <class Number>
struct SlotMap {
  const Number* data = nullptr;
  std::int64_t batch = 1;
  std::int64_t tokens = 0;
  std::int64_t batch_stride = 0;
  std::int64_t token_stride = 1;
};

using Slots = std::variant<ConsecutiveSlots, SlotMap<std::int32_t>, SlotMap<std::int64_t>>;

// [tokens] of one batch row, as in packed batches: any contiguous range, which must outlive the
// use.
template <std::ranges::contiguous_range Range>
[[nodiscard]] auto slots_of(const Range& tokens) noexcept {
  return SlotMap<std::ranges::range_value_t<Range>>{
      .data = std::ranges::data(tokens),
      .tokens = static_cast<std::int64_t>(std::ranges::size(tokens))};
}

// Contiguous [batch, tokens]. Where the size is not a multiple of batch the result has a batch of
// 0, which append refuses.
template <std::ranges::contiguous_range Range>
[[nodiscard]] auto slots_of(const Range& slots, std::int64_t batch) noexcept {
  auto map = slots_of(slots);
  map.batch = batch >= 1 && map.tokens % batch == 0 ? batch : 0;
  map.tokens = map.batch == 0 ? 0 : map.tokens / batch;
  map.batch_stride = map.tokens;
  return map;
}

// When a key is normalised.
enum class NormOrder : std::int32_t {
  before_rotation = 1,  // Qwen3, Gemma 3, OLMo 2
  after_rotation = 2,   // Llama 4, HunYuan, NanoChat
};

struct KeyNorm {
  HeadNorm norm;
  NormOrder order = {};  // must be given
};

struct AppendOptions {
  Executor executor = {};
  std::optional<KeyNorm> k_norm = {};
};

// Stores A R(position) k in the slots of its tokens, and v as it is. Other slots keep their bytes.
//
// k has the head_dim, tokens and batch of the rotations, as in rotate(), in direction forward.
// Elements keep their dtype, or go from f32 to bf16 or f16; cache.k and cache.v may differ in
// dtype. Caches share no element with what is read, nor with each other, and their own elements are
// distinct. Slots of a map lie within the cache and are distinct, which is checked. Consecutive
// slots: batch row b is block b, so the cache has at least as many blocks as k batch rows.
//
// Without k_norm the bits of k are those of rotate() followed by a copy; where the dtype changes,
// rotate()'s float32 result rounded once, to nearest even. (To bf16 on "AVX3_BF16", v included: a
// number that is subnormal in float32 becomes 0.) With k_norm everything between the elements
// of k and those of the cache is float32, rounded once on store
// (rotate_normalized_error_bound, normalize_rotated_error_bound in numeric_contract.hpp); a head
// has at most 2048 features then, f64 is refused, and so are 16-bit keys by rotations that round
// each product (Rounding::every_step, double_angle): normalize_heads() first, append without.
//
// The bits depend on neither layout nor split. Allocates nothing on success; starts no thread;
// options.executor as in RotateOptions. On an error nothing has been written. Errors:
// invalid_argument, with the requirement and what was got, also for rotations of role query;
// unsupported, as rotate().
[[nodiscard]] ROTARY_API Status append(const KvCache& cache, const KvHeads& heads,
                                       const Slots& slots, const Rotations& rotations,
                                       const AppendOptions& options = {}) noexcept;

// Stores k as it is: layers without positions, and caches whose keys are rotated when they are
// read. Re-rotating stored keys rounds each time; a cache whose positions or frequencies change
// often keeps them unrotated instead. A norm after the rotation is refused: it belongs where the
// keys are rotated.
[[nodiscard]] ROTARY_API Status append(const KvCache& cache, const KvHeads& heads,
                                       const Slots& slots,
                                       const AppendOptions& options = {}) noexcept;

}  // namespace rotary
