// SPDX-License-Identifier: Apache-2.0
// Linear attention: out_i = Σ_j φ(q_i)·ϕ(k_j) v_j / Σ_j φ(q_i)·ϕ(k_j). The sums over keys are
// computed once for all queries, so time is linear in the tokens and a decode step costs the same
// at any length. Katharopoulos et al. 2020 (arXiv 2006.16236), Performer (arXiv 2009.14794); with
// rotary embedding as in RoFormer's eq. 19. docs/theory/attention.md.
//
//   linear_attend(out, {.q = q, .k = k, .v = v}, EluPlusOne{}, {.mask = LinearMask::causal});
#ifndef ROTARY_LINEAR_ATTENTION_HPP
#define ROTARY_LINEAR_ATTENTION_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "rotary/executor.hpp"
#include "rotary/export.h"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// Orthogonal random features: the directions that FAVOR+ estimates softmax attention with.
// Choromanski et al. 2021 (arXiv 2009.14794), section 2.4.
//
//   const auto directions = make_random_features({.head_dim = 64, .features = 256});

struct RandomFeaturesSpec {
  std::int64_t head_dim = 0;  // in [1, 4096]
  std::int64_t features = 0;  // in [1, 65536]
  std::uint64_t seed = 0;
};

// [head_dim][features]: column r is the direction of feature r. Each group of head_dim columns is a
// random orthogonal basis; the last group may be part of one. The vectors have the lengths of
// independent normal vectors, so each vector alone is N(0, I). Computed from integers and double's
// +, -, *, / and square root alone, in a fixed order, and rounded to float32 at the end: a seed
// gives the same bits on every machine. Errors: invalid_argument; out_of_memory.
[[nodiscard]] ROTARY_API Result<std::vector<float>> make_random_features(
    const RandomFeaturesSpec& spec) noexcept;

// φ(x) = ϕ(x) = elu(x) + 1 for each element: x + 1 above 0, e^x elsewhere. head_dim features.
// Katharopoulos et al., eq. 7.
struct EluPlusOne {};

// φ(q) = softmax(q), ϕ(k) = e^k for each element: RoFormer takes this from Shen et al. 2021 (arXiv
// 1812.01243). head_dim features.
struct SoftmaxExp {};

// FAVOR+: φ(x) = ϕ(x) = exp(w_r·y - |y|²/2) with y = sqrt(softmax_scale) x, one feature for each
// direction w_r. The mean of φ(q)·ϕ(k) over random w is exp(softmax_scale q·k). So this estimates
// softmax attention, with an error that falls as 1/sqrt(features).
struct PositiveRandomFeatures {
  std::span<const float> directions;  // [head_dim][features], from make_random_features; not owned
  double softmax_scale = 0;           // must be given, > 0: 1/sqrt(head_dim) in most models
};

using FeatureMap = std::variant<EluPlusOne, SoftmaxExp, PositiveRandomFeatures>;

// The keys that a query sees.
enum class LinearMask : std::int32_t {
  causal = 1,         // keys of the state, and keys up to its own token; as many queries as keys
  bidirectional = 2,  // keys of the state and all keys of the call
};

// [batch, tokens, heads, features]. k and v have the same batch, tokens and heads; q has k's
// head_dim and a multiple of its heads: head h of q meets head h / (q heads / k heads).
struct LinearHeads {
  ConstHeadsView q;
  ConstHeadsView k;
  ConstHeadsView v;
};

// The rotations of φ(q) and ϕ(k), applied in the numerator only. A rotation's head_dim is the
// number of features; it has the tokens of q or of k. For causal attention both may be one object.
struct NumeratorRotations {
  const Rotations& q;
  const Rotations& k;
};

// Packed documents and padding. Consecutive tokens with the same number are one document; sums
// start from zero when the number changes. A negative number is padding, which does not end a
// document: its key is ignored and its row of out is 0.
using SegmentMap = TokenArray<std::int32_t>;

// The sums that later queries need from earlier keys and values, in the caller's memory;
// contiguous. All zeros: no keys yet. A call starts from the state and adds its own keys: a
// prefill, then one token at a time. With segments, the first token continues the state's document,
// and the new state is that of the last document.
struct LinearState {
  std::span<double> values;     // Σ R ϕ(k) vᵀ: [batch][k heads][features][v features]
  std::span<double> keys;       // Σ ϕ(k), not rotated: [batch][k heads][features]
  std::span<double> exponents;  // [batch][k heads]: sums are e^exponent times the stored numbers; 0
                                // for EluPlusOne
};

// Options of linear_attend().
struct LinearAttentionOptions {
  LinearMask mask = {};  // must be given
  std::optional<NumeratorRotations> rotations = {};
  std::optional<SegmentMap> segments = {};  // for q and k, which then have the same tokens
  // Added to the denominator, as in the authors' code; at least 0. With exponential features it is
  // relative to the query's largest feature times the largest of the keys that it sees. A
  // denominator of 0 (no keys, epsilon 0) gives a row of zeros.
  double epsilon = 1e-6;
  std::optional<LinearState> state = {};
  // At least linear_attend_bytes() bytes, aligned to 64 bytes. Empty: the call allocates.
  std::span<std::byte> memory = {};
  Executor executor = {};  // default: the calling thread does it all
};

// out is [batch, q tokens, q heads, v features]. All four views have one dtype and adjacent
// features (a stride of 1). There are at most 65536 features of each kind, and 2^31 keys. The
// memory needed does not depend on the tokens. Allocates nothing when options.memory is given.
//
// Arithmetic is float32 (double for f64), 64 tokens at a time; sums over keys are double. An
// element is rounded once, to nearest even, when it is stored. It is within
// linear_attention_error_bound units (numeric_contract.hpp) of the exact one. The bound does not
// grow with the tokens, except for f64. A decode step agrees, within the bound, with the same row
// of the whole computation. Elements of at most 2^30 (all of f16) over at most 2^24 tokens never
// give a NaN. Without rotations they give an Inf only by rounding to f16. A token's NaN or Inf
// affects only the queries that see it, in its batch row and head.
//
// With rotations, weights may be negative and do not sum to 1; they shrink as the context grows.
// That is RoFormer's eq. 19, not an error. To rotate q and k themselves, call rotate() first.
//
// The bits do not depend on the executor, on layout or on the rest of the batch. out, state and
// memory share no byte with anything else. On an error neither out nor the state has been written.
// Errors: invalid_argument, with the requirement and what was got, also for rotations with a role
// or an attention_factor other than 1; unsupported, as rotate(); out_of_memory.
[[nodiscard]] ROTARY_API Status linear_attend(const HeadsView& out, const LinearHeads& heads,
                                              const FeatureMap& map,
                                              const LinearAttentionOptions& options) noexcept;

// Bytes of LinearAttentionOptions::memory for these arguments. They grow with
// options.executor.concurrency, up to one part for each batch row and head of k. options.memory is
// ignored.
[[nodiscard]] ROTARY_API Result<std::size_t> linear_attend_bytes(
    const LinearHeads& heads, const FeatureMap& map,
    const LinearAttentionOptions& options) noexcept;

}  // namespace rotary

#endif  // ROTARY_LINEAR_ATTENTION_HPP
