// SPDX-License-Identifier: Apache-2.0
// Writes the ids of groups, token by token. Requires checked groups and a checked convention.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "positions/checks.hpp"
#include "rotary/m_rope.hpp"

namespace rotary::positions {

// torch.linspace(0, canvas - 1, count).round() in float32, with its second half counted backwards.
[[nodiscard]] inline std::vector<std::int64_t> spread(std::int64_t count, std::int64_t canvas) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(count));
  if (count == 1) return places;
  const auto end = static_cast<float>(canvas - 1);
  const float step = end / static_cast<float>(count - 1);
  for (std::int64_t i = 0; i < count; ++i) {
    const float from_start = step * static_cast<float>(i);
    const float from_end = step * static_cast<float>(count - 1 - i);
    places[static_cast<std::size_t>(i)] = std::llrint(i < count / 2 ? from_start : end - from_end);
  }
  return places;
}

[[nodiscard]] inline PatchGrid merged(const PatchGrid& patches, std::int64_t merge) noexcept {
  return {
      .frames = patches.frames, .rows = patches.rows / merge, .columns = patches.columns / merge};
}

// If Number is double, every sum is rounded to float32.
template <class Number>
class MRopeIds {
 public:
  MRopeIds(const MRopeConvention& convention, std::int64_t tokens)
      : convention_(convention), ids_(empty_positions<Number>(convention.axes, tokens)) {}

  void add(const TextTokenRun& text) {
    for (std::int64_t i = 0; i < text.tokens; ++i) put_text(sum(next_, number(i)));
    next_ = sum(next_, number(text.tokens));
  }

  void add(const ImagePatches& image) {
    if (convention_.vision == VisionTokens::canvas) return add(SlicedImage{.thumbnail = image});
    const PatchGrid grid{.frames = 1, .rows = image.rows, .columns = image.columns};
    if (has_start_times())
      return add_repeated_rows(
          grid, convention_.frame_times == FrameTimes::start_rate ? convention_.ids_per_second : 1);
    add_grid(grid, {Number{}});
  }

  void add(const VideoPatches& video) {
    const std::int64_t frames = video.frames / convention_.temporal_merge;
    if (convention_.frames == VideoFrames::own_groups) {
      for (std::int64_t frame = 0; frame < frames; ++frame) {
        if (frame > 0) add(TextTokenRun{video.text_between_frames});
        add(ImagePatches{video.rows, video.columns});
      }
      return;
    }
    const PatchGrid grid{.frames = frames, .rows = video.rows, .columns = video.columns};
    if (has_start_times()) return add_repeated_rows(grid, start_factor(video.seconds_per_frame));
    std::vector<Number> times(static_cast<std::size_t>(frames));
    for (std::size_t frame = 0; frame < times.size(); ++frame)
      times[frame] = time_of(frame, video.seconds_per_frame);
    if (video.audio_tokens == 0) return add_grid(grid, times);
    add_with_sound(grid, times, video.audio_tokens);
  }

  void add(const SlicedImage& image) {
    const std::int64_t merge = convention_.merge;
    const PatchGrid thumbnail{.rows = image.thumbnail.rows / merge,
                              .columns = image.thumbnail.columns / merge};
    const PatchGrid slice{.rows = image.slice.rows / merge, .columns = image.slice.columns / merge};
    const bool is_sliced = image.slices_down > 0;
    const std::int64_t rows = is_sliced ? image.slices_down * slice.rows : thumbnail.rows;
    const std::int64_t columns =
        is_sliced ? image.slices_across * slice.columns : thumbnail.columns;
    const std::int64_t outside = next_ > 0 ? -1 : 0;
    put_on_canvas(outside, outside);
    for (const std::int64_t row : spread(thumbnail.rows, rows))
      for (const std::int64_t column : spread(thumbnail.columns, columns))
        put_on_canvas(row, column);
    put_on_canvas(rows, columns);
    for (std::int64_t down = 0; down < image.slices_down; ++down) {
      for (std::int64_t across = 0; across < image.slices_across; ++across)
        add_slice(slice, down * slice.rows, across * slice.columns);
      if (down + 1 < image.slices_down) put_on_canvas((down + 1) * slice.rows - 1, columns);
    }
    for (std::int64_t i = 0; i < image.newlines_after; ++i) put_on_canvas(0, 0);
    next_ = sum(next_, number(std::max(rows, columns) + 1));
    ++image_;
  }

  void end_group() { group_ends_.push_back(token_); }

  [[nodiscard]] Number highest() const noexcept { return highest_; }

  [[nodiscard]] MRopePositions<Number> finished() && {
    Number delta = token_ == 0 ? Number{} : sum(sum(highest_, 1), -number(ids_.tokens));
    if (convention_.offset == DecodeOffset::not_negative) delta = std::max(delta, Number{});
    return {.positions = std::move(ids_), .group_ends = std::move(group_ends_), .delta = delta};
  }

 private:
  static Number number(std::int64_t value) { return static_cast<Number>(value); }

  // Adds in float32, because gcc 12 (-O2, -O3) drops the rounding when it vectorises double
  // -> float -> double.
  static Number sum(Number one, Number other) {
    if constexpr (std::is_same_v<Number, double>)
      return static_cast<float>(one) + static_cast<float>(other);
    return one + other;
  }

  [[nodiscard]] Number time_of(std::size_t frame, double seconds_given) const {
    const auto index = static_cast<float>(frame);
    const auto seconds = static_cast<float>(seconds_given);
    const auto rate = static_cast<float>(convention_.ids_per_second);
    switch (convention_.frame_times) {
      case FrameTimes::index:
        return static_cast<Number>(frame);
      case FrameTimes::whole_seconds:
        return number(static_cast<std::int64_t>(frame) * convention_.ids_per_second *
                      static_cast<std::int64_t>(seconds));
      case FrameTimes::rate_first:
        return static_cast<Number>(std::trunc(index * (rate * seconds)));
      case FrameTimes::seconds_first:
        return static_cast<Number>(std::trunc((index * seconds) * rate));
      case FrameTimes::not_truncated:
        return static_cast<Number>((index * seconds) * rate);
      case FrameTimes::start:
      case FrameTimes::start_seconds:
      case FrameTimes::start_rate:
        break;  // add_repeated_rows() handles these
    }
    return {};
  }

  [[nodiscard]] bool has_start_times() const noexcept {
    return convention_.frame_times >= FrameTimes::start;
  }

  [[nodiscard]] std::int64_t start_factor(double seconds) const {
    if (convention_.frame_times == FrameTimes::start) return 1;
    return convention_.ids_per_second * static_cast<std::int64_t>(static_cast<float>(seconds));
  }

  // Adds an image or a video whose frames all have the time start * factor. The caller refuses
  // times above 2^53.
  void add_repeated_rows(const PatchGrid& patches, std::int64_t factor) {
    const PatchGrid grid = merged(patches, convention_.merge);
    const bool is_far = factor > 0 && next_ > number(largest_position / factor);
    const Number time = is_far ? number(largest_position + 1) : next_ * number(factor);
    for (std::int64_t row = 0; row < grid.rows; ++row)
      for (std::int64_t frame = 0; frame < grid.frames; ++frame)
        for (std::int64_t column = 0; column < grid.columns; ++column)
          put({time, sum(next_, number(row)), sum(next_, number(column))}, number(image_));
    ++image_;
    next_ = sum(next_, number(std::max(grid.rows, grid.columns)));
  }

  void put(const std::array<Number, 3>& place, Number image) {
    for (std::int64_t axis = 0; axis < convention_.axes; ++axis) {
      Number id = 0;
      switch (convention_.counts[static_cast<std::size_t>(axis)]) {
        case IdAxis::time:
        case IdAxis::row:
        case IdAxis::column:
          id = place[static_cast<std::size_t>(convention_.counts[static_cast<std::size_t>(axis)])];
          break;
        case IdAxis::image:
          id = image;
          break;
        case IdAxis::token:
          id = number(token_);
          break;
        case IdAxis::unused:
          break;
      }
      ids_.numbers[static_cast<std::size_t>(axis * ids_.tokens + token_)] = id;
      highest_ = std::max(highest_, id);
      highest_of_part_ = std::max(highest_of_part_, id);
    }
    ++token_;
  }

  void put_text(Number id) { put({id, id, id}, id); }

  void put_on_canvas(std::int64_t row, std::int64_t column) {
    put({next_, sum(next_, number(row)), sum(next_, number(column))}, number(image_));
  }

  void add_slice(const PatchGrid& slice, std::int64_t first_row, std::int64_t first_column) {
    put_on_canvas(first_row, first_column);
    for (std::int64_t row = 0; row < slice.rows; ++row)
      for (std::int64_t column = 0; column < slice.columns; ++column)
        put_on_canvas(first_row + row, first_column + column);
    put_on_canvas(first_row + slice.rows - 1, first_column + slice.columns - 1);
  }

  void begin_part() { highest_of_part_ = 0; }

  void add_grid(const PatchGrid& patches, const std::vector<Number>& times) {
    const bool has_lines = convention_.vision == VisionTokens::lines;
    const PatchGrid grid = merged(patches, convention_.merge);
    const Number origin = has_lines ? Number{} : next_;
    const std::int64_t columns = grid.columns + (has_lines ? 1 : 0);
    begin_part();
    for (const Number time : times)
      for (std::int64_t row = 0; row < grid.rows; ++row)
        for (std::int64_t column = 0; column < columns; ++column)
          put({sum(next_, time), sum(origin, number(row)), sum(origin, number(column))},
              number(image_));
    ++image_;
    switch (convention_.next) {
      case NextPosition::past_grid:
        next_ = sum(next_, number(std::max(grid.rows, grid.columns)));
        break;
      case NextPosition::past_highest:
        next_ = sum(highest_of_part_, 1);
        break;
      case NextPosition::past_tokens:
        next_ = sum(next_, number(grid.frames * grid.rows * columns));
        break;
    }
  }

  // A video with sound.
  struct Sound {
    PatchGrid grid;
    const std::vector<Number>& times;
    std::int64_t audio_tokens;

    [[nodiscard]] std::int64_t per_frame() const noexcept { return grid.rows * grid.columns; }
    [[nodiscard]] std::int64_t video_tokens() const noexcept { return grid.frames * per_frame(); }
    [[nodiscard]] Number video_time(std::int64_t token) const {
      return times[static_cast<std::size_t>(token / per_frame())];
    }
  };

  void put_video(const Sound& of, std::int64_t token) {
    const std::int64_t in_frame = token % of.per_frame();
    put({sum(next_, of.video_time(token)), sum(next_, number(in_frame / of.grid.columns)),
         sum(next_, number(in_frame % of.grid.columns))},
        number(image_));
  }

  void put_audio(std::int64_t token) { put_text(sum(next_, number(token))); }

  void add_markers() {
    const Number second = convention_.sound == SoundOfVideo::by_chunk ? 0 : 1;
    put_text(next_);
    put_text(sum(next_, second));
    next_ = sum(next_, second + 1);
  }

  void add_with_sound(const PatchGrid& patches, const std::vector<Number>& times,
                      std::int64_t audio_tokens) {
    const Sound of{merged(patches, convention_.merge), times, audio_tokens};
    add_markers();
    if (convention_.sound == SoundOfVideo::by_chunk)
      add_chunks(of);
    else
      add_by_token(of);
    ++image_;
    next_ = sum(highest_of_part_, 1);
    add_markers();
  }

  // The index after each chunk's last token. A chunk whose time has no token gets the next token.
  template <class TimeOf>
  [[nodiscard]] std::vector<std::int64_t> chunk_ends(std::int64_t tokens,
                                                     TimeOf time_of_token) const {
    std::vector<std::int64_t> ends;
    std::int64_t limit = convention_.ids_per_chunk;
    for (std::int64_t token = 0; token < tokens; ++token) {
      if (time_of_token(token) < number(limit)) continue;
      ends.push_back(token);
      limit += convention_.ids_per_chunk;
    }
    ends.push_back(tokens);
    return ends;
  }

  void add_chunks(const Sound& of) {
    const auto video = chunk_ends(of.video_tokens(), [&](auto i) { return of.video_time(i); });
    const auto audio = chunk_ends(of.audio_tokens, [](std::int64_t i) { return number(i); });
    const auto add_chunk = [&](const auto& ends, std::size_t chunk, auto put_token) {
      if (chunk >= ends.size()) return;
      begin_part();
      for (std::int64_t i = chunk == 0 ? 0 : ends[chunk - 1]; i < ends[chunk]; ++i) put_token(i);
    };
    for (std::size_t chunk = 0; chunk < std::max(video.size(), audio.size()); ++chunk) {
      add_chunk(video, chunk, [&](std::int64_t i) { put_video(of, i); });
      add_chunk(audio, chunk, [&](std::int64_t i) { put_audio(i); });
    }
  }

  void add_by_token(const Sound& of) {
    std::int64_t video = 0;
    std::int64_t audio = 0;
    while (video < of.video_tokens() && audio < of.audio_tokens) {
      if (sum(next_, of.video_time(video)) <= sum(next_, number(audio)))
        put_video(of, video++);
      else
        put_audio(audio++);
    }
    begin_part();
    while (video < of.video_tokens()) put_video(of, video++);
    while (audio < of.audio_tokens) put_audio(audio++);
  }

  const MRopeConvention& convention_;
  AxisPositions<Number> ids_;
  std::vector<std::int64_t> group_ends_;
  Number next_ = 0;             // start of the next group
  std::int64_t token_ = 0;      // index of the next token
  std::int64_t image_ = 0;      // images and videos so far
  Number highest_ = 0;          // of all ids
  Number highest_of_part_ = 0;  // of ids since begin_part()
};

}  // namespace rotary::positions
