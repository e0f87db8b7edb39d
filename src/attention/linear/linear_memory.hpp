// SPDX-License-Identifier: Apache-2.0
// Working memory of one part of linear_attend(): matrices for a chunk of tokens, and the sums
// unless the caller keeps them. Rows are padded so that kernels need no code for tails. The same
// code counts the bytes and lays them out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.hpp"
#include "runtime/arena.hpp"

namespace rotary {

// Most tokens of a chunk. Causal attention multiplies a chunk's queries and keys as matrices.
inline constexpr std::int64_t most_tokens_at_once = 64;

// Queries of a chunk whose weights are kept at a time.
inline constexpr std::int64_t queries_at_once = kernels::lane_multiple;

[[nodiscard]] constexpr std::int64_t padded(std::int64_t count) noexcept {
  return (count + kernels::lane_multiple - 1) / kernels::lane_multiple * kernels::lane_multiple;
}

enum class Turning { none, by_rotations };
enum class Sums { of_caller, own };

struct LinearSizes {
  std::int64_t tokens = 0;  // of a chunk, padded
  std::int64_t features = 0;
  std::int64_t v_features = 0;
  std::int64_t directions = 0;  // head_dim if features are projections, otherwise 0
  Turning turning = Turning::none;
  Sums sums = Sums::own;
  std::int64_t heads_at_once = 1;  // heads of k processed alternately, block by block

  [[nodiscard]] std::int64_t row() const noexcept { return padded(features); }
  [[nodiscard]] std::int64_t v_row() const noexcept { return padded(v_features); }
};

// If a head's tokens are far apart in memory, this many of them are processed before those of the
// next head. The next head then finds their pages and cache lines still cached.
inline constexpr std::int64_t tokens_of_block = 128;

// The sums of one head of k and its progress.
struct LinearSums {
  double* values;         // Σ R ϕ(k) vᵀ, [features][v_features]
  double* keys;           // Σ ϕ(k), [features]
  double exponent;        // the true sums are e^exponent times the stored ones
  bool has_keys;          // true if any key was added; otherwise exponent has no meaning
  std::int64_t next;      // first token not processed yet
  std::int64_t document;  // segment of the latest token that is not padding; -1: none
};

template <class Real>
struct LinearMemory {
  explicit LinearMemory(std::byte* memory, const LinearSizes& n) noexcept {
    Arena arena(memory);
    const std::int64_t turned = n.turning == Turning::none ? 0 : n.tokens;
    k = arena.take<Real>(n.tokens * n.row());
    q = arena.take<Real>(n.tokens * n.row());
    turned_k = turned == 0 ? k : arena.take<Real>(turned * n.row());
    turned_q = turned == 0 ? q : arena.take<Real>(turned * n.row());
    k_columns = arena.take<Real>(n.row() * n.tokens);
    keys = arena.take<Real>(n.tokens * n.row());
    v = arena.take<Real>(n.tokens * n.v_row());
    numerators = arena.take<Real>(n.tokens * n.v_row());
    weights = arena.take<Real>(queries_at_once * n.tokens);
    values = arena.take<Real>(n.row() * n.v_row());
    new_values = arena.take<Real>(n.row() * n.v_row());
    x = arena.take<Real>(n.directions == 0 ? 0 : n.tokens * padded(n.directions));
    directions = arena.take<Real>(n.directions * n.row());
    const bool own = n.sums == Sums::own;
    const std::int64_t own_heads = own ? n.heads_at_once : 0;
    sums_of_values = arena.take<double>(own_heads * n.features * n.v_features);
    sums_of_keys = arena.take<double>(own_heads * n.features);
    sums = arena.take<LinearSums>(n.heads_at_once);
    bytes = static_cast<std::int64_t>(arena.bytes());
  }

  Real* k;                 // ϕ(k), [tokens][row]
  Real* q;                 // φ(q), [tokens][row]
  Real* turned_k;          // R ϕ(k); k without rotations
  Real* turned_q;          // R φ(q); q without rotations
  Real* k_columns;         // turned_k, [row][tokens]
  Real* keys;              // Σ ϕ(k) up to each token, or of all keys in row 0, [tokens][row]
  Real* v;                 // [tokens][v_row]
  Real* numerators;        // [tokens][v_row]
  Real* weights;           // [queries_at_once][tokens]
  Real* values;            // LinearSums::values, rounded, [row][v_row]
  Real* new_values;        // of the chunk, [row][v_row]
  Real* x;                 // elements before a projection, [tokens][padded head_dim]
  Real* directions;        // sqrt(softmax_scale) * w, [head_dim][row]
  double* sums_of_values;  // [heads_at_once][features][v_features]
  double* sums_of_keys;    // [heads_at_once][features]
  LinearSums* sums;        // [heads_at_once]
  std::int64_t bytes;
};

}  // namespace rotary
