// SPDX-License-Identifier: Apache-2.0
// Linear attention: out_i = Σ_j φ(q_i)·ϕ(k_j) v_j / Σ_j φ(q_i)·ϕ(k_j). The sums over keys are
// computed once for all queries, so time is linear in the tokens, and a decode step costs the same
// at any length. Katharopoulos et al. 2020 (arXiv 2006.16236), Performer (arXiv 2009.14794),
// RoFormer's eq. 19. docs/theory/attention.md.
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

// Orthogonal random features, from which FAVOR+ estimates softmax attention. Choromanski et al.
// 2021 (arXiv 2009.14794), section 2.4.
//
//   const auto directions = make_random_features({.head_dim = 64, .features = 256});

struct RandomFeaturesSpec {
  std::int64_t head_dim = 0;  // in [1, 4096]
  std::int64_t features = 0;  // in [1, 65536]
  std::uint64_t seed = 0;
};

// [head_dim][features]: column r is the direction of feature r. The columns within each group of
// head_dim are orthogonal, and each column alone is distributed as N(0, I). A seed gives the same
// bits on every machine. Errors: invalid_argument; out_of_memory.
[[nodiscard]] ROTARY_API Result<std::vector<float>> make_random_features(
    const RandomFeaturesSpec& spec) noexcept;

// φ(x) = ϕ(x) = elu(x) + 1: x + 1 for x > 0, else e^x. Katharopoulos et al., eq. 7.
struct EluPlusOne {};

// φ(q) = softmax(q) over the features of a head, ϕ(k) = e^k for each element. Shen et al. 2021
// (arXiv 1812.01243), used by RoFormer.
struct SoftmaxExp {};

// FAVOR+: φ(x) = ϕ(x) = exp(w_r·y - |y|²/2) with y = sqrt(softmax_scale) x, one feature for each
// direction w_r. The expected φ(q)·ϕ(k) is exp(softmax_scale q·k), so this estimates softmax
// attention, with an error in proportion to 1/sqrt(features).
struct PositiveRandomFeatures {
  std::span<const float> directions;  // of make_random_features(); not owned
  double softmax_scale = 0;           // must be given, > 0: 1/sqrt(head_dim) in most models
};

using FeatureMap = std::variant<EluPlusOne, SoftmaxExp, PositiveRandomFeatures>;

// The keys that a query sees.
enum class LinearMask : std::int32_t {
  causal = 1,         // the state's keys, and keys up to its token; needs as many queries as keys
  bidirectional = 2,  // the state's keys, and all keys of the call
};

// [batch, tokens, heads, features]. k and v have the same batch, tokens and heads. q has k's
// head_dim and g times as many heads; head h of q reads head h / g of k and v.
struct LinearHeads {
  ConstHeadsView q;
  ConstHeadsView k;
  ConstHeadsView v;
};

// Rotations of φ(q) and ϕ(k) in the numerator only. Their head_dim is the number of features; their
// tokens are those of q and of k. For causal attention both may be one object.
struct NumeratorRotations {
  const Rotations& q;
  const Rotations& k;
};

// Packed documents and padding. Consecutive tokens with the same number are one document; sums
// restart when the number changes. A negative number is padding: its key is ignored, its row of out
// is 0, and it does not end a document.
using SegmentMap = TokenArray<std::int32_t>;

// The sums over earlier keys and values, in the caller's memory; contiguous. All zeros: no keys
// yet. A call starts from the state and adds its keys to it. With segments, the call's first token
// continues the state's document, and the new state is that of the call's last document.
struct LinearState {
  std::span<double> values;  // Σ R ϕ(k) vᵀ: [batch][k heads][features][v features]
  std::span<double> keys;    // Σ ϕ(k), not rotated: [batch][k heads][features]
  // [batch][k heads]: sum = e^exponent * stored number; 0 for EluPlusOne
  std::span<double> exponents;
};

// Options of linear_attend().
struct LinearAttentionOptions {
  LinearMask mask = {};  // must be given
  std::optional<NumeratorRotations> rotations = {};
  std::optional<SegmentMap> segments = {};  // q and k then have the same tokens
  // Added to the denominator, as in the authors' code; at least 0. With exponential features, it is
  // multiplied by the query's largest feature and the largest feature of the keys that it sees. A
  // denominator of 0 (no keys, epsilon 0) gives a row of zeros.
  double epsilon = 1e-6;
  std::optional<LinearState> state = {};
  // At least linear_attend_bytes() bytes, aligned to 64 bytes. Empty: the call allocates.
  std::span<std::byte> memory = {};
  Executor executor = {};
};

// out is [batch, q tokens, q heads, v features]. All four views have one dtype and adjacent
// features (a stride of 1). There are at most 65536 features, those of φ included, and at most 2^31
// keys. Memory does not grow with the tokens. Allocates nothing if options.memory is given.
//
// Arithmetic is float32 (double for f64); sums over keys are double; elements are rounded once, to
// nearest even, on store. linear_attention_error_bound (attention_contract.hpp) bounds the error,
// also between a decode step and the same row of one call for all tokens. The bound does not grow
// with the tokens, except for f64. For inputs up to 2^30 in size and up to 2^24 tokens there is no
// NaN; without rotations, there is an Inf only if rounding to f16 overflows. A token's NaN or Inf
// reaches only the queries that see it.
//
// With rotations (RoFormer's eq. 19) weights may be negative, do not sum to 1, and shrink as the
// context grows. To rotate q and k themselves, call rotate() first.
//
// The bits do not depend on the executor, the layout or the rest of the batch. out, state and
// memory share no byte with anything else. On an error neither out nor the state has been written.
// Errors: invalid_argument, with the requirement and what was got, also for rotations with a role
// or an attention_factor other than 1; unsupported, as rotate(); out_of_memory.
[[nodiscard]] ROTARY_API Status linear_attend(const HeadsView& out, const LinearHeads& heads,
                                              const FeatureMap& map,
                                              const LinearAttentionOptions& options) noexcept;

// Bytes of LinearAttentionOptions::memory for these arguments; options.memory is ignored. They grow
// with options.executor.concurrency up to the batch size times the heads of k.
[[nodiscard]] ROTARY_API Result<std::size_t> linear_attend_bytes(
    const LinearHeads& heads, const FeatureMap& map,
    const LinearAttentionOptions& options) noexcept;

}  // namespace rotary

#endif  // ROTARY_LINEAR_ATTENTION_HPP
