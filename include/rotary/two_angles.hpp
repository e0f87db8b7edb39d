// SPDX-License-Identifier: Apache-2.0
// Two angles for a pair: what two published programs compute in place of a rotation. The features
// x, y of a pair become
//   x cos φ - y sin φ,  y cos χ + x sin χ,
// φ and χ being angles of the features, not of the pair. That is no rotation: norms change, scores
// are no functions of the distance, nothing turns the features back or on. It is here so that
// models trained with it can be run as their program runs them; rotate(), append(), attend() and
// shift() have one angle for a pair. docs/theory/axes.md.
//
//   const auto angles = *vjepa2_two_angles(64);
//   const auto grid = *grid_positions({.frames = 8, .rows = 16, .columns = 16});
//   const auto rows = *make_two_angle_rows(angles, grid.view());
//   apply_two_angles(q, q, rows);
#pragma once

#include <cstdint>
#include <vector>

#include "rotary/axes.hpp"
#include "rotary/export.h"
#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// An angle for each feature of a window, and which features are a pair.
struct TwoAngles {
  HeadWindow window;  // of the head; pairing half or interleaved, 1 block
  // [window.rotary_dim]: entry f is that of feature window.first_feature + f. Its own window is one
  // of so many pairs, so that rotate() refuses heads of these features.
  Frequencies of_features;
};

// inv_freq: radians per position of each feature of the window; axes: the axis of each (`of_pair`,
// [rotary_dim]), none for one axis, not dense. Errors: invalid_argument, with the requirement and
// what was got; out_of_memory.
[[nodiscard]] ROTARY_API Result<TwoAngles> make_two_angles(const HeadWindow& window,
                                                           std::vector<double> inv_freq,
                                                           PairAxes axes) noexcept;

// The text of HunYuan-VL in Transformers 5.23 (hunyuan_vl/modeling_hunyuan_vl.py): sections of
// pairs (xdrope_section) are doubled over the table of all features, so that features i and i + d/2
// follow different axes. Pairing half. sections: each >= 1, in sum head_dim / 2. base: where the
// config has a fixed alpha, rope_theta * alpha^(d / (d - 2)). vLLM and the authors give both
// features one axis: that is Axes in blocks.
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
