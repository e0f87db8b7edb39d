// SPDX-License-Identifier: Apache-2.0
// Positions of tokens on several axes: time, row and column of image and video patches, as integers
// or real numbers. docs/theory/axes.md says which positions each model reads.
//
//   const auto grid = grid_positions({.rows = 4, .columns = 6});  // [3][24]: time, row, column
//   if (!grid) return fail(grid.error().message);
//   const TokenArray<std::int64_t> positions = grid->view();
#ifndef ROTARY_AXIS_POSITIONS_HPP
#define ROTARY_AXIS_POSITIONS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rotary/export.h"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"

namespace rotary {

// [axes][tokens], contiguous. Number: std::int64_t, or double for positions between integers.
template <class Number>
struct AxisPositions {
  std::int64_t axes = 0;
  std::int64_t tokens = 0;
  std::vector<Number> numbers = {};

  // Requires 0 <= axis < axes and 0 <= token < tokens.
  [[nodiscard]] Number at(std::int64_t axis, std::int64_t token) const noexcept {
    return numbers[static_cast<std::size_t>(axis * tokens + token)];
  }

  // A view of `numbers`.
  [[nodiscard]] TokenArray<Number> view() const& noexcept {
    return {.data = numbers.data(), .tokens = tokens, .axes = axes, .axis_stride = tokens};
  }
  void view() const&& = delete;

  friend bool operator==(const AxisPositions&, const AxisPositions&) = default;
};

// The most tokens of a call. A call that would make more fails before it allocates.
inline constexpr std::int64_t most_axis_tokens = std::int64_t{1} << 28;

// Patches of an image or a video. An image has 1 frame. Each extent is 1 or more.
struct PatchGrid {
  std::int64_t frames = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  friend bool operator==(const PatchGrid&, const PatchGrid&) = default;
};

// The errors of all functions below: invalid_argument, with the requirement and what was got;
// out_of_memory.

struct TextTokens {
  std::int64_t tokens = 0;  // >= 0
  std::int64_t first = 0;   // position of the first token; from -2^53 to 2^53
  std::int64_t axes = 3;    // 1 to 8
};

// Positions first, first + 1, … on every axis.
[[nodiscard]] ROTARY_API Result<AxisPositions<std::int64_t>> text_positions(
    const TextTokens& text) noexcept;

// Frame, row and column of each patch, from 0: [3][frames * rows * columns]. Patches come row by
// row or, with merge > 1, in blocks of merge x merge, which a tower merges into one token
// (get_vision_position_ids of vision_utils.py in huggingface/transformers). rows and columns must
// be multiples of merge. A tower with two axes uses axes 1 and 2.
[[nodiscard]] ROTARY_API Result<AxisPositions<std::int64_t>> grid_positions(
    const PatchGrid& grid, std::int64_t merge = 1) noexcept;

// grid_positions with merge 1 and the origin in the centre: n rows or columns are numbered from -(n
// - n/2) to n/2 - 1 (integer division). Frames count from first_frame (-2^53 to 2^53). Qwen-Image's
// scale_rope: QwenEmbedRope of transformer_qwenimage.py in huggingface/diffusers. Qwen-Image's text
// starts at max(rows / 2, columns / 2) of the largest image.
[[nodiscard]] ROTARY_API Result<AxisPositions<std::int64_t>> centred_grid_positions(
    const PatchGrid& grid, std::int64_t first_frame = 0) noexcept;

// The points at which an axis of real numbers is sampled.
enum class Sampling : std::int32_t {
  ends,     // torch.linspace(first, last, count): both ends included; count 1: first
  centres,  // the centres of count equal parts of first to last
};

// One axis of real numbers. first and last are finite, from -2^53 to 2^53.
struct AxisRegion {
  std::int64_t count = 0;  // >= 1
  double first = 0;
  double last = 0;
  Sampling sampling = Sampling::ends;
};

// All combinations of the regions' points: [axes][product of all counts], the last axis fastest. 1
// to 8 regions, one for each axis. The error of a number is at most 2^-51 * max(|first|, |last|) or
// 2^-1073, whichever is larger. CogVideoX 1.0: Sampling::ends with last = stop (n - 1) / n for n
// points up to stop (get_3d_rotary_pos_embed of embeddings.py in diffusers). DINOv3: centres from
// -2π to 2π (modeling_dinov3_vit.py in transformers).
[[nodiscard]] ROTARY_API Result<AxisPositions<double>> region_positions(
    std::span<const AxisRegion> regions) noexcept;

// [3][frames * rows * columns]: frames from 0, and the centres of patches. The centre of the
// picture is at 0. Neighbouring patches are sqrt(area / (rows * columns)) apart, so that every
// picture covers `area` (> 0, at most 2^53). Error: at most 2^-50 times the largest row or column.
// Mochi, area 192 * 192: MochiRoPE of transformer_mochi.py in diffusers.
[[nodiscard]] ROTARY_API Result<AxisPositions<double>> area_scaled_positions(const PatchGrid& grid,
                                                                             double area) noexcept;

// Windows of an image in the order in which a tower reads them.
struct WindowOrder {
  std::int64_t merge = 2;   // >= 1; divides the grid's rows and columns
  std::int64_t window = 0;  // side in merged tokens, >= 1: pixels / (merge * patch)
};

// The order in which a tower with windows reads patches: its patch j is patch order[j] of
// grid_positions(grid, merge). Frame by frame, window by window, row by row; windows at the lower
// and right border may be smaller. get_vision_window_index of vision_utils.py in
// huggingface/transformers (Qwen2.5-VL: window = 112 / (2 * 14)).
[[nodiscard]] ROTARY_API Result<std::vector<std::int64_t>> window_order(
    const PatchGrid& grid, const WindowOrder& order) noexcept;

}  // namespace rotary

#endif  // ROTARY_AXIS_POSITIONS_HPP
