// SPDX-License-Identifier: Apache-2.0
// Position maps: rotary attention whose relative position is no difference of two positions, so
// that no rotation of q alone and of k alone makes it. docs/theory/position-maps.md compares them.
#pragma once

#include <cstdint>
#include <numbers>
#include <optional>
#include <span>
#include <variant>

#include "rotary/attention.hpp"
#include "rotary/executor.hpp"
#include "rotary/export.h"
#include "rotary/frequencies.hpp"
#include "rotary/query_temperature.hpp"
#include "rotary/result.hpp"
#include "rotary/scores_view.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// Below, Δ = i - j is how far the key at position j lies before the query at position i, / is
// divided and rounded down, % is what remains. Numbers of tokens are at most 2^40; those that a map
// cannot do without have a value that is refused until they are given.

// min(Δ, window). Su 2023, bojone/rerope, which also has LognTemperature on q.
struct ReRope {
  std::int64_t window = -1;  // tokens, >= 0; 0: no positions at all

  friend bool operator==(const ReRope&, const ReRope&) = default;
};

// Δ within the window, window + (Δ - window) · 1/factor beyond it; not rounded. Same source.
struct LeakyReRope {
  std::int64_t window = -1;  // tokens, >= 0
  std::int64_t factor = 0;   // 1 to 2^20; 1: as without a map

  friend bool operator==(const LeakyReRope&, const LeakyReRope&) = default;
};

// Δ where Δ < neighbors, else i / group - j / group + neighbors - neighbors / group. Jin et al.
// 2024, arXiv 2401.01325, where group is G and neighbors is the window w_n. datamllab/LongLM rounds
// neighbors / group down in a decode step but not in a prefill; here it is always rounded down.
struct SelfExtend {
  std::int64_t neighbors = -1;  // tokens, >= 0
  std::int64_t group = 0;       // tokens, >= 1; 1: as without a map

  friend bool operator==(const SelfExtend&, const SelfExtend&) = default;
};

// Dual chunk attention, An et al. 2024, arXiv 2402.17463. With c = chunk - local, the stride,
//     Δ                                     where j is in the stride of i, i / c = j / c;
//     min(i % c + c, chunk) - j % c         where it is in the one before;
//     min(2 c - 1, chunk) - j % c           where it is farther back.
// Qwen2.5-1M's dual_chunk_attention_config: chunk_size and local_size. ChunkLlama: 3/4 and 1/16 of
// the trained context.
struct DualChunk {
  std::int64_t chunk = 0;   // tokens, > local
  std::int64_t local = -1;  // tokens, >= 0

  friend bool operator==(const DualChunk&, const DualChunk&) = default;
};

// Each pair turns by min(Δ |inv_freq|, max_angle) in its own sense: it stays where it is farthest
// from the key, instead of coming round. That makes a score fall with Δ where q = k, but not in
// general (docs/theory/position-maps.md).
struct ClippedAngle {
  double max_angle = std::numbers::pi;  // radians; > 0 and <= π

  friend bool operator==(const ClippedAngle&, const ClippedAngle&) = default;
};

using PositionMap = std::variant<ReRope, LeakyReRope, SelfExtend, DualChunk, ClippedAngle>;

// The requirement that it breaks.
[[nodiscard]] ROTARY_API Status validate(const PositionMap& map) noexcept;

// How many positions before the query a pair of this frequency (radians per position) sees the
// key: the pair's angle between the two is this times inv_freq. Of ClippedAngle alone does it
// depend on inv_freq. Requires a valid map, positions from -2^60 to 2^60, and key <= query.
[[nodiscard]] ROTARY_API double relative_position(const PositionMap& map, std::int64_t query,
                                                  std::int64_t key, double inv_freq) noexcept;

struct MappedAttention {
  PositionMap map = {};
  // Of q and k, numerics exact, without xpos, the same for every context; not owned.
  const Frequencies* frequencies = nullptr;
  double scale = 0;                       // as in AttendOptions
  std::optional<std::int64_t> left = {};  // as in AttentionMask: a sliding window
  // As in AttendOptions. A key that several of them read stands at one position in all.
  std::span<const AttentionSequence> sequences = {};
  QueryTemperature q_temperature = {};
  std::optional<ScoresView> log_sum_exp = {};
  Executor executor = {};
};

// attend(), causal, of queries and keys that are not rotated, each pair (i, j) of which meets as if
// the key stood relative_position before the query. A map is a few attentions over keys in
// different ranges of distance, each with its own rotations; they are merged by their log-sum-exp.
// Two of ReRope, LeakyReRope and SelfExtend, three of DualChunk; of ClippedAngle one more than
// pairs reach max_angle within the distances of the call.
//
// Rows and results of one of them at a time are kept beside the merged result: memory grows with
// the tokens and not with their square. attend_mapped_error_bound (numeric_contract.hpp) bounds the
// result. The bits of a query do not depend on the executor, which is called several times. On an
// error nothing has been written. Errors: invalid_argument, with the requirement and what was got;
// unsupported, as attend(); out_of_memory.
[[nodiscard]] ROTARY_API Status attend_mapped(HeadsView out, ConstHeadsView q, ConstHeadsView k,
                                              ConstHeadsView v,
                                              const MappedAttention& options) noexcept;

}  // namespace rotary
