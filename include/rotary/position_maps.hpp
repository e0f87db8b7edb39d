// SPDX-License-Identifier: Apache-2.0
// Position maps: rotary attention at mapped distances instead of differences of positions.
// Rotations of q and k alone cannot produce them. docs/theory/attention.md compares the maps.
//
//   const AttendOptions causal{.scale = 0.125, .mask = {.order = AttentionOrder::causal}};
//   attend_mapped(out, q, k, v, {ReRope{.window = 512}, &frequencies, causal});
#ifndef ROTARY_POSITION_MAPS_HPP
#define ROTARY_POSITION_MAPS_HPP

#include <cstdint>
#include <numbers>
#include <variant>
#include <vector>

#include "rotary/attention.hpp"
#include "rotary/axes.hpp"
#include "rotary/export.h"
#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// Notation: Δ = i - j for a query at i and a key at j, / rounds down, % is the remainder. Numbers
// of tokens are at most 2^40. A member must be given if validate() refuses its default.

// The distance min(Δ, window). Su 2023, bojone/rerope, which also applies LognTemperature to q.
struct ReRope {
  std::int64_t window = -1;  // tokens, >= 0; 0: no positions at all

  friend bool operator==(const ReRope&, const ReRope&) = default;
};

// Δ within the window, window + (Δ - window) / factor beyond it, unrounded. Source as for ReRope.
struct LeakyReRope {
  std::int64_t window = -1;  // tokens, >= 0
  std::int64_t factor = 0;   // 1 to 2^20; 1: as without a map

  friend bool operator==(const LeakyReRope&, const LeakyReRope&) = default;
};

// Δ if Δ < neighbors, else i / group - j / group + neighbors - neighbors / group. Jin et al. 2024,
// arXiv 2401.01325 (G is group, w_n is neighbors). Their code, datamllab/LongLM, does not round
// neighbors / group in a prefill; this library always rounds it down.
struct SelfExtend {
  std::int64_t neighbors = -1;  // tokens, >= 0
  std::int64_t group = 0;       // tokens, >= 1; 1: as without a map

  friend bool operator==(const SelfExtend&, const SelfExtend&) = default;
};

// Dual chunk attention, An et al. 2024, arXiv 2402.17463. Positions are cut into strides of c =
// chunk - local positions. The distance of a query at i and a key at j is then
//     Δ                                j in the stride of i, i / c = j / c;
//     min(i % c + c, chunk) - j % c    j in the stride before;
//     min(2 c - 1, chunk) - j % c      j farther back.
// Qwen2.5-1M: chunk is chunk_size, local is local_size of its dual_chunk_attention_config.
// ChunkLlama uses 3/4 and 1/16 of the trained context.
struct DualChunk {
  std::int64_t chunk = 0;   // tokens, > local
  std::int64_t local = -1;  // tokens, >= 0

  friend bool operator==(const DualChunk&, const DualChunk&) = default;
};

// Each pair turns by min(Δ |inv_freq|, max_angle), with the sign of its inv_freq. If q = k, the
// score falls with Δ; for other q and k it need not (docs/theory/attention.md).
struct ClippedAngle {
  double max_angle = std::numbers::pi;  // radians; > 0 and <= π

  friend bool operator==(const ClippedAngle&, const ClippedAngle&) = default;
};

using PositionMap = std::variant<ReRope, LeakyReRope, SelfExtend, DualChunk, ClippedAngle>;

// Error: invalid_argument, with the requirement that the map breaks.
[[nodiscard]] ROTARY_API Status validate(const PositionMap& map) noexcept;

// The mapped distance from key to query: a pair turns by this number times inv_freq (radians per
// position). Only ClippedAngle depends on inv_freq. Requires a valid map, positions from -2^60 to
// 2^60, and key <= query.
[[nodiscard]] ROTARY_API double relative_position(const PositionMap& map, std::int64_t query,
                                                  std::int64_t key, double inv_freq) noexcept;

// Arguments of attend_mapped().
struct MappedAttention {
  PositionMap map = {};
  // Must have numerics exact and no xpos, and be valid for every context. Not owned.
  const Frequencies* frequencies = nullptr;
  // The mask is causal and may have a `left`. softcap, additive_mask, boolean_mask, encoding,
  // weights and memory must be empty. A key of several sequences has the same position in each.
  AttendOptions attend = {};
};

// Causal attend() for unrotated queries and keys, which scores a query and a key at their
// relative_position(). The call runs one attention for each range of distances, with the range's
// rotations, and merges the results by log-sum-exp. ReRope, LeakyReRope and SelfExtend have two
// ranges, DualChunk has three. ClippedAngle has at most one more than the number of rotary pairs
// that reach max_angle within the call's distances.
//
// Memory is linear in the tokens. attend_mapped_error_bound (attention_contract.hpp) bounds the
// result. The bits of a query do not depend on the executor, which is called several times. On an
// error nothing has been written. Errors: invalid_argument, with the requirement and what was got;
// unsupported, as attend(); out_of_memory.
[[nodiscard]] ROTARY_API Status attend_mapped(HeadsView out, ConstHeadsView q, ConstHeadsView k,
                                              ConstHeadsView v,
                                              const MappedAttention& options) noexcept;

// Two angles for each pair: two published models compute this instead of a rotation. The features
// x, y of a pair become
//   x cos φ - y sin φ,  y cos χ + x sin χ,
// where φ and χ are the angles of the two features. Norms change, scores do not depend on distance
// alone, and no function here inverts or shifts the result. Use it only for models that were
// trained with it. docs/theory/axes.md.
//
//   const auto angles = *vjepa2_two_angles(64);
//   const auto grid = *grid_positions({.frames = 8, .rows = 16, .columns = 16});
//   const auto rows = *make_two_angle_rows(angles, grid.view());
//   apply_two_angles(q, q, rows);

// Frequencies for each feature of a window.
struct TwoAngles {
  HeadWindow window;  // pairing half or interleaved, blocks 1
  // [window.rotary_dim]: entry f is the frequency of feature window.first_feature + f.
  // of_features.window has a pair for each entry, so rotate() refuses heads of `window`.
  Frequencies of_features;
};

// inv_freq: radians per position of each feature of the window. axes.of_pair: the axis of each
// feature, [rotary_dim]; empty for one axis. Errors: invalid_argument, with the requirement and
// what was got, also for dense axes; out_of_memory.
[[nodiscard]] ROTARY_API Result<TwoAngles> make_two_angles(const HeadWindow& window,
                                                           std::vector<double> inv_freq,
                                                           PairAxes axes) noexcept;

// The text model of HunYuan-VL in Transformers 5.23 (hunyuan_vl/modeling_hunyuan_vl.py). It deals
// the sections (xdrope_section) to features instead of pairs, so features i and i + d/2 of a pair
// follow different axes. Pairing half. sections: each >= 1; their sum is head_dim / 2. base: if the
// config has a fixed alpha, rope_theta * alpha^(d / (d - 2)). In vLLM and the authors' code, both
// features follow one axis: Axes with arrangement blocks.
[[nodiscard]] ROTARY_API Result<TwoAngles> hunyuan_vl_two_angles(
    std::int64_t head_dim, double base, const std::vector<std::int64_t>& sections) noexcept;

// V-JEPA 2 (vjepa2/modeling_vjepa2.py, rotate_queries_or_keys): three parts of 2 ⌊⌊d/3⌋/2⌋ features
// for frame, row and column, base 10000; other features do not change. Adjacent features are a
// pair, but each part's frequencies are laid out as for pairing half. head_dim >= 6.
[[nodiscard]] ROTARY_API Result<TwoAngles> vjepa2_two_angles(std::int64_t head_dim) noexcept;

// cos and sin of the angle of every feature.
struct TwoAngleRows {
  HeadWindow window;
  Rotations rows;  // in double; rows.cos<double>(batch, token) is [window.rotary_dim]
};

// Errors: those of make_rotations.
[[nodiscard]] ROTARY_API Result<TwoAngleRows> make_two_angle_rows(
    const TwoAngles& angles, const Positions& positions) noexcept;

// Applies two angles to every head; copies features outside the window. dst and src are the same
// view, or share no element. Arithmetic is double with one rounding to nearest even on store,
// whatever the dtype:
//   |error| <= 1/2 ulp(result) + (|x| + |y|) (2π |p| 2^-65 + 2^-49)
// Allocates nothing on success. On an error nothing has been written. Errors: invalid_argument for
// views that are not well-formed, do not fit the rows or overlap.
[[nodiscard]] ROTARY_API Status apply_two_angles(HeadsView dst, ConstHeadsView src,
                                                 const TwoAngleRows& rows) noexcept;

}  // namespace rotary

#endif  // ROTARY_POSITION_MAPS_HPP
