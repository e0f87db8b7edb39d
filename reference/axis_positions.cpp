// SPDX-License-Identifier: Apache-2.0
#include "reference/axis_positions.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace rotary::reference {
namespace {

std::int64_t frame_time(const MRopeConvention& convention, const VideoPatches& video,
                        std::int64_t frame) {
  const auto seconds = static_cast<float>(video.seconds_per_frame);
  const auto rate = static_cast<float>(convention.ids_per_second);
  const auto number = static_cast<float>(frame);
  const float interval = rate * seconds;
  const float elapsed = number * seconds;
  if (convention.frame_times == FrameTimes::index) return frame;
  if (convention.frame_times == FrameTimes::whole_seconds)
    return std::lround(std::floor(seconds)) * convention.ids_per_second * frame;
  if (convention.frame_times == FrameTimes::start) return 1;
  if (convention.frame_times >= FrameTimes::start_seconds)
    return std::lround(std::floor(seconds)) * convention.ids_per_second;
  if (convention.frame_times == FrameTimes::rate_first)
    return static_cast<std::int64_t>(std::floor(number * interval));
  return static_cast<std::int64_t>(std::floor(elapsed * rate));
}

using Token = std::map<IdAxis, std::int64_t>;  // the token's id on each kind of axis

struct Reading {
  const MRopeConvention& convention;
  std::vector<Token> tokens = {};
  std::int64_t position = 0;
  std::int64_t images = 0;

  [[nodiscard]] std::array<std::int64_t, 4> ids_of(const Token& token) const {
    std::array<std::int64_t, 4> ids = {};
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(convention.axes); ++axis)
      ids[axis] = token.at(convention.counts[axis]);
    return ids;
  }

  void read(const TextTokenRun& text) {
    for (std::int64_t i = 0; i < text.tokens; ++i, ++position)
      tokens.push_back({{IdAxis::time, position},
                        {IdAxis::row, position},
                        {IdAxis::column, position},
                        {IdAxis::image, position},
                        {IdAxis::token, std::ssize(tokens)},
                        {IdAxis::unused, 0}});
  }

  void read(const ImagePatches& image) {
    const bool takes_rate = convention.frame_times == FrameTimes::start_rate;
    read_frames({.frames = 1,
                 .rows = image.rows,
                 .columns = image.columns,
                 .seconds_per_frame = takes_rate ? 1.0 : std::nan("")},
                1);
  }

  void read(const VideoPatches& video) {
    const std::int64_t frames = video.frames / convention.temporal_merge;
    if (convention.frames == VideoFrames::one_group) return read_frames(video, frames);
    for (std::int64_t frame = 0; frame < frames; ++frame) {
      read(ImagePatches{video.rows, video.columns});
      if (frame + 1 < frames) read(TextTokenRun{video.text_between_frames});
    }
  }

  void read(const SlicedImage&) {}

  void read_frames(const VideoPatches& video, std::int64_t frames) {
    const std::int64_t rows = video.rows / convention.merge;
    const std::int64_t columns = video.columns / convention.merge;
    const bool lines = convention.vision == VisionTokens::lines;
    const std::int64_t width = lines ? columns + 1 : columns;
    const std::int64_t origin = lines ? 0 : position;
    std::int64_t highest = 0;
    for (std::int64_t i = 0; i < frames * rows * width; ++i) {
      const std::int64_t frame = i / (rows * width);
      const bool is_start = convention.frame_times >= FrameTimes::start;
      const bool is_timed = is_start ? video.seconds_per_frame >= 0 : frames > 1;
      const std::int64_t later = is_timed ? frame_time(convention, video, frame) : is_start;
      tokens.push_back(
          {{IdAxis::time, is_start ? position * later : position + later},
           {IdAxis::row, origin + (is_start ? i / (frames * width) : i / width % rows)},
           {IdAxis::column, origin + i % width},
           {IdAxis::image, images},
           {IdAxis::token, std::ssize(tokens)},
           {IdAxis::unused, 0}});
      for (const std::int64_t id : ids_of(tokens.back())) highest = std::max(highest, id);
    }
    ++images;
    if (convention.next == NextPosition::past_grid)
      position += std::max(video.rows, video.columns) / convention.merge;
    else if (convention.next == NextPosition::past_highest)
      position = highest + 1;
    else
      position += frames * rows * width;
  }
};

}  // namespace

std::vector<Place> grid(const PatchGrid& grid, std::int64_t merge) {
  std::vector<Place> places;
  for (std::int64_t frame = 0; frame < grid.frames; ++frame)
    for (std::int64_t row = 0; row < grid.rows; ++row)
      for (std::int64_t column = 0; column < grid.columns; ++column)
        places.push_back({static_cast<long double>(frame), static_cast<long double>(row),
                          static_cast<long double>(column)});
  const auto side = static_cast<long double>(merge);
  const auto block = [side](const Place& place) {
    return std::tuple(place[0], std::floor(place[1] / side), std::floor(place[2] / side));
  };
  std::ranges::stable_sort(places, {}, block);
  return places;
}

std::vector<Place> centred_grid(const PatchGrid& patches, std::int64_t first_frame) {
  std::vector<Place> places = grid(patches, 1);
  for (Place& place : places) {
    place[0] += static_cast<long double>(first_frame);
    place[1] -= std::ceil(static_cast<long double>(patches.rows) / 2);
    place[2] -= std::ceil(static_cast<long double>(patches.columns) / 2);
  }
  return places;
}

std::vector<Place> area_scaled(const PatchGrid& patches, double area) {
  const auto rows = static_cast<long double>(patches.rows);
  const auto columns = static_cast<long double>(patches.columns);
  const long double scale = std::sqrt(static_cast<long double>(area) / (rows * columns));
  std::vector<Place> places = grid(patches, 1);
  for (Place& place : places) {
    place[1] = (place[1] + 0.5L - rows / 2) * scale;
    place[2] = (place[2] + 0.5L - columns / 2) * scale;
  }
  return places;
}

long double sample(const AxisRegion& region, std::int64_t index) {
  const long double first = region.first;
  const long double width = static_cast<long double>(region.last) - first;
  const auto count = static_cast<long double>(region.count);
  const auto i = static_cast<long double>(index);
  if (region.sampling == Sampling::centres) return first + width * (i + 0.5L) / count;
  return region.count == 1 ? first : first + width * i / (count - 1);
}

std::vector<std::int64_t> window_order(const PatchGrid& patches, const WindowOrder& order) {
  const std::vector<Place> places = grid(patches, order.merge);
  const auto side = static_cast<long double>(order.merge * order.window);
  std::vector<std::int64_t> made(places.size());
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<std::int64_t>(i);
  std::ranges::stable_sort(made, {}, [&](std::int64_t patch) {
    const Place& place = places[static_cast<std::size_t>(patch)];
    return std::tuple(place[0], std::floor(place[1] / side), std::floor(place[2] / side));
  });
  return made;
}

std::vector<std::array<std::int64_t, 4>> m_rope(std::span<const TokenGroup> groups,
                                                const MRopeConvention& convention) {
  Reading reading{.convention = convention};
  for (const TokenGroup& group : groups)
    std::visit([&](const auto& each) { reading.read(each); }, group);
  std::vector<std::array<std::int64_t, 4>> ids;
  for (const Token& token : reading.tokens) ids.push_back(reading.ids_of(token));
  return ids;
}

}  // namespace rotary::reference
