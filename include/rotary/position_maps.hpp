// SPDX-License-Identifier: Apache-2.0
// Position maps: rotary attention whose relative position is not a difference of two positions.
// Rotating q and k separately cannot produce it. docs/theory/attention.md compares them.
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

// Notation: Δ = i - j is the distance from the query at i back to the key at j, / rounds down, % is
// the remainder. Numbers of tokens are at most 2^40. validate() refuses the defaults of members
// that must be given.

// min(Δ, window). Su 2023, bojone/rerope, which also applies LognTemperature to q.
struct ReRope {
  std::int64_t window = -1;  // tokens, >= 0; 0: no positions at all

  friend bool operator==(const ReRope&, const ReRope&) = default;
};

// Δ within the window, window + (Δ - window) · 1/factor beyond it, not rounded. Source as for
// ReRope.
struct LeakyReRope {
  std::int64_t window = -1;  // tokens, >= 0
  std::int64_t factor = 0;   // 1 to 2^20; 1: as without a map

  friend bool operator==(const LeakyReRope&, const LeakyReRope&) = default;
};

// Δ if Δ < neighbors, else i / group - j / group + neighbors - neighbors / group. Jin et al. 2024,
// arXiv 2401.01325, with G for group and w_n for neighbors. datamllab/LongLM rounds neighbors /
// group down in a decode step but not in a prefill; here it is always rounded down.
struct SelfExtend {
  std::int64_t neighbors = -1;  // tokens, >= 0
  std::int64_t group = 0;       // tokens, >= 1; 1: as without a map

  friend bool operator==(const SelfExtend&, const SelfExtend&) = default;
};

// Dual chunk attention, An et al. 2024, arXiv 2402.17463. Positions are cut into strides of c =
// chunk - local positions. A query at i and a key at j then have the distance
//     Δ                                j in the stride of i, i / c = j / c;
//     min(i % c + c, chunk) - j % c    j in the stride before;
//     min(2 c - 1, chunk) - j % c      j farther back.
// Qwen2.5-1M's dual_chunk_attention_config: chunk_size and local_size. ChunkLlama: 3/4 and 1/16 of
// the trained context.
struct DualChunk {
  std::int64_t chunk = 0;   // tokens, > local
  std::int64_t local = -1;  // tokens, >= 0

  friend bool operator==(const DualChunk&, const DualChunk&) = default;
};

// Each pair turns by min(Δ |inv_freq|, max_angle) in its own direction: it stops at max_angle
// instead of completing the turn. If q = k, the score falls with Δ; for other q and k it need not
// (docs/theory/attention.md).
struct ClippedAngle {
  double max_angle = std::numbers::pi;  // radians; > 0 and <= π

  friend bool operator==(const ClippedAngle&, const ClippedAngle&) = default;
};

using PositionMap = std::variant<ReRope, LeakyReRope, SelfExtend, DualChunk, ClippedAngle>;

// Error: invalid_argument, with the requirement that the map breaks.
[[nodiscard]] ROTARY_API Status validate(const PositionMap& map) noexcept;

// The mapped distance from key to query for a pair of this frequency (radians per position): the
// pair turns by this number times inv_freq. Only ClippedAngle depends on inv_freq. Requires a valid
// map, positions from -2^60 to 2^60, and key <= query.
[[nodiscard]] ROTARY_API double relative_position(const PositionMap& map, std::int64_t query,
                                                  std::int64_t key, double inv_freq) noexcept;

// Arguments of attend_mapped().
struct MappedAttention {
  PositionMap map = {};
  // For q and k: numerics exact, no xpos, valid for every context. Not owned.
  const Frequencies* frequencies = nullptr;
  // The mask must be causal, with at most a window to the left. softcap, masks of pairs, encoding,
  // weights and memory must be empty. A key that several sequences read has the same position in
  // each.
  AttendOptions attend = {};
};

// Causal attend() for unrotated queries and keys: each key is scored at relative_position before
// the query. The call runs a few attentions over keys in different ranges of distance, each with
// its own rotations, and merges them by their log-sum-exp. ReRope, LeakyReRope and SelfExtend take
// two, DualChunk three. ClippedAngle takes one more than the number of pairs that reach max_angle
// within the distances of the call.
//
// Memory is linear in the tokens: the call stores the rows and result of one attention at a time,
// and the merged result. attend_mapped_error_bound (numeric_contract.hpp) bounds the result. The
// bits of a query do not depend on the executor, which is called several times. On an error nothing
// has been written. Errors: invalid_argument, with the requirement and what was got; unsupported,
// as attend(); out_of_memory.
[[nodiscard]] ROTARY_API Status attend_mapped(HeadsView out, ConstHeadsView q, ConstHeadsView k,
                                              ConstHeadsView v,
                                              const MappedAttention& options) noexcept;

// Two angles for a pair, as two published programs compute them instead of a rotation. The features
// x, y of a pair become
//   x cos φ - y sin φ,  y cos χ + x sin χ,
// where φ and χ are the angles of the two features. This is no rotation: norms change, scores do
// not depend on distance alone, and it cannot be inverted or shifted. Use it only to run models
// that were trained with it; rotate(), append(), attend() and shift() have one angle for each pair.
// docs/theory/axes.md.
//
//   const auto angles = *vjepa2_two_angles(64);
//   const auto grid = *grid_positions({.frames = 8, .rows = 16, .columns = 16});
//   const auto rows = *make_two_angle_rows(angles, grid.view());
//   apply_two_angles(q, q, rows);

// Frequencies for each feature of a window.
struct TwoAngles {
  HeadWindow window;  // of the head; pairing half or interleaved, 1 block
  // [window.rotary_dim]: entry f belongs to feature window.first_feature + f. The window of these
  // frequencies has one pair for each entry, so rotate() refuses them for heads of `window`.
  Frequencies of_features;
};

// inv_freq: radians per position of each feature of the window. axes: of_pair ([rotary_dim]) has
// the axis of each feature, and is empty for one axis. Errors: invalid_argument, with the
// requirement and what was got, also for dense axes; out_of_memory.
[[nodiscard]] ROTARY_API Result<TwoAngles> make_two_angles(const HeadWindow& window,
                                                           std::vector<double> inv_freq,
                                                           PairAxes axes) noexcept;

// The text model of HunYuan-VL in Transformers 5.23 (hunyuan_vl/modeling_hunyuan_vl.py). Its
// sections of pairs (xdrope_section) are repeated over the table of all features, so features i and
// i + d/2 follow different axes. Pairing half. sections: each >= 1, in sum head_dim / 2. base: with
// a fixed alpha in the config, rope_theta * alpha^(d / (d - 2)). vLLM and the authors give both
// features one axis, as Axes in blocks.
[[nodiscard]] ROTARY_API Result<TwoAngles> hunyuan_vl_two_angles(
    std::int64_t head_dim, double base, const std::vector<std::int64_t>& sections) noexcept;

// V-JEPA 2 (vjepa2/modeling_vjepa2.py, rotate_queries_or_keys): three parts of 2 ⌊⌊d/3⌋/2⌋ features
// for frame, row and column, base 10000, the rest unchanged. Frequencies are tiled, neighbours are
// pairs. head_dim >= 6.
[[nodiscard]] ROTARY_API Result<TwoAngles> vjepa2_two_angles(std::int64_t head_dim) noexcept;

// cos and sin of every feature.
struct TwoAngleRows {
  HeadWindow window;
  Rotations rows;  // in double; rows.cos<double>(batch, token) is [window.rotary_dim]
};

// Errors: those of make_rotations.
[[nodiscard]] ROTARY_API Result<TwoAngleRows> make_two_angle_rows(
    const TwoAngles& angles, const Positions& positions) noexcept;

// Features outside the window are copied. dst and src are the same view, or share no element.
// Arithmetic is double with one rounding to nearest even on store, whatever the dtype:
//   |error| <= 1/2 ulp(result) + (|x| + |y|) (2π |p| 2^-65 + 2^-49)
// Allocates nothing on success. On an error nothing has been written. Errors: invalid_argument for
// views that are not well-formed, do not fit the rows or overlap.
[[nodiscard]] ROTARY_API Status apply_two_angles(HeadsView dst, ConstHeadsView src,
                                                 const TwoAngleRows& rows) noexcept;

}  // namespace rotary

#endif  // ROTARY_POSITION_MAPS_HPP
