// SPDX-License-Identifier: Apache-2.0
// Positions of prompts with text, images and videos, as models with M-RoPE count them: an id for
// each axis of each token, and where decoding goes on. docs/theory/axes.md compares the
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

// Text, and all else that has one id for each token: markers around images, audio alone.
struct TextTokenRun {
  std::int64_t tokens = 0;  // >= 0

  friend bool operator==(const TextTokenRun&, const TextTokenRun&) = default;
};

// Rows and columns are those of the patches before merging (image_grid_thw), 1 or more, and at
// least one token remains when they are merged.
struct ImagePatches {
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  friend bool operator==(const ImagePatches&, const ImagePatches&) = default;
};

// frames: of patches (video_grid_thw[0]), of which each may cover several frames of the file.
struct VideoPatches {
  std::int64_t frames = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  // From one frame of patches to the next (second_per_grid_ts); 0 to 2^16.
  double seconds_per_frame = 1;
  // Tokens of text between two frames, such as timestamps; for conventions whose frames are groups
  // of their own. Where their number varies, give each frame as a video of 1 frame.
  std::int64_t text_between_frames = 0;
  // Tokens of the video's own sound, interleaved with it; for conventions that say how. Two markers
  // before and two after such a video belong to it.
  std::int64_t audio_tokens = 0;

  friend bool operator==(const VideoPatches&, const VideoPatches&) = default;
};

// An image as a thumbnail and slices of one size at a higher resolution, on one canvas: `<image>`
// thumbnail `</image>`, then `<slice>` slice `</slice>` row by row, with a newline between rows.
// All of these tokens belong to it, and the newlines that follow it. For conventions with a canvas;
// other images and frames are thumbnails without slices there.
struct SlicedImage {
  ImagePatches thumbnail = {};
  std::int64_t slices_down = 0;  // both 0: no slices
  std::int64_t slices_across = 0;
  ImagePatches slice = {};
  std::int64_t newlines_after = 0;

  friend bool operator==(const SlicedImage&, const SlicedImage&) = default;
};

using TokenGroup = std::variant<TextTokenRun, ImagePatches, VideoPatches, SlicedImage>;

// Quantity that an axis of the ids counts.
enum class IdAxis : std::int32_t {
  time,
  row,
  column,
  image,   // in text as time; in an image how many images stand before it
  token,   // how many tokens stand before it
  unused,  // 0
};

// Ids of the frames of a video, before those where it starts. i is the number of the frame, s
// seconds_per_frame, r ids_per_second. Products in float32, as torch computes them.
enum class FrameTimes : std::int32_t {
  index,          // i
  whole_seconds,  // i * (s truncated) * r
  rate_first,     // i * (r * s), truncated
  seconds_first,  // (i * s) * r, truncated
  not_truncated,  // (i * s) * r; all ids after it are real numbers, float32
  // Defects of Transformers 5.3 to 5.5, with VisionTokens::grid and VideoFrames::one_group: every
  // frame has one time, and each row is repeated for all frames before the next. Where the video
  // starts at p, the time is
  start,          // p
  start_seconds,  // p * (s truncated) * r
  start_rate,     // the same; p * r in an image, and images beside videos fail
};

// MRopePositions::delta.
enum class DecodeOffset : std::int32_t {
  past_highest,  // 1 + the highest id - the number of tokens
  not_negative,  // at least 0: a defect of Transformers 5.2
};

// Where the next group starts after an image or a video that started at p.
enum class NextPosition : std::int32_t {
  // p + max(rows, columns) / merge. Known defect: the frames of a long video have higher ids than
  // the text after it, whose ids go backwards.
  past_grid,
  past_highest,  // 1 + the highest id of its last part: of all of it, but with sound the last chunk
  past_tokens,   // p + its tokens
};

// Which tokens an image or a video has.
enum class VisionTokens : std::int32_t {
  grid,   // one for each merged patch, from p on each axis
  lines,  // each row ends in one more token; rows and columns from 0
  // SlicedImage; time is p throughout, the next group starts past the longer side, + 1. With
  // VideoFrames::none or own_groups.
  canvas,
};

// Other than none: with VisionTokens::grid and VideoFrames::one_group.
enum class SoundOfVideo : std::int32_t {
  none,      // audio_tokens must be 0
  by_chunk,  // in turns of ids_per_chunk; the two markers share an id
  by_token,  // by rising time, video first; each marker has an id
};

// How frames of a video stand in a prompt.
enum class VideoFrames : std::int32_t {
  none,  // a video is refused
  one_group,
  own_groups,  // each frame as if it were an image
};

// How a model, or an engine, counts. A value: change a member where a config says another number.
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

// All that have a name, those of one model beside one another. Not changed while the program runs.
[[nodiscard]] ROTARY_API std::span<const MRopeConvention> m_rope_conventions() noexcept;

// A name, or a model's name with a release of Transformers, "qwen2.5-vl-5.3": how that release
// counts. Error: invalid_argument, with all names, or the releases of the model.
[[nodiscard]] ROTARY_API Result<MRopeConvention> m_rope_convention(std::string_view name) noexcept;

// The ids of a prompt, and where decoding goes on.
template <class Number>
struct MRopePositions {
  AxisPositions<Number> positions = {};
  std::vector<std::int64_t> group_ends = {};  // the token behind the last one of each group
  // rope_deltas: token n of the sequence, decoded after these, stands at n + delta on every axis.
  Number delta = 0;

  friend bool operator==(const MRopePositions&, const MRopePositions&) = default;
};

// How many tokens the prompt has. Errors: those of m_rope_positions() but for ids.
[[nodiscard]] ROTARY_API Result<std::int64_t> m_rope_token_count(
    std::span<const TokenGroup> groups, const MRopeConvention& convention) noexcept;

// Errors: invalid_argument, with the requirement and what was got: a member of the convention or of
// a group out of its bounds, members of the convention that do not go together, more than
// most_axis_tokens tokens, ids beyond 2^53, frame times that are not truncated; unsupported: a
// group that the convention does not know; out_of_memory.
[[nodiscard]] ROTARY_API Result<MRopePositions<std::int64_t>> m_rope_positions(
    std::span<const TokenGroup> groups, const MRopeConvention& convention) noexcept;

// The same as real numbers, which every convention has. Where frame times are not truncated each
// sum is rounded to float32, as the model has it.
[[nodiscard]] ROTARY_API Result<MRopePositions<double>> m_rope_coordinates(
    std::span<const TokenGroup> groups, const MRopeConvention& convention) noexcept;

}  // namespace rotary

#endif  // ROTARY_M_ROPE_HPP
