// SPDX-License-Identifier: Apache-2.0
// Where one part of linear_attend() keeps what it works on: matrices of a chunk of tokens, their
// rows padded so that kernels need no tails, and the sums when the caller keeps none. The same code
// counts the bytes and lays them out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.hpp"

namespace rotary {

// Tokens gone through at once: the quadratic part of causal attention is a product of matrices of
// this size, small beside the sums of 64 features.
inline constexpr std::int64_t most_tokens_at_once = 64;

// Queries of a chunk whose weights are in memory at once.
inline constexpr std::int64_t queries_at_once = kernels::lane_multiple;

[[nodiscard]] constexpr std::int64_t padded(std::int64_t count) noexcept {
  return (count + kernels::lane_multiple - 1) / kernels::lane_multiple * kernels::lane_multiple;
}

// How features are turned in the numerator, and who keeps the sums.
enum class Turning { none, by_rotations };
enum class Sums { of_caller, own };

struct LinearSizes {
  std::int64_t tokens = 0;  // of a chunk: padded
  std::int64_t features = 0;
  std::int64_t v_features = 0;
  std::int64_t directions = 0;  // head_dim where features are projections, otherwise 0
  Turning turning = Turning::none;
  Sums sums = Sums::own;
  std::int64_t heads_at_once = 1;  // heads of k that take turns, block by block

  [[nodiscard]] std::int64_t row() const noexcept { return padded(features); }
  [[nodiscard]] std::int64_t v_row() const noexcept { return padded(v_features); }
};

// Where the tokens of a head lie apart, so many are gone through for one head after the other, so
// that pages and lines are still at hand when the next head comes.
inline constexpr std::int64_t tokens_of_block = 128;

// The sums of one head of k, and how far it has come.
struct LinearSums {
  double* values;         // Σ R ϕ(k) vᵀ, [features][v_features]
  double* keys;           // Σ ϕ(k), [features]
  double exponent;        // sums are e^exponent times what they hold, where
  bool has_keys;          // any key is in them
  std::int64_t next;      // the first token that has not been gone through
  std::int64_t document;  // the number of the latest token that is no padding; -1: none
};

// Takes stretches of 64-byte lines from memory, or counts them when there is none.
class Stretches {
 public:
  explicit Stretches(std::byte* memory) noexcept : memory_(memory) {}

  template <class Number>
  [[nodiscard]] Number* take(std::int64_t count) noexcept {
    auto* const stretch = memory_ == nullptr ? nullptr : memory_ + bytes_;
    bytes_ += (count * static_cast<std::int64_t>(sizeof(Number)) + 63) / 64 * 64;
    return reinterpret_cast<Number*>(stretch);
  }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* memory_;
  std::int64_t bytes_ = 0;
};

template <class Real>
struct LinearMemory {
  explicit LinearMemory(std::byte* memory, const LinearSizes& n) noexcept {
    Stretches stretches(memory);
    const std::int64_t turned = n.turning == Turning::none ? 0 : n.tokens;
    k = stretches.take<Real>(n.tokens * n.row());
    q = stretches.take<Real>(n.tokens * n.row());
    turned_k = turned == 0 ? k : stretches.take<Real>(turned * n.row());
    turned_q = turned == 0 ? q : stretches.take<Real>(turned * n.row());
    k_columns = stretches.take<Real>(n.row() * n.tokens);
    keys = stretches.take<Real>(n.tokens * n.row());
    v = stretches.take<Real>(n.tokens * n.v_row());
    numerators = stretches.take<Real>(n.tokens * n.v_row());
    weights = stretches.take<Real>(queries_at_once * n.tokens);
    values = stretches.take<Real>(n.row() * n.v_row());
    new_values = stretches.take<Real>(n.row() * n.v_row());
    x = stretches.take<Real>(n.directions == 0 ? 0 : n.tokens * padded(n.directions));
    directions = stretches.take<Real>(n.directions * n.row());
    const bool own = n.sums == Sums::own;
    const std::int64_t own_heads = own ? n.heads_at_once : 0;
    sums_of_values = stretches.take<double>(own_heads * n.features * n.v_features);
    sums_of_keys = stretches.take<double>(own_heads * n.features);
    sums = stretches.take<LinearSums>(n.heads_at_once);
    bytes = stretches.bytes();
  }

  Real* k;                 // ϕ(k), [tokens][row]
  Real* q;                 // φ(q), [tokens][row]
  Real* turned_k;          // R ϕ(k); without rotations k
  Real* turned_q;          // R φ(q); without rotations q
  Real* k_columns;         // turned_k, [row][tokens]
  Real* keys;              // Σ ϕ(k) up to each token, [tokens][row]
  Real* v;                 // [tokens][v_row]
  Real* numerators;        // [tokens][v_row]
  Real* weights;           // [queries_at_once][tokens]
  Real* values;            // Σ R ϕ(k) vᵀ before the chunk, [row][v_row]
  Real* new_values;        // of the chunk, [row][v_row]
  Real* x;                 // elements before a projection, [tokens][padded head_dim]
  Real* directions;        // sqrt(softmax_scale) w, [head_dim][row]
  double* sums_of_values;  // [heads_at_once][features][v_features]
  double* sums_of_keys;    // [heads_at_once][features]
  LinearSums* sums;        // [heads_at_once]
  std::int64_t bytes;
};

}  // namespace rotary
