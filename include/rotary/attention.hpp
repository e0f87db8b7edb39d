// SPDX-License-Identifier: Apache-2.0
// attend: out = softmax(cap(scale * q·k) + bias + mask) v, with every position encoding inside.
// Scores exist one tile at a time, so a call needs memory for a few tiles only, for any number of
// tokens (Milakov and Gimelshein 2018, arXiv 1805.02867; Dao et al. 2022, arXiv 2205.14135).
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

// The keys of its sequence that a query sees. A query at position i sees a key at position j if i -
// left <= j <= i + right, or if the key is one of the first `sinks` of the sequence. With the
// causal order, j <= i is required as well.
struct AttentionMask {
  AttentionOrder order = {};  // must be set; attend() refuses a value that is no enumerator
  // >= 0. A sliding window of W tokens that counts the query itself (Mistral, Gemma, Transformers'
  // sliding_window) is left = W - 1.
  std::optional<std::int64_t> left = {};
  // Negative: only keys at least -right positions before the query.
  std::optional<std::int64_t> right = {};
  std::int64_t sinks = 0;  // attention sinks of StreamingLLM (arXiv 2309.17453); >= 0
};

// One byte for each pair of a query and a key (bool of C++, NumPy and torch). 0: the query does not
// see the key. Any other value: it may.
struct BooleanMaskView {
  const void* data = nullptr;
  ScoresExtents extents = {};
  ScoresStrides strides = {};  // in bytes
};

// Queries and the keys that they may see: a document of a packed batch, a padded row without its
// padding, or new tokens and a cache. Query r is token first_query + r of batch row `batch` of q
// and out, at position query_position + r. Key c is token first_key + c of the same batch row of k
// and v, at position key_position + c.
struct AttentionSequence {
  std::int64_t batch = 0;
  std::int64_t first_query = 0;
  std::int64_t queries = 0;
  std::int64_t first_key = 0;
  std::int64_t keys = 0;
  std::int64_t query_position = 0;
  std::int64_t key_position = 0;
};

// Maps sequences to the blocks of a paged cache (vLLM's block table; a block is a page of KvCache):
// key t of sequence s is in slot t % slots of block blocks[s * stride + t / slots], where slots is
// the extents.tokens of the cache. Not owned.
struct BlockTable {
  const std::int32_t* blocks = nullptr;  // [sequences, blocks_of_sequence]
  std::int64_t sequences = 0;
  std::int64_t blocks_of_sequence = 0;
  std::int64_t stride = 0;  // elements from one sequence's blocks to the next one's
};

// [blocks, slots, heads, features], features adjacent. v may have another number of features than
// k.
struct PagedKeys {
  ConstHeadsView k;
  ConstHeadsView v;
  BlockTable table = {};
};

// Keys and values in 8 bits. Extents are those of k and v of attend(), or with a table those of
// PagedKeys.
struct QuantizedKeys {
  ConstQuantizedHeadsView k;
  ConstQuantizedHeadsView v;
  std::optional<BlockTable> table = {};
};

// The position encodings that attend() applies. Empty: q and k are used as they are (without
// positions, or already rotated). Pointers are not owned.
struct AttentionEncoding {
  // Rotations for q, and for k if the keys are stored unrotated: one row for each token of q, or of
  // k. Each may be given alone. With xPos their roles are query and key.
  const Rotations* q_rotations = nullptr;
  const Rotations* k_rotations = nullptr;
  const RelativeBias* bias = nullptr;  // has q's heads; positions are those of the sequences
  // The frequencies that cached keys were rotated with. Required without k_rotations if q_rotations
  // hold for some contexts only (Rotations::contexts(): dynamic NTK, LongRoPE); otherwise optional.
  // A cache that was filled under other frequencies gives wrong scores that look right. So attend()
  // refuses keys whose last position is not below contexts.last, and q_rotations of other contexts,
  // windows or attention factors. shift() (shift.hpp) converts such a cache; a cache of unrotated
  // keys, used with k_rotations, never goes stale.
  const Frequencies* cached_keys = nullptr;
  // Shaw's vectors for each distance, shared by all heads. shaw_keys: a in q·(k + a), with the
  // unrotated q; head_dim features. shaw_values: a' in v + a'; as many features as v. shaw_keys
  // together with a bias are unsupported.
  const ShawTable* shaw_keys = nullptr;
  const ShawTable* shaw_values = nullptr;
};

// Options of attend().
struct AttendOptions {
  // Multiplies q·k. Must be given; its magnitude is from 2^-64 to 2^64. 1 / sqrt(head_dim) in most
  // models, 1 in T5, times the softmax_factor of the model's ModelRotary.
  double scale = 0;
  // Scores become softcap * tanh(score / softcap) before the bias and the masks (Gemma 2, arXiv
  // 2408.00118, section 2: attn_logit_softcapping); from 2^-64 to 2^64. Leave it empty for ONNX's
  // softcap of 0, which means none.
  std::optional<double> softcap = {};
  AttentionMask mask;
  // Masks of pairs: a query sees a key only if these, `mask` and `sequences` all allow it. Row
  // first_query + r and column first_key + c belong to query r and key c of a sequence. The extents
  // are those of the scores, [q's batch, q's heads, q's queries, keys]; an extent of 1 serves all.
  // `weights` says what the number of keys is. Any strides work, 0 included. Masks are read tile by
  // tile and never copied as a whole. Numbers (f32, bf16 or f16) are added to scores. -Inf hides
  // the key; NaN and +Inf give NaN. Finite numbers are clamped to a magnitude of 2^126 ln(2). So a
  // query whose numbers are all the lowest finite one gives its keys equal weights, as in
  // Transformers.
  std::optional<ConstScoresView> additive_mask = {};
  std::optional<BooleanMaskView> boolean_mask = {};
  AttentionEncoding encoding = {};
  // Sorted by batch row, then by query; their queries do not overlap. A query in no sequence sees
  // no key. Empty: each batch row is one sequence, whose keys are at 0, 1, 2, … and whose last
  // query is at the position of its last key.
  std::span<const AttentionSequence> sequences = {};
  // Multiplies each query by a factor of its position. Queries may have negative positions with
  // NoTemperature only.
  QueryTemperature q_temperature = {};
  // Output [batch, heads, queries, 1], f32: ln Σ_j exp(score_j), -Inf for a query that sees no key.
  // merge_attention() needs it.
  std::optional<ScoresView> log_sum_exp = {};
  // Output [batch, heads, queries, keys], f32: the softmax, 0 for keys that a query does not see.
  // The number of keys is k's number of tokens or, with pages, of slots in a sequence's blocks; key
  // c of a sequence is column first_key + c. Meant for few tokens: it takes a second pass over the
  // keys.
  std::optional<ScoresView> weights = {};
  // At least attend_bytes(...) bytes, aligned to 64, overlapping no view. The call then allocates
  // nothing, except for the tables of FIRE and Sandwich. Empty: the call allocates.
  std::span<std::byte> memory = {};
  Executor executor = {};
};

// The formula, with a and a' Shaw's vectors and the sum over the keys j that query r sees:
//     out[b][r][h] = Σ_j w_j (v[b][j][h / group] + a'(r, j)),
//     w = softmax over j of
//         cap(scale * factor(r) * q[b][r][h] · (k[b][j][h / group] + a(r, j))) + bias(h, r, j)
//         + additive_mask[b][h][r][j],
//     cap(x) = softcap * tanh(x / softcap), or x without a softcap.
// group = q's heads / k's heads, a whole number (grouped-query attention). A query that sees no key
// gets zeros, and -Inf for its log_sum_exp, as in ONNX's Attention and in torch's
// scaled_dot_product_attention since 2.5. The cap comes before the masks, as in Gemma 2 and in
// ONNX's Attention of onnx 1.23 (opsets 23 to 25). The first text of opset 23 added the mask before
// the cap, so that -Inf became -softcap.
//
// Extents: q [batch, queries, heads, head_dim], k [batch, keys, kv heads, head_dim], v [batch,
// keys, kv heads, v features], out [batch, queries, heads, v features]. Each view is f32, bf16 or
// f16 on its own, with adjacent features (a stride of 1). Arithmetic is float32, with one rounding
// to out's dtype; attend_error_bound (numeric_contract.hpp) bounds the result. Outputs share no
// element with inputs, and the elements of an output are distinct.
//
// The bits of a query do not depend on executor, memory, strides or other queries' values. The
// bits may depend, within the bound, on the number of queries in its sequence and on whether
// weights are asked for. Values that a query does not see never reach it, NaN and Inf included.
// Starts no thread; calls options.executor.run at most once. Nothing is written on an error.
// Errors: invalid_argument, with the requirement and what was got; unsupported, as rotate(), and
// for f64; out_of_memory.
[[nodiscard]] ROTARY_API Status attend(HeadsView out, ConstHeadsView q, ConstHeadsView k,
                                       ConstHeadsView v, const AttendOptions& options) noexcept;

// attend() for keys in pages. options.sequences must be given, one for each sequence of the table;
// first_key counts keys within that sequence's pages. Rows of k_rotations are [sequences, keys of
// the pages].
[[nodiscard]] ROTARY_API Status attend(HeadsView out, ConstHeadsView q, const PagedKeys& keys,
                                       const AttendOptions& options) noexcept;

// attend() for keys and values in 8 bits: k and v of the formula are scale * element. With many
// queries, the result has the bits of attend() on the float32 nearest to scale * element. With few
// queries, elements are read directly, and scores and weights are multiplied by the scales.
// AttendedRow::quantized bounds both ways. A scale that is not finite gives NaN or Inf to every
// query that sees its key.
[[nodiscard]] ROTARY_API Status attend(HeadsView out, ConstHeadsView q, const QuantizedKeys& keys,
                                       const AttendOptions& options) noexcept;

// Bytes of AttendOptions::memory for such a call. They grow with head_dim, with the executor's
// concurrency and, with a bias or Shaw's vectors, with the longest sequence. The keys of a sequence
// of at most 16 queries are cut into parts of 2048 keys, which threads share. Each part adds the
// state of the queries' heads (with shaw_values, also of the distances). Errors: as attend().
[[nodiscard]] ROTARY_API Result<std::size_t> attend_bytes(ConstHeadsView q, ConstHeadsView k,
                                                          ConstHeadsView v,
                                                          const AttendOptions& options) noexcept;
[[nodiscard]] ROTARY_API Result<std::size_t> attend_bytes(ConstHeadsView q, const PagedKeys& keys,
                                                          const AttendOptions& options) noexcept;
[[nodiscard]] ROTARY_API Result<std::size_t> attend_bytes(ConstHeadsView q,
                                                          const QuantizedKeys& keys,
                                                          const AttendOptions& options) noexcept;

// Merges two attentions of the same queries over disjoint keys by their log-sum-exp: a shared
// prefix and its continuation, or parts of a context on several machines.
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
// with a and b the two log_sum_exp. A part without keys (-Inf) changes nothing. If `into` is such a
// part, `from` is copied; if both are, the result has zeros and -Inf. out is exact to
// 2^-48 * max(|out_into|, |out_from|), and l to 2^-48, before each is rounded once to its dtype. If
// a - b is off by e, out changes by at most e / 4 * |out_into - out_from|.
//
// The two outs may differ in dtype. The elements of `into` are distinct and shared with no other
// view. Allocates nothing. Errors: invalid_argument, with the requirement and what was got;
// unsupported for f64. On an error nothing has been written.
[[nodiscard]] ROTARY_API Status merge_attention(const AttentionPart& into,
                                                const ConstAttentionPart& from) noexcept;

}  // namespace rotary

#endif  // ROTARY_ATTENTION_HPP
