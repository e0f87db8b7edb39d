// SPDX-License-Identifier: Apache-2.0
// attend: out = softmax(scale * q·k + bias) v, with every position encoding inside. Scores exist a
// tile at a time: beside its operands a call needs memory for a few tiles, whatever the number of
// tokens (Milakov and Gimelshein 2018, arXiv 1805.02867; Dao et al. 2022, arXiv 2205.14135).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rotary/executor.hpp"
#include "rotary/export.h"
#include "rotary/frequencies.hpp"
#include "rotary/query_temperature.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/result.hpp"
#include "rotary/rotations.hpp"
#include "rotary/scores_view.hpp"
#include "rotary/shaw.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

enum class AttentionOrder : std::int32_t { bidirectional = 1, causal = 2 };

// Which keys a query sees, of those in its sequence. A query at position i sees a key at j where
// i - left <= j <= i + right, or the key is one of the first `sinks` of its sequence; where the
// order is causal, only j <= i of these.
struct AttentionMask {
  AttentionOrder order = {};  // no default: none of the enumerators, which attend() refuses
  // >= 0. A sliding window of W tokens that counts the query itself (Mistral, Gemma, Transformers'
  // sliding_window) is left = W - 1.
  std::optional<std::int64_t> left = {};
  // Negative: only keys at least so far before the query.
  std::optional<std::int64_t> right = {};
  std::int64_t sinks = 0;  // attention sinks of StreamingLLM (arXiv 2309.17453); >= 0
};

// Queries and the keys that they may look at: a document of a packed batch, a padded row without
// its padding, new tokens against a cache. Query r is token first_query + r of batch row `batch` of
// q and out, and stands at query_position + r; key c is token first_key + c of the same batch row
// of k and v, and stands at key_position + c.
struct AttentionSequence {
  std::int64_t batch = 0;
  std::int64_t first_query = 0;
  std::int64_t queries = 0;
  std::int64_t first_key = 0;
  std::int64_t keys = 0;
  std::int64_t query_position = 0;
  std::int64_t key_position = 0;
};

// Where keys and values lie in a paged cache, blocks of slots as KvCache has them: key t of
// sequence s is in slot t % slots of block blocks[s * stride + t / slots], where slots is the
// extents.tokens of the cache (vLLM's block table). Not owned.
struct BlockTable {
  const std::int32_t* blocks = nullptr;  // [sequences, blocks_of_sequence]
  std::int64_t sequences = 0;
  std::int64_t blocks_of_sequence = 0;
  std::int64_t stride = 0;  // elements from one sequence's blocks to the next one's
};

// [blocks, slots, heads, features], features adjacent; v's may be others than k's.
struct PagedKeys {
  ConstHeadsView k;
  ConstHeadsView v;
  BlockTable table = {};
};

// What brings positions into the scores. None of them: q and k as they come, without positions or
// rotated before. Pointers are not owned.
struct AttentionEncoding {
  // Turns q and k on their way in: rows of the tokens of q, and of k, whose keys are stored
  // unrotated. Each may be given alone. Of role query, and key, where they have one (xPos).
  const Rotations* q_rotations = nullptr;
  const Rotations* k_rotations = nullptr;
  const RelativeBias* bias = nullptr;  // for as many heads as q has; at the mask's positions
  // What keys that come rotated were rotated by. Must be given where q_rotations hold for some
  // contexts alone (Rotations::contexts(): dynamic NTK, LongRoPE) and k_rotations are absent, and
  // may be given with any rotated keys: a cache that was filled under other frequencies gives
  // scores that are wrong and look right. attend() refuses keys whose last position is not below
  // contexts.last, and q_rotations of other contexts, windows or attention factors. shift()
  // (shift.hpp) takes such a cache to new frequencies; one of unrotated keys, with k_rotations, is
  // never stale.
  const Frequencies* cached_keys = nullptr;
  // Shaw's vectors of the distance from query to key, for all heads: a of q·(k + a), where q is as
  // it was before it was turned, of head_dim features; a' of v + a', of v's. Not with a bias, the
  // first: unsupported.
  const ShawTable* shaw_keys = nullptr;
  const ShawTable* shaw_values = nullptr;
};

struct AttendOptions {
  // Of q·k; must be given, of a size from 2^-64 to 2^64. 1 / sqrt(head_dim) in most models, 1 in
  // T5; where a ModelSpec has a softmax_factor, times that.
  double scale = 0;
  AttentionMask mask;
  AttentionEncoding encoding = {};
  // In the order of their batch rows and, in each, of their queries, which do not overlap. A query
  // in none of them sees no key. Empty: each batch row is one, its keys at positions 0, 1, 2 ...,
  // its last query where its last key is.
  std::span<const AttentionSequence> sequences = {};
  // Multiplies each query by the factor of its position; those of NoTemperature alone may be
  // negative.
  QueryTemperature q_temperature = {};
  // [batch, heads, queries, 1], f32: ln Σ_j exp(score_j), -Inf where no key is seen. What it takes
  // to merge two attentions over different keys.
  std::optional<ScoresView> log_sum_exp = {};
  // [batch, heads, queries, keys], f32: the softmax itself, 0 where a query does not see a key. As
  // many keys as k has tokens, of pages as many as a sequence's blocks have slots; key c of a
  // sequence is column first_key + c. For small numbers of tokens: the keys are gone through twice.
  std::optional<ScoresView> weights = {};
  // At least attend_bytes(...), aligned to 64, apart from every view. The call then allocates
  // nothing, but for what FIRE and Sandwich make of their numbers. Empty: allocated.
  std::span<std::byte> memory = {};
  Executor executor = {};
};

// out[b][r][h] = Σ_j w_j (v[b][j][h / group] + a'(r, j)), w = softmax over the keys j that query r
// sees of
//     scale * factor(r) * q[b][r][h] · (k[b][j][h / group] + a(r, j)) + bias(h, r, j),
// group = q's heads / k's heads, a whole number (1: multi-head, more: grouped-query attention; k's
// heads 1: multi-query). A query that sees no key gets zeros, and -Inf for its log_sum_exp.
//
// Extents: q and out [batch, queries, heads, head_dim or v's features], k and v [batch, keys, kv
// heads, head_dim or features]. Each view is f32, bf16 or f16, whatever the others are, features
// adjacent (a stride of 1). Computing is in float32, with one rounding to out's dtype;
// attend_error_bound (numeric_contract.hpp) bounds the result. What is written shares no element
// with what is read, its elements are distinct.
//
// The bits of a query do not depend on executor, memory, strides or the other queries' values; they
// may depend, within the bound, on how many queries its sequence has, and on whether weights are
// asked for. Numbers that a query does not see never reach it, NaN and Inf included. Starts no
// thread; options.executor.run is called at most once. On an error nothing has been written.
// Errors: invalid_argument, with the requirement and what was got; unsupported, as rotate(), and
// for f64; out_of_memory.
[[nodiscard]] ROTARY_API Status attend(HeadsView out, ConstHeadsView q, ConstHeadsView k,
                                       ConstHeadsView v, const AttendOptions& options) noexcept;

// The same with keys in pages. options.sequences must be given, one for each of the table's;
// first_key counts keys of its own pages. Rows of k_rotations are [sequences, keys of the pages].
[[nodiscard]] ROTARY_API Status attend(HeadsView out, ConstHeadsView q, const PagedKeys& keys,
                                       const AttendOptions& options) noexcept;

// Bytes of AttendOptions::memory that such a call needs: they grow with head_dim, the executor's
// concurrency and, with a bias or Shaw's vectors, the longest sequence; where a sequence has at
// most 16 queries, with their heads (and distances of shaw_values) once for every 2048 keys, which
// threads then share. Errors: as attend().
[[nodiscard]] ROTARY_API Result<std::size_t> attend_bytes(ConstHeadsView q, ConstHeadsView k,
                                                          ConstHeadsView v,
                                                          const AttendOptions& options) noexcept;
[[nodiscard]] ROTARY_API Result<std::size_t> attend_bytes(ConstHeadsView q, const PagedKeys& keys,
                                                          const AttendOptions& options) noexcept;

}  // namespace rotary
