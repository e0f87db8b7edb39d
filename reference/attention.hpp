// SPDX-License-Identifier: Apache-2.0
// Attention in double, written to be read: scores of all pairs, softmax, sums of values. Every
// encoding of the library is computed by the reference's own code.
// docs/theory/attention.md derives the formulas and names models that use them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rotary/relative_bias.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/shaw.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::reference {

// [batch][tokens][heads][features], contiguous.
struct Heads {
  Extents extents;
  std::vector<double> values;
};

// k and v have the same tokens and heads, and q has a multiple of their heads. Query head h reads
// head h / (q heads / k heads): GQA, or MQA if k has one head. v may have fewer or more features.
struct AttentionInputs {
  Heads q;
  Heads k;
  Heads v;
};

// causal: a query sees no later key.
enum class Order { bidirectional, causal };

// A query sees a key that every member allows. "Before" and "after" compare positions, not indices.
struct Mask {
  Order order = Order::bidirectional;
  // The sliding window: how many positions before or after the query a key may be. 0: only the
  // query's position; absent: any. Transformers' sliding_window W is left = W - 1.
  std::optional<std::int64_t> left = {};
  std::optional<std::int64_t> right = {};
  // The first `sinks` unpadded keys of each document are visible beyond the window (StreamingLLM,
  // arXiv 2309.17453), but not against the order.
  std::int64_t sinks = 0;
  std::vector<std::uint8_t> keys = {};  // [batch][keys]; 0 is padding; empty: no padding
  // Packed sequences: a query sees keys of its own document. [batch][queries] and [batch][keys];
  // both empty: one document.
  std::vector<std::int64_t> query_documents = {};
  std::vector<std::int64_t> key_documents = {};
  // [batch][heads of q][queries][keys]. pairs: 0 hides the key; empty: hides none. numbers: added
  // to the scores, and -Inf hides the key; empty: all 0.
  std::vector<std::uint8_t> pairs = {};
  std::vector<double> numbers = {};
};

// Multiplies queries and keys by A R(position), and with xpos by the factor of their role.
struct Rotary {
  HeadWindow window;             // of a head of q and k
  std::vector<double> inv_freq;  // [pairs], radians per position
  double attention_factor = 1;
  std::optional<Xpos> xpos = {};
};

// Learned vectors for distances.
struct ShawVectors {
  ShawWindow window;
  std::vector<double> table;  // [window.rows()][features of q, or of v], shared by all heads
};

// Encodings may be combined.
struct AttentionEncoding {
  std::optional<Rotary> rotary = {};
  std::optional<RelativeBias> bias = {};  // with q's number of heads
  std::optional<ShawVectors> shaw_keys = {};
  std::optional<ShawVectors> shaw_values = {};
  std::vector<double> cope = {};  // CoPE's table [positions][features of q]; empty: none
};

// score_ij = cap(scale (A R(i) q_i · A R(j) k_j + q_i · a_ij)) + bias(head, i, j) + number_ij, or
// -Inf for hidden keys. q_i includes its factor, and a is from shaw_keys. CoPE then adds a bias
// that depends on q_i and these scores. cap(x) = softcap tanh(x / softcap), or x without a softcap
// (Gemma 2, arXiv 2408.00118, section 2). out_i = Σ_j softmax_j(score_i) (v_j + a'_ij), with a'
// from shaw_values.
struct Attention {
  double scale = 1;  // 1 / sqrt(features of q) in most models, 1 in T5
  std::optional<double> softcap = {};
  Mask mask = {};
  AttentionEncoding encoding = {};
  // Positions must differ by less than 2^63. Queries are [batch][queries]; empty: the positions of
  // the last keys. Keys are [batch][keys]; empty: 0, 1, 2, …
  std::vector<std::int64_t> query_positions = {};
  std::vector<std::int64_t> key_positions = {};
  std::vector<double> query_factors = {};  // temperature, [batch][queries]; empty: all 1
};

// A query without keys has weights 0, out 0 and log_sum_exp -Inf.
struct AttentionResult {
  Heads out;                        // [batch][queries][heads of q][features of v]
  std::vector<double> log_sum_exp;  // ln Σ_j e^score, [batch][heads][queries]
  std::vector<double> weights;      // [batch][heads][queries][keys]
};

[[nodiscard]] AttentionResult attention(const AttentionInputs& inputs, const Attention& attention);

}  // namespace rotary::reference
