// SPDX-License-Identifier: Apache-2.0
// attend: out = softmax(cap(scale * q·k) + bias + mask) v, with every position encoding inside.
// Scores exist one tile at a time, so memory does not grow with the number of scores (Milakov and
// Gimelshein 2018, arXiv 1805.02867; Dao et al. 2022, arXiv 2205.14135).
//
//   const AttendOptions options{.scale = 1 / std::sqrt(128.0),
//                               .mask = {.order = AttentionOrder::causal}};
//   attend(out, q, k, v, options);
#ifndef ROTARY_ATTENTION_HPP
#define ROTARY_ATTENTION_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "rotary/executor.hpp"
#include "rotary/export.h"
#include "rotary/frequencies.hpp"
#include "rotary/query_temperature.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/result.hpp"
#include "rotary/rotations.hpp"
#include "rotary/shaw.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// Whether a query may see keys after its own position.
enum class AttentionOrder : std::int32_t { bidirectional = 1, causal = 2 };

// The keys that a query sees in its sequence. A query at position i sees a key at position j if
// i - left <= j <= i + right, or if the key is among the first `sinks` keys of the sequence. With
// AttentionOrder::causal, j <= i must hold, too.
struct AttentionMask {
  AttentionOrder order = {};  // must be given
  // >= 0. left = W - 1 is a sliding window of W tokens that includes the query (Mistral, Gemma,
  // Transformers' sliding_window).
  std::optional<std::int64_t> left = {};
  // A negative `right`: only keys at least -right positions before the query.
  std::optional<std::int64_t> right = {};
  std::int64_t sinks = 0;  // >= 0; StreamingLLM (arXiv 2309.17453)
};

// One byte for each query and key (bool of C++, NumPy and torch). 0 hides the key from the query.
struct BooleanMaskView {
  const void* data = nullptr;
  ScoresExtents extents = {};
  ScoresStrides strides = {};  // in bytes
};

// Queries and the keys that they may see: a document of a packed batch, a padded row without its
// padding, or new tokens and their cache. Query r is token first_query + r of batch row `batch` of
// q and out, at position query_position + r. Key c is token first_key + c of the same batch row of
// k and v, at position key_position + c.
struct AttentionSequence {
  std::int64_t batch = 0;
  std::int64_t first_query = 0;
  std::int64_t queries = 0;
  std::int64_t first_key = 0;
  std::int64_t keys = 0;
  std::int64_t query_position = 0;
  std::int64_t key_position = 0;
};

// The blocks of each sequence in a paged cache (vLLM's block table): key t of sequence s is in slot
// t % slots of block blocks[s * stride + t / slots], where slots is extents.tokens of the cache.
// Not owned.
struct BlockTable {
  const std::int32_t* blocks = nullptr;  // [sequences, blocks_of_sequence]
  std::int64_t sequences = 0;
  std::int64_t blocks_of_sequence = 0;
  std::int64_t stride = 0;  // elements from one sequence to the next
};

// A paged cache. k, v: [blocks, slots, heads, features]; features are adjacent and may differ in
// number.
struct PagedKeys {
  ConstHeadsView k;
  ConstHeadsView v;
  BlockTable table = {};
};

// Keys and values in 8 bits. With a table, extents are those of PagedKeys; else those of attend().
struct QuantizedKeys {
  ConstQuantizedHeadsView k;
  ConstQuantizedHeadsView v;
  std::optional<BlockTable> table = {};
};

// The position encodings that attend() applies, not owned. null: none, or applied before the call.
struct AttentionEncoding {
  // Rotations for q, and for keys that are stored unrotated: one row for each token of q, or of k.
  // Both must have the same window. Each may be given alone unless its pairing moves features. With
  // xPos their roles are query and key.
  const Rotations* q_rotations = nullptr;
  const Rotations* k_rotations = nullptr;
  const RelativeBias* bias = nullptr;  // with q's number of heads
  // The frequencies that cached keys were rotated with; required without k_rotations if q_rotations
  // are for some contexts only (Rotations::contexts(): dynamic NTK, LongRoPE). A cache filled under
  // other frequencies gives wrong scores. So attend() refuses keys whose last position is not below
  // contexts.last, and q_rotations of other contexts, windows or attention factors. shift()
  // (shift.hpp) converts such a cache; unrotated keys, with k_rotations, need no conversion.
  const Frequencies* cached_keys = nullptr;
  // Shaw's vectors (shaw.hpp). shaw_keys: a in q·(k + a), with the unrotated q; head_dim features.
  // shaw_values: a' in v + a'; as many features as v. shaw_keys with a bias are unsupported.
  const ShawTable* shaw_keys = nullptr;
  const ShawTable* shaw_values = nullptr;
};

// Options of attend().
struct AttendOptions {
  // Multiplies q·k. Must be given; magnitude from 2^-64 to 2^64. 1 / sqrt(head_dim) in most models,
  // 1 in T5, times ModelRotary::softmax_factor.
  double scale = 0;
  // Scores become softcap * tanh(score / softcap) before the bias and the masks (Gemma 2, arXiv
  // 2408.00118, section 2: attn_logit_softcapping). From 2^-64 to 2^64; empty: none.
  std::optional<double> softcap = {};
  AttentionMask mask;
  // A query sees a key only if additive_mask, boolean_mask, `mask` and `sequences` all allow it.
  // Row first_query + r and column first_key + c are for query r and key c of a sequence. Extents
  // are those of `weights`; an extent of 1 stands for all. Any strides work, 0 included.
  // additive_mask is f32, bf16 or f16 and is added to scores. -Inf hides the key; NaN and +Inf give
  // NaN. Finite numbers are clamped to a magnitude of 2^126 ln(2), so a query whose numbers are all
  // the lowest finite one gives its keys equal weights, as in Transformers.
  std::optional<ConstScoresView> additive_mask = {};
  std::optional<BooleanMaskView> boolean_mask = {};
  AttentionEncoding encoding = {};
  // Sorted by batch row, then by query; queries do not overlap. A query in no sequence sees no key.
  // Empty: each batch row is one sequence with keys at 0, 1, 2, … and its last query at the
  // position of its last key.
  std::span<const AttentionSequence> sequences = {};
  // Multiplies each query by query_factor(). Negative positions of queries need NoTemperature.
  QueryTemperature q_temperature = {};
  // Output [batch, heads, queries, 1], f32, for merge_attention(): ln Σ_j exp(score_j).
  std::optional<ScoresView> log_sum_exp = {};
  // Output [batch, heads, queries, keys], f32: the softmax, 0 for keys that a query does not see.
  // keys: k's tokens or, with pages, the slots of a sequence's blocks; key c of a sequence is
  // column first_key + c. Takes a second pass over the keys.
  std::optional<ScoresView> weights = {};
  // At least attend_bytes(...) bytes, aligned to 64, overlapping no view. The call then allocates
  // only tables of FIRE and Sandwich. Empty: the call allocates.
  std::span<std::byte> memory = {};
  Executor executor = {};
};

// Computes, over the keys j that query r sees and with Shaw's vectors a and a':
//     out[b][r][h] = Σ_j w_j (v[b][j][h / group] + a'(r, j)),
//     w = softmax over j of
//         cap(scale * factor(r) * q[b][r][h] · (k[b][j][h / group] + a(r, j))) + bias(h, r, j)
//         + additive_mask[b][h][r][j],
//     cap(x) = softcap * tanh(x / softcap), or x without a softcap.
// group = q's heads / k's heads, a whole number; factor is query_factor(). A query that sees no key
// gets zeros and a log_sum_exp of -Inf, as in ONNX's Attention and in torch's
// scaled_dot_product_attention since 2.5. The cap comes before the masks, as in Gemma 2 and ONNX.
//
// Extents: q [batch, queries, heads, head_dim], k [batch, keys, kv heads, head_dim], v [batch,
// keys, kv heads, v features], out [batch, queries, heads, v features]. Each view may be f32, bf16
// or f16; features are adjacent (a stride of 1). Arithmetic is float32, with one rounding to out's
// dtype; attend_error_bound (attention_contract.hpp) bounds the result. Outputs share no element
// with inputs, and the elements of an output are distinct.
//
// The bits of a query do not depend on executor, memory, strides or other queries' values. They may
// depend, within the bound, on the number of queries in its sequence and on whether `weights` is
// given. NaN and Inf reach only queries that see them. Calls options.executor.run at most once.
// Nothing is written on an error. Errors: invalid_argument, with the requirement and what was got;
// unsupported, as rotate(), and for f64; out_of_memory.
[[nodiscard]] ROTARY_API Status attend(HeadsView out, ConstHeadsView q, ConstHeadsView k,
                                       ConstHeadsView v, const AttendOptions& options) noexcept;

// attend() for keys in pages. options.sequences must have one entry for each sequence of the table;
// first_key counts keys within its pages. k_rotations are [sequences, keys of the pages].
[[nodiscard]] ROTARY_API Status attend(HeadsView out, ConstHeadsView q, const PagedKeys& keys,
                                       const AttendOptions& options) noexcept;

// attend() for keys and values in 8 bits: k and v are scale * element. With many queries, k and
// v are rounded to float32. With few queries, the scales multiply scores and weights instead.
// attend_error_bound with AttendedRow::quantized bounds the result in both cases. An infinite or
// NaN scale gives NaN or Inf to queries that see its key.
[[nodiscard]] ROTARY_API Status attend(HeadsView out, ConstHeadsView q, const QuantizedKeys& keys,
                                       const AttendOptions& options) noexcept;

// The bytes of AttendOptions::memory that the call needs. They grow with head_dim, with the
// executor's concurrency and, with a bias or Shaw's vectors, with the longest sequence. Sequences
// of at most 16 queries also need memory for each 2048 keys. Errors: as attend().
[[nodiscard]] ROTARY_API Result<std::size_t> attend_bytes(ConstHeadsView q, ConstHeadsView k,
                                                          ConstHeadsView v,
                                                          const AttendOptions& options) noexcept;
[[nodiscard]] ROTARY_API Result<std::size_t> attend_bytes(ConstHeadsView q, const PagedKeys& keys,
                                                          const AttendOptions& options) noexcept;
[[nodiscard]] ROTARY_API Result<std::size_t> attend_bytes(ConstHeadsView q,
                                                          const QuantizedKeys& keys,
                                                          const AttendOptions& options) noexcept;

// Merging of two attentions of the same queries over disjoint keys: a shared prefix and its
// continuation, or parts of a context on several machines.
//
//   merge_attention({out, log_sum_exp}, {out_of_suffix, log_sum_exp_of_suffix});

// A result of attend(): out [batch, queries, heads, features], f32, bf16 or f16, features adjacent;
// log_sum_exp [batch, heads, queries, 1], f32.
struct AttentionPart {
  HeadsView out;
  ScoresView log_sum_exp;
};

// An AttentionPart that is only read.
struct ConstAttentionPart {
  ConstHeadsView out;
  ConstScoresView log_sum_exp;
};

// `into` becomes the attention over the keys of both parts, which must not overlap:
//     l = ln(e^a + e^b),  out = e^(a - l) out_into + e^(b - l) out_from
// with a and b the log_sum_exp of `into` and `from`. If `from` has no keys (-Inf), nothing changes;
// if `into` has none, `from` is copied; if neither has any, the result is 0 and -Inf. Before
// rounding to its dtype, out has an error of at most 2^-48 * max(|out_into|, |out_from|), and l of
// at most 2^-48. An error e of a - b changes out by at most e / 4 * |out_into - out_from|.
//
// The two outs may differ in dtype. The elements of `into` are distinct and not shared with `from`.
// Allocates nothing. Errors: invalid_argument, with the requirement and what was got; unsupported
// for f64. On an error nothing has been written.
[[nodiscard]] ROTARY_API Status merge_attention(const AttentionPart& into,
                                                const ConstAttentionPart& from) noexcept;

}  // namespace rotary

#endif  // ROTARY_ATTENTION_HPP
