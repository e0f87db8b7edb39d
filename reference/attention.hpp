// SPDX-License-Identifier: Apache-2.0
// Readable attention in double: the score of every pair, softmax, then the values; and its
// gradients by the chain rule. It takes every encoding of the library, each by the reference's own
// code. docs/theory/attention.md derives it and names models that compute it this way.
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

// k and v have the same tokens and heads; q's heads are a multiple of theirs. Query head h reads
// head h / (q heads / k heads): GQA, or MQA with one. v may have another number of features.
struct AttentionInputs {
  Heads q;
  Heads k;
  Heads v;
};

// causal: no key is after the query.
enum class Order { bidirectional, causal };

// A query sees a key that passes all tests. "Before" and "after" compare positions, not indices.
struct Mask {
  Order order = Order::bidirectional;
  // The sliding window: how many positions before or after the query a key may be. 0: only the
  // query's position; absent: any. Transformers' sliding_window W is left = W - 1.
  std::optional<std::int64_t> left = {};
  std::optional<std::int64_t> right = {};
  // The first `sinks` keys of each document, not counting padding, are visible beyond the window
  // (StreamingLLM, arXiv 2309.17453), subject to the order.
  std::int64_t sinks = 0;
  std::vector<std::uint8_t> keys = {};  // [batch][keys], 0: padding, which no query sees; empty:
                                        // none
  // Packed sequences: a query sees keys of its own document. [batch][queries] and [batch][keys];
  // both empty: one document.
  std::vector<std::int64_t> query_documents = {};
  std::vector<std::int64_t> key_documents = {};
  // [batch][heads of q][queries][keys]. pairs: 0 is masked; empty: none is. numbers: added to the
  // score, -Inf masks; empty: all 0.
  std::vector<std::uint8_t> pairs = {};
  std::vector<double> numbers = {};
};

// Applies A R(position) to queries and keys, and with xpos the factor of their role.
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

// score_ij = cap(scale (A R(i) q_i · A R(j) k_j + q_i · a_ij)) + bias(head, i, j) + number_ij,
// masked with -Inf. CoPE then adds a bias computed from q_i and these scores. a comes from
// shaw_keys; q_i includes its factor. cap(x) = softcap tanh(x / softcap), or x without a softcap
// (Gemma 2, arXiv 2408.00118, section 2). out_i = Σ_j softmax_j(score_i) (v_j + a'_ij), with a'
// from shaw_values.
struct Attention {
  double scale = 1;  // 1 / sqrt(features of q) in most models, 1 in T5
  std::optional<double> softcap = {};
  Mask mask = {};
  AttentionEncoding encoding = {};
  // Positions differ by less than 2^63. Queries [batch][queries]; empty: those of the last keys.
  // Keys [batch][keys]; empty: 0, 1, 2, …
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

// Each gradient has its input's shape; empty for absent encodings.
struct AttentionGradients {
  Heads q;
  Heads k;
  Heads v;
  std::vector<double> bias;  // of the sum added to a score, [batch][heads][queries][keys]
  std::vector<double> shaw_keys;
  std::vector<double> shaw_values;
  std::vector<double> cope;
};

// d_out: the loss's gradient with respect to out. bias is always filled and includes CoPE's path.
[[nodiscard]] AttentionGradients attention_gradients(const AttentionInputs& inputs,
                                                     const Attention& attention,
                                                     const Heads& d_out);

}  // namespace rotary::reference
