// SPDX-License-Identifier: Apache-2.0
#include "rotary/m_rope.hpp"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "base/guard.hpp"
#include "positions/checks.hpp"
#include "positions/m_rope_ids.hpp"

namespace rotary {
namespace {

using positions::check;
using positions::token_count;

constexpr std::int64_t most_rate = std::int64_t{1} << 16;

template <class Enum>
Status check_enumerator(std::string_view name, Enum value, Enum last) {
  const auto got = static_cast<std::int64_t>(value);
  return check({name, got, 0, static_cast<std::int64_t>(last)});
}

// Refuses combinations for which no source defines ids.
Status check_combination(const MRopeConvention& it) {
  if (it.vision == VisionTokens::canvas && it.frames == VideoFrames::one_group)
    return invalid_argument("frames must be none or own_groups on a canvas, got one_group");
  const bool has_start_times = it.frame_times >= FrameTimes::start;
  if (has_start_times && (it.vision != VisionTokens::grid || it.frames != VideoFrames::one_group ||
                          it.sound != SoundOfVideo::none || it.next != NextPosition::past_grid))
    return invalid_argument(
        "frame_times of one start must stand beside vision grid, frames "
        "one_group, next past_grid and no sound, got others");
  if (it.sound == SoundOfVideo::none) return {};
  if (it.vision != VisionTokens::grid)
    return invalid_argument("vision must be grid where videos have sound, got ",
                            it.vision == VisionTokens::lines ? "lines" : "canvas");
  if (it.frames != VideoFrames::one_group)
    return invalid_argument("frames must be one_group where videos have sound, got ",
                            it.frames == VideoFrames::none ? "none" : "own_groups");
  return {};
}

Status check_convention(const MRopeConvention& it) {
  for (const Status& status :
       {check({"axes", it.axes, 1, 4}), check({"merge", it.merge, 1, most_rate}),
        check({"temporal_merge", it.temporal_merge, 1, most_rate}),
        check({"ids_per_second", it.ids_per_second, 1, most_rate}),
        check({"ids_per_chunk", it.ids_per_chunk, 1, most_rate * most_rate}),
        check_enumerator("frame_times", it.frame_times, FrameTimes::start_rate),
        check_enumerator("next", it.next, NextPosition::past_tokens),
        check_enumerator("vision", it.vision, VisionTokens::canvas),
        check_enumerator("frames", it.frames, VideoFrames::own_groups),
        check_enumerator("sound", it.sound, SoundOfVideo::by_token),
        check_enumerator("offset", it.offset, DecodeOffset::not_negative)})
    if (!status) return status;
  for (const IdAxis counted : it.counts)
    if (auto status = check_enumerator("counts", counted, IdAxis::unused); !status) return status;
  return check_combination(it);
}

// Checks a group and counts its tokens.
class TokensOf {
 public:
  explicit TokensOf(const MRopeConvention& convention) : convention_(convention) {}

  Result<std::int64_t> operator()(const TextTokenRun& text) const {
    if (auto status = check({"tokens", text.tokens, 0, most_axis_tokens}); !status)
      return status.error();
    return text.tokens;
  }

  Result<std::int64_t> operator()(const ImagePatches& image) const {
    if (auto status = check_patches(image); !status) return status.error();
    const std::int64_t line_end = convention_.vision == VisionTokens::lines ? 1 : 0;
    const std::int64_t markers = convention_.vision == VisionTokens::canvas ? 2 : 0;
    auto tokens = token_count(
        std::array{image.rows / convention_.merge, image.columns / convention_.merge + line_end});
    if (tokens) *tokens += markers;
    return tokens;
  }

  Result<std::int64_t> operator()(const VideoPatches& video) const {
    if (auto status = check_video(video); !status) return status.error();
    const std::int64_t frames = video.frames / convention_.temporal_merge;
    const Result<std::int64_t> frame = (*this)(ImagePatches{video.rows, video.columns});
    if (!frame) return frame.error();
    auto tokens = token_count(std::array{frames, *frame + video.text_between_frames});
    if (tokens && video.audio_tokens > 0) *tokens += video.audio_tokens + 4;
    if (tokens) *tokens -= video.text_between_frames;
    return tokens;
  }

  Result<std::int64_t> operator()(const SlicedImage& image) const {
    if (convention_.vision != VisionTokens::canvas)
      return unsupported("an image in slices needs a convention with a canvas, got ", name());
    auto tokens = (*this)(image.thumbnail);
    if (!tokens) return tokens;
    for (const auto& status :
         {check({"slices_down", image.slices_down, 0, most_rate}),
          check({"slices_across", image.slices_across, 0, most_rate}),
          check({"newlines_after", image.newlines_after, 0, most_axis_tokens})})
      if (!status) return status.error();
    *tokens += image.newlines_after;
    if (image.slices_down == 0 && image.slices_across == 0) return tokens;
    if (image.slices_down == 0 || image.slices_across == 0)
      return invalid_argument("slices_down and slices_across must both be 0 or neither, got ",
                              image.slices_down, " and ", image.slices_across);
    const Result<std::int64_t> slice = (*this)(image.slice);
    if (!slice) return slice.error();
    const auto slices = token_count(std::array{image.slices_down, image.slices_across, *slice});
    if (slices) *tokens += *slices + image.slices_down - 1;
    return slices ? tokens : slices;
  }

 private:
  [[nodiscard]] std::string name() const {
    return convention_.name.empty() ? "one without a name" : std::string(convention_.name);
  }

  [[nodiscard]] Status check_patches(const ImagePatches& patches) const {
    const std::int64_t most = most_axis_tokens;
    if (auto status = check({"rows", patches.rows, convention_.merge, most}); !status)
      return status;
    return check({"columns", patches.columns, convention_.merge, most});
  }

  [[nodiscard]] Status check_video(const VideoPatches& video) const {
    if (convention_.frames == VideoFrames::none)
      return unsupported(name(), " has text and images, got a video");
    if (video.audio_tokens != 0 && convention_.sound == SoundOfVideo::none)
      return unsupported(name(), " has no videos with sound, got audio_tokens ",
                         video.audio_tokens);
    if (video.text_between_frames != 0 && convention_.frames != VideoFrames::own_groups)
      return unsupported(name(), " has videos without text between frames, got ",
                         video.text_between_frames);
    if (!(video.seconds_per_frame >= 0 && video.seconds_per_frame <= 0x1p16))
      return invalid_argument("seconds_per_frame must be from 0 to 65536, got ",
                              video.seconds_per_frame);
    if (auto status =
            check({"text_between_frames", video.text_between_frames, 0, most_axis_tokens});
        !status)
      return status;
    if (auto status = check({"audio_tokens", video.audio_tokens, 0, most_axis_tokens}); !status)
      return status;
    return check({"frames", video.frames, convention_.temporal_merge, most_axis_tokens});
  }

  const MRopeConvention& convention_;
};

// Transformers 5.3 and 5.4 fail on images beside videos, because images use seconds of the videos.
Status check_mixture(std::span<const TokenGroup> groups, const MRopeConvention& convention) {
  const auto has = [&]<class Group>(std::type_identity<Group>) {
    return std::ranges::any_of(
        groups,
        std::holds_alternative<Group, TextTokenRun, ImagePatches, VideoPatches, SlicedImage>);
  };
  if (convention.frame_times != FrameTimes::start_rate ||
      !has(std::type_identity<ImagePatches>()) || !has(std::type_identity<VideoPatches>()))
    return {};
  return unsupported("a prompt of ", convention.name,
                     " must have images or videos: this release fails on both, got both");
}

Result<std::int64_t> count_tokens(std::span<const TokenGroup> groups,
                                  const MRopeConvention& convention) {
  if (auto status = check_convention(convention); !status) return status.error();
  if (auto status = check_mixture(groups, convention); !status) return status.error();
  std::int64_t tokens = 0;
  for (const TokenGroup& group : groups) {
    const Result<std::int64_t> more = std::visit(TokensOf(convention), group);
    if (!more) return more.error();
    tokens += *more;
    if (tokens > most_axis_tokens)
      return invalid_argument("tokens must be at most ", most_axis_tokens, ", got more");
  }
  return tokens;
}

template <class Number>
Result<MRopePositions<Number>> made_ids(std::span<const TokenGroup> groups,
                                        const MRopeConvention& convention, std::int64_t tokens) {
  positions::MRopeIds<Number> ids(convention, tokens);
  for (const TokenGroup& group : groups) {
    std::visit([&](const auto& each) { ids.add(each); }, group);
    ids.end_group();
    if (ids.highest() > static_cast<Number>(positions::largest_position))
      return invalid_argument("ids must be at most 2^53, got ", ids.highest());
  }
  return std::move(ids).finished();
}

}  // namespace

Result<std::int64_t> m_rope_token_count(std::span<const TokenGroup> groups,
                                        const MRopeConvention& convention) noexcept {
  return guarded([&] { return count_tokens(groups, convention); });
}

Result<MRopePositions<std::int64_t>> m_rope_positions(std::span<const TokenGroup> groups,
                                                      const MRopeConvention& convention) noexcept {
  return guarded([&]() -> Result<MRopePositions<std::int64_t>> {
    const Result<std::int64_t> tokens = count_tokens(groups, convention);
    if (!tokens) return tokens.error();
    if (convention.frame_times == FrameTimes::not_truncated)
      return invalid_argument("frame_times must not be not_truncated for integers, got ",
                              convention.name, "; m_rope_coordinates makes its real numbers");
    return made_ids<std::int64_t>(groups, convention, *tokens);
  });
}

Result<MRopePositions<double>> m_rope_coordinates(std::span<const TokenGroup> groups,
                                                  const MRopeConvention& convention) noexcept {
  return guarded([&]() -> Result<MRopePositions<double>> {
    const Result<std::int64_t> tokens = count_tokens(groups, convention);
    if (!tokens) return tokens.error();
    if (convention.frame_times == FrameTimes::not_truncated)
      return made_ids<double>(groups, convention, *tokens);
    auto made = made_ids<std::int64_t>(groups, convention, *tokens);
    if (!made) return made.error();
    const AxisPositions<std::int64_t>& ids = made->positions;
    return MRopePositions<double>{
        .positions = {.axes = ids.axes,
                      .tokens = ids.tokens,
                      .numbers = {ids.numbers.begin(), ids.numbers.end()}},
        .group_ends = std::move(made->group_ends),
        .delta = static_cast<double>(made->delta)};
  });
}

}  // namespace rotary
