// SPDX-License-Identifier: Apache-2.0
// attend: out = softmax(cap(scale * q·k) + bias + mask) v, with every position encoding inside.
// Scores exist one tile at a time: beside its operands a call needs memory for a few tiles,
// whatever the number of tokens (Milakov and Gimelshein 2018, arXiv 1805.02867; Dao et al. 2022,
// arXiv 2205.14135).
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

// The keys that a query sees.
enum class AttentionOrder : std::int32_t { bidirectional = 1, causal = 2 };

// The keys of its sequence that a query sees. A query at position i sees a key at position j if i -
// left <= j <= i + right, or if the key is one of the first `sinks` of the sequence. With the
// causal order, j <= i is required as well.
struct AttentionMask {
  AttentionOrder order = {};  // no default: attend() refuses a value that is no enumerator
  // >= 0. A sliding window of W tokens that counts the query itself (Mistral, Gemma, Transformers'
  // sliding_window) is left = W - 1.
  std::optional<std::int64_t> left = {};
  // Negative: only keys at least -right positions before the query.
  std::optional<std::int64_t> right = {};
  std::int64_t sinks = 0;  // attention sinks of StreamingLLM (arXiv 2309.17453); >= 0
};

// Booleans for pairs of a query and a key, one byte each (bool of C++, NumPy and torch): 0: the
// query does not see the key; any other: it may.
struct BooleanMaskView {
  const void* data = nullptr;
  ScoresExtents extents = {};
  ScoresStrides strides = {};  // in bytes
};

// Queries and the keys that they may see: a document of a packed batch, a padded row without its
// padding, new tokens against a cache. Query r is token first_query + r of batch row `batch` of q
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

// [blocks, slots, heads, features], features adjacent; v may have another number of features than
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

// The position encodings that attend() applies. Empty: q and k are used as they are, without
// positions or rotated before. Pointers are not owned.
struct AttentionEncoding {
  // Rotations that attend() applies to q, and to k if the keys are stored unrotated: one row for
  // each token of q, or of k. Each may be given alone. With xPos they have role query, or key.
  const Rotations* q_rotations = nullptr;
  const Rotations* k_rotations = nullptr;
  const RelativeBias* bias = nullptr;  // for q's number of heads; at the positions of the sequences
  // The frequencies that rotated keys were rotated with. Required if q_rotations hold for some
  // contexts only (Rotations::contexts(): dynamic NTK, LongRoPE) and k_rotations are absent;
  // allowed with any rotated keys. A cache that was filled under other frequencies gives wrong
  // scores that look right, so attend() refuses keys whose last position is not below
  // contexts.last, and q_rotations of other contexts, windows or attention factors. shift()
  // (shift.hpp) converts such a cache to new frequencies; a cache of unrotated keys, used with
  // k_rotations, is never stale.
  const Frequencies* cached_keys = nullptr;
  // Shaw's vectors for the distance from query to key, shared by all heads. shaw_keys: a in q·(k +
  // a), with the unrotated q; head_dim features. shaw_values: a' in v + a', as many features as
  // v. shaw_keys together with a bias are unsupported.
  const ShawTable* shaw_keys = nullptr;
  const ShawTable* shaw_values = nullptr;
};

// How attend scores, masks and weighs.
struct AttendOptions {
  // Multiplies q·k; must be given, its magnitude from 2^-64 to 2^64. 1 / sqrt(head_dim) in most
  // models, 1 in T5; multiply it by the softmax_factor of the model's ModelRotary.
  double scale = 0;
  // Scores become softcap * tanh(score / softcap) before the bias and the masks (Gemma 2, arXiv
  // 2408.00118, section 2: attn_logit_softcapping); from 2^-64 to 2^64. ONNX's softcap of 0 is
  // none.
  std::optional<double> softcap = {};
  AttentionMask mask;
  // Masks of pairs, on top of `mask` and `sequences`: a query sees what all of them leave it. Row
  // first_query + r and column first_key + c are for query r and key c of a sequence. Each extent
  // is that of the scores, [q's batch, q's heads, q's queries, keys], or 1 for all of them; the
  // number of keys is as for weights. Strides are any, 0 too. Read tile by tile, never copied as a
  // whole. Numbers, f32, bf16 or f16, are added to scores: -Inf hides the key; the finite ones of a
  // magnitude above 2^126 ln(2) count as that, so that a query whose numbers are all the lowest
  // finite one sees its keys alike, as in Transformers; NaN gives NaN, +Inf as well.
  std::optional<ConstScoresView> additive_mask = {};
  std::optional<BooleanMaskView> boolean_mask = {};
  AttentionEncoding encoding = {};
  // Sorted by batch row, then by query; their queries do not overlap. A query in no sequence sees
  // no key. Empty: each batch row is one sequence, its keys at positions 0, 1, 2 ..., its last
  // query at the position of its last key.
  std::span<const AttentionSequence> sequences = {};
  // Multiplies each query by the factor of its position. Positions of queries may be negative with
  // NoTemperature only.
  QueryTemperature q_temperature = {};
  // [batch, heads, queries, 1], f32: ln Σ_j exp(score_j), -Inf for a query that sees no key.
  // merge_attention() needs it to merge attentions over different keys.
  std::optional<ScoresView> log_sum_exp = {};
  // [batch, heads, queries, keys], f32: the softmax itself, 0 for keys that a query does not see.
  // The number of keys is k's number of tokens or, with pages, the number of slots in a sequence's
  // blocks; key c of a sequence is column first_key + c. Meant for few tokens: it takes a second
  // pass over the keys.
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
// group = q's heads / k's heads, a whole number (1: multi-head, more: grouped-query attention; k's
// heads 1: multi-query). A query that sees no key, because of any mask, gets zeros, and -Inf for
// its log_sum_exp: as ONNX's Attention and torch's scaled_dot_product_attention since 2.5 (a
// softmax of -Inf alone is NaN elsewhere). The order of cap and masks is that of Gemma 2 and of
// ONNX's Attention as onnx 1.23 has it for opsets 23 to 25; its first text for 23 capped what the
// mask had been added to, which for masks of 0 and -Inf is the same but that -Inf became -softcap.
//
// Extents: q [batch, queries, heads, head_dim], k [batch, keys, kv heads, head_dim], v [batch,
// keys, kv heads, v features], out [batch, queries, heads, v features]. Each view is f32, bf16 or
// f16, independently of the others, with adjacent features (a stride of 1). Arithmetic is float32,
// with one rounding to out's dtype; attend_error_bound (numeric_contract.hpp) bounds the result.
// Outputs share no element with inputs, and the elements of an output are distinct.
//
// The bits of a query do not depend on executor, memory, strides or the other queries' values. They
// may depend, within the bound, on the number of queries in its sequence and on whether weights are
// asked for. Numbers that a query does not see never reach it, NaN and Inf included. Starts no
// thread; options.executor.run is called at most once. On an error nothing has been written.
// Errors: invalid_argument, with the requirement and what was got; unsupported, as rotate(), and
// for f64; out_of_memory.
[[nodiscard]] ROTARY_API Status attend(HeadsView out, ConstHeadsView q, ConstHeadsView k,
                                       ConstHeadsView v, const AttendOptions& options) noexcept;

// The same with keys in pages. options.sequences must be given, one for each sequence of the table;
// first_key counts the keys of that sequence's own pages. Rows of k_rotations are [sequences, keys
// of the pages].
[[nodiscard]] ROTARY_API Status attend(HeadsView out, ConstHeadsView q, const PagedKeys& keys,
                                       const AttendOptions& options) noexcept;

// The same with keys and values in 8 bits, k and v of the formula being scale * element; all
// options mean the same. Many queries get the bits of attend() over the float32 nearest to scale *
// element. Few, which read the elements as they lie, multiply scores and weights by the scales; for
// both, AttendedRow::quantized counts the roundings. A scale that is not finite makes NaN or Inf of
// what sees its key.
[[nodiscard]] ROTARY_API Status attend(HeadsView out, ConstHeadsView q, const QuantizedKeys& keys,
                                       const AttendOptions& options) noexcept;

// Bytes of AttendOptions::memory that such a call needs. They grow with head_dim, with the
// executor's concurrency and, with a bias or Shaw's vectors, with the longest sequence. Threads
// share the keys of a sequence of at most 16 queries in parts of 2048 keys; each part adds the
// state of those queries' heads (with shaw_values, of the distances too). Errors: as attend().
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

// The same, to read.
struct ConstAttentionPart {
  ConstHeadsView out;
  ConstScoresView log_sum_exp;
};

// `into` becomes the attention over the keys of both parts, which must be different keys:
//     l = ln(e^a + e^b),  out = e^(a - l) out_into + e^(b - l) out_from
// with a and b the two log_sum_exp. A part without keys (-Inf) changes nothing; if `into` is such a
// part, `from` is copied; two such parts stay zeros and -Inf. Given these inputs, out is exact to
// 2^-48 * max(|out_into|, |out_from|), and l to 2^-48, before each is rounded once to its dtype. If
// a and b are off by e together, that changes out by at most e / 4 * |out_into - out_from|, because
// the steepest slope of a weight is 1/4.
//
// The two outs may differ in dtype. The elements of `into` are distinct and shared with no other
// view. Allocates nothing. Errors: invalid_argument, with the requirement and what was got;
// unsupported for f64. On an error nothing has been written.
[[nodiscard]] ROTARY_API Status merge_attention(const AttentionPart& into,
                                                const ConstAttentionPart& from) noexcept;

}  // namespace rotary

#endif  // ROTARY_ATTENTION_HPP
