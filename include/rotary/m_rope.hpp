// SPDX-License-Identifier: Apache-2.0
// Positions of prompts with text, images and videos for M-RoPE: an id for each axis of each token,
// and the position at which decoding continues. docs/theory/axes.md compares the conventions.
//
//   const std::vector<TokenGroup> prompt = {TextTokenRun{5}, ImagePatches{4, 6}, TextTokenRun{3}};
//   const auto made = m_rope_positions(prompt, *m_rope_convention("qwen2.5-vl"));
//   // made->positions: [3][14]; the next token is at 14 + made->delta on every axis
#ifndef ROTARY_M_ROPE_HPP
#define ROTARY_M_ROPE_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "rotary/axis_positions.hpp"
#include "rotary/export.h"
#include "rotary/result.hpp"

namespace rotary {

// Text, and other tokens with equal ids on all axes: markers around images, sound without video.
struct TextTokenRun {
  std::int64_t tokens = 0;  // >= 0

  friend bool operator==(const TextTokenRun&, const TextTokenRun&) = default;
};

// Patches before merging (image_grid_thw); each extent is at least MRopeConvention::merge.
struct ImagePatches {
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  friend bool operator==(const ImagePatches&, const ImagePatches&) = default;
};

// frames counts frames of patches (video_grid_thw[0]), which may cover several frames of the file.
struct VideoPatches {
  std::int64_t frames = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  // Seconds from one frame of patches to the next (second_per_grid_ts); 0 to 2^16.
  double seconds_per_frame = 1;
  // Text tokens between two frames, such as timestamps; only with VideoFrames::own_groups. If their
  // number varies, pass each frame as a video of 1 frame.
  std::int64_t text_between_frames = 0;
  // Tokens of the video's own sound; only if MRopeConvention::sound is not none. A video with sound
  // also includes two markers before it and two after it.
  std::int64_t audio_tokens = 0;

  friend bool operator==(const VideoPatches&, const VideoPatches&) = default;
};

// An image as a thumbnail and slices at a higher resolution: `<image>` thumbnail `</image>`, then
// `<slice>` slice `</slice>` row by row, with a newline between rows. Includes all of these tokens
// and the newlines after them. Only for VisionTokens::canvas, which treats any other image or frame
// as a thumbnail without slices.
struct SlicedImage {
  ImagePatches thumbnail = {};
  std::int64_t slices_down = 0;  // both 0: no slices
  std::int64_t slices_across = 0;
  ImagePatches slice = {};
  std::int64_t newlines_after = 0;

  friend bool operator==(const SlicedImage&, const SlicedImage&) = default;
};

using TokenGroup = std::variant<TextTokenRun, ImagePatches, VideoPatches, SlicedImage>;

// The things that the ids of an axis count.
enum class IdAxis : std::int32_t {
  time,
  row,
  column,
  image,   // number of images before this one; text: as time
  token,   // number of tokens before this one
  unused,  // always 0
};

// Times of a video's frames, relative to the start p of the video. i: frame number, s:
// seconds_per_frame, r: ids_per_second. Products are float32, as torch computes them.
enum class FrameTimes : std::int32_t {
  index,          // i
  whole_seconds,  // i * (s truncated) * r
  rate_first,     // i * (r * s), truncated
  seconds_first,  // (i * s) * r, truncated
  not_truncated,  // (i * s) * r; all later ids are float32 numbers
  // Defects of Transformers 5.3 to 5.5; only with VisionTokens::grid, VideoFrames::one_group,
  // NextPosition::past_grid and no sound. All frames have one time, stated below as an absolute id.
  // Each row is repeated for all frames before the next row.
  start,          // p
  start_seconds,  // p * (s truncated) * r
  start_rate,     // as start_seconds; images have p * r; a prompt with both is refused
};

// How MRopePositions::delta is computed.
enum class DecodeOffset : std::int32_t {
  past_highest,  // 1 + highest id - number of tokens
  not_negative,  // as past_highest, but at least 0: a defect of Transformers 5.2
};

// The start of the next group after an image or a video that starts at p.
enum class NextPosition : std::int32_t {
  // p + max(rows, columns) / merge. Text after a long video then has lower ids than its frames.
  past_grid,
  past_highest,  // 1 + its highest id; with sound, 1 + the highest id of its last chunk
  past_tokens,   // p + number of its tokens
};

// The tokens of an image or a frame, and their ids.
enum class VisionTokens : std::int32_t {
  grid,   // one for each merged patch; ids from p on each axis
  lines,  // each row ends in one more token; ids of rows and columns from 0
  // Tokens as in SlicedImage, all with time p. The next group starts at p + 1 + the longer side.
  // Only with VideoFrames::none or own_groups.
  canvas,
};

// The order of a video's sound among its patches. Values other than none need VisionTokens::grid
// and VideoFrames::one_group.
enum class SoundOfVideo : std::int32_t {
  none,      // audio_tokens must be 0
  by_chunk,  // video and sound alternate in chunks of ids_per_chunk; two markers share an id
  by_token,  // in the order of ids, video first if equal; each marker has an id
};

// How the frames of a video are arranged in a prompt.
enum class VideoFrames : std::int32_t {
  none,  // a video is refused
  one_group,
  own_groups,  // each frame is an image
};

// How a model or an engine counts ids. To follow a config, copy a known convention
// (m_rope_convention) and change members.
struct MRopeConvention {
  std::string_view name = {};
  std::string_view source = {};  // the file that defines it, and its release
  std::int64_t axes = 3;         // 1 to 4
  std::array<IdAxis, 4> counts = {IdAxis::time, IdAxis::row, IdAxis::column, IdAxis::unused};
  // Patches of each side that become one token (spatial_merge_size): 1 to 2^16.
  std::int64_t merge = 2;
  std::int64_t temporal_merge = 1;  // frames that become one: 1 to 2^16
  FrameTimes frame_times = FrameTimes::index;
  // tokens_per_second, position_id_per_seconds: 1 to 2^16.
  std::int64_t ids_per_second = 1;
  NextPosition next = NextPosition::past_grid;
  VisionTokens vision = VisionTokens::grid;
  VideoFrames frames = VideoFrames::one_group;
  SoundOfVideo sound = SoundOfVideo::none;
  std::int64_t ids_per_chunk = 1;  // ids_per_second * seconds_per_chunk: 1 to 2^32
  DecodeOffset offset = DecodeOffset::past_highest;

  friend bool operator==(const MRopeConvention&, const MRopeConvention&) = default;
};

// All named conventions, those of one model next to each other.
[[nodiscard]] ROTARY_API std::span<const MRopeConvention> m_rope_conventions() noexcept;

// Finds a convention by its name, or by a model's name and a release of Transformers
// ("qwen2.5-vl-5.3"). Error: invalid_argument, with all names.
[[nodiscard]] ROTARY_API Result<MRopeConvention> m_rope_convention(std::string_view name) noexcept;

// The ids of a prompt, and where decoding continues.
template <class Number>
struct MRopePositions {
  AxisPositions<Number> positions = {};
  std::vector<std::int64_t> group_ends = {};  // index after the last token of each group
  // rope_deltas: token n of the sequence, decoded later, is at n + delta on every axis.
  Number delta = 0;

  friend bool operator==(const MRopePositions&, const MRopePositions&) = default;
};

// Number of tokens of the prompt. Errors: those of m_rope_positions(), except those about ids.
[[nodiscard]] ROTARY_API Result<std::int64_t> m_rope_token_count(
    std::span<const TokenGroup> groups, const MRopeConvention& convention) noexcept;

// Makes the ids of a prompt. Errors: unsupported for a group that the convention does not know;
// out_of_memory; invalid_argument, with the requirement and what was got, for members out of
// bounds, members of the convention that exclude one another, more than most_axis_tokens tokens,
// ids beyond 2^53, and FrameTimes::not_truncated.
[[nodiscard]] ROTARY_API Result<MRopePositions<std::int64_t>> m_rope_positions(
    std::span<const TokenGroup> groups, const MRopeConvention& convention) noexcept;

// m_rope_positions() in real numbers, for every convention. With FrameTimes::not_truncated, each
// sum is rounded to float32, as in the model.
[[nodiscard]] ROTARY_API Result<MRopePositions<double>> m_rope_coordinates(
    std::span<const TokenGroup> groups, const MRopeConvention& convention) noexcept;

}  // namespace rotary

#endif  // ROTARY_M_ROPE_HPP
