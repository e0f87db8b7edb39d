// SPDX-License-Identifier: Apache-2.0
// Positions of prompts with text, images and videos for models with M-RoPE: one id for each axis of
// each token, and the position at which decoding continues. docs/theory/axes.md compares the
// conventions.
//
//   const std::vector<TokenGroup> prompt = {TextTokenRun{5}, ImagePatches{4, 6}, TextTokenRun{3}};
//   const auto made = m_rope_positions(prompt, *m_rope_convention("qwen2.5-vl"));
//   // made->positions: [3][14]; the next token stands at 14 + made->delta on every axis
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

// Text, and other tokens that have one id: markers around images, audio without video.
struct TextTokenRun {
  std::int64_t tokens = 0;  // >= 0

  friend bool operator==(const TextTokenRun&, const TextTokenRun&) = default;
};

// Rows and columns of patches before merging (image_grid_thw), each >= 1 and enough for one merged
// token.
struct ImagePatches {
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  friend bool operator==(const ImagePatches&, const ImagePatches&) = default;
};

// frames: of patches (video_grid_thw[0]); each may cover several frames of the file.
struct VideoPatches {
  std::int64_t frames = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  // From one frame of patches to the next (second_per_grid_ts); 0 to 2^16.
  double seconds_per_frame = 1;
  // Text tokens between two frames, such as timestamps; only with VideoFrames::own_groups. If their
  // number varies, pass each frame as a video of 1 frame.
  std::int64_t text_between_frames = 0;
  // Tokens of the video's own sound, interleaved with it; only if the convention's `sound` says
  // how. Two markers before and two after such a video belong to it.
  std::int64_t audio_tokens = 0;

  friend bool operator==(const VideoPatches&, const VideoPatches&) = default;
};

// An image as a thumbnail and slices of one size at a higher resolution, on one canvas: `<image>`
// thumbnail `</image>`, then `<slice>` slice `</slice>` row by row, with a newline between rows.
// All of these tokens belong to it, and so do the newlines after it. Only for conventions with a
// canvas, which treat other images and frames as thumbnails without slices.
struct SlicedImage {
  ImagePatches thumbnail = {};
  std::int64_t slices_down = 0;  // both 0: no slices
  std::int64_t slices_across = 0;
  ImagePatches slice = {};
  std::int64_t newlines_after = 0;

  friend bool operator==(const SlicedImage&, const SlicedImage&) = default;
};

using TokenGroup = std::variant<TextTokenRun, ImagePatches, VideoPatches, SlicedImage>;

// The unit in which an axis of the ids counts.
enum class IdAxis : std::int32_t {
  time,
  row,
  column,
  image,   // in text as time; in an image the number of images before it
  token,   // the number of tokens before it
  unused,  // 0
};

// Ids of a video's frames, relative to its start. i: frame number, s: seconds_per_frame, r:
// ids_per_second. Products are float32, as torch computes them.
enum class FrameTimes : std::int32_t {
  index,          // i
  whole_seconds,  // i * (s truncated) * r
  rate_first,     // i * (r * s), truncated
  seconds_first,  // (i * s) * r, truncated
  not_truncated,  // (i * s) * r; all ids after it are real numbers, float32
  // Defects of Transformers 5.3 to 5.5; only with VisionTokens::grid and VideoFrames::one_group.
  // All frames have one time, and each row is repeated for all frames before the next row. The time
  // of a video that starts at p:
  start,          // p
  start_seconds,  // p * (s truncated) * r
  start_rate,     // as start_seconds; images have p * r, and images beside videos are refused
};

// How MRopePositions::delta is computed.
enum class DecodeOffset : std::int32_t {
  past_highest,  // 1 + the highest id - the number of tokens
  not_negative,  // at least 0: a defect of Transformers 5.2
};

// Start of the group after an image or a video that started at p.
enum class NextPosition : std::int32_t {
  // p + max(rows, columns) / merge. Known defect: frames of a long video have higher ids than the
  // text after it.
  past_grid,
  past_highest,  // 1 + its highest id; with sound, that of the last chunk
  past_tokens,   // p + its tokens
};

// Which tokens an image or a video has.
enum class VisionTokens : std::int32_t {
  grid,   // one for each merged patch, from p on each axis
  lines,  // each row ends in one more token; rows and columns from 0
  // As for SlicedImage. All tokens have time p; the next group starts 1 beyond the end of the
  // longer side. Only with VideoFrames::none or own_groups.
  canvas,
};

// The order of a video's sound among its patches. Values other than none need VisionTokens::grid
// and VideoFrames::one_group.
enum class SoundOfVideo : std::int32_t {
  none,      // audio_tokens must be 0
  by_chunk,  // video and sound alternate in chunks of ids_per_chunk; the two markers share an id
  by_token,  // in the order of ids, video before sound with the same id; each marker has an id
};

// How the frames of a video are arranged in a prompt.
enum class VideoFrames : std::int32_t {
  none,  // a video is refused
  one_group,
  own_groups,  // each frame as if it were an image
};

// How a model or an engine counts. To follow a config, copy a known convention (m_rope_convention)
// and change members.
struct MRopeConvention {
  std::string_view name = {};
  std::string_view source = {};  // the file that defines it, and its release
  std::int64_t axes = 3;         // 1 to 4
  std::array<IdAxis, 4> counts = {IdAxis::time, IdAxis::row, IdAxis::column, IdAxis::unused};
  // Patches of each side that become one token (spatial_merge_size): 1 to 2^16.
  std::int64_t merge = 2;
  std::int64_t temporal_merge = 1;  // frames of a video that become one: 1 to 2^16
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

// All named conventions, those of one model next to each other. Constant.
[[nodiscard]] ROTARY_API std::span<const MRopeConvention> m_rope_conventions() noexcept;

// Finds a convention by its name, or by a model's name and a release of Transformers
// ("qwen2.5-vl-5.3"). Error: invalid_argument, with all names.
[[nodiscard]] ROTARY_API Result<MRopeConvention> m_rope_convention(std::string_view name) noexcept;

// The ids of a prompt, and where decoding goes on.
template <class Number>
struct MRopePositions {
  AxisPositions<Number> positions = {};
  std::vector<std::int64_t> group_ends = {};  // index after the last token of each group
  // rope_deltas: a token decoded later, number n of the sequence, is at n + delta on every axis.
  Number delta = 0;

  friend bool operator==(const MRopePositions&, const MRopePositions&) = default;
};

// Number of tokens of the prompt. Errors: those of m_rope_positions(), except those about ids.
[[nodiscard]] ROTARY_API Result<std::int64_t> m_rope_token_count(
    std::span<const TokenGroup> groups, const MRopeConvention& convention) noexcept;

// Errors: unsupported for a group that the convention does not know; out_of_memory;
// invalid_argument, with the requirement and what was got, for a member of the convention or of a
// group that is out of its bounds, for members of the convention that do not go together, for more
// than most_axis_tokens tokens, for ids beyond 2^53, and for frame times that are not truncated.
[[nodiscard]] ROTARY_API Result<MRopePositions<std::int64_t>> m_rope_positions(
    std::span<const TokenGroup> groups, const MRopeConvention& convention) noexcept;

// The ids of m_rope_positions() as real numbers, for every convention. If frame times are not
// truncated, each sum is rounded to float32, as in the model.
[[nodiscard]] ROTARY_API Result<MRopePositions<double>> m_rope_coordinates(
    std::span<const TokenGroup> groups, const MRopeConvention& convention) noexcept;

}  // namespace rotary

#endif  // ROTARY_M_ROPE_HPP
