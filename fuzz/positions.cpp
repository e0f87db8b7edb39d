// SPDX-License-Identifier: Apache-2.0
// Fuzzes grids, regions, windows and token ids of prompts, with small sizes and sizes beyond all
// memory. Small results must equal their definition. Large ones must be refused before memory is
// requested. Legal calls that would fill gigabytes are left out.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "fuzz/bytes.hpp"
#include "fuzz/check.hpp"
#include "fuzz/strided.hpp"
#include "fuzz/target.hpp"
#include "reference/axis_positions.hpp"
#include "rotary/axis_positions.hpp"
#include "rotary/m_rope.hpp"

namespace rotary::fuzz {
namespace {

constexpr std::int64_t few = 1024;      // most tokens that are compared one by one
constexpr std::int64_t many = 1 << 14;  // most tokens that are made; more than few are not compared
constexpr double far = 0x1p53;

std::int64_t size_from(Bytes& input) {
  return input.once_in(12) ? input.integer() : input.number(0, 13);
}

double real_from(Bytes& input) {
  switch (input.number(0, 5)) {
    case 0:
      return std::bit_cast<double>(input.bits());
    case 1:
      return far;
    default:
      return static_cast<double>(input.number(-60, 60)) / 8;
  }
}

// Tells if the call is legal and how many tokens it makes, possibly more than int64 holds.
struct Expected {
  bool legal = false;
  int128 tokens = 0;

  // Legal, but needs gigabytes.
  [[nodiscard]] bool is_left_out() const {
    return legal && tokens > many && tokens <= most_axis_tokens;
  }
  [[nodiscard]] bool is_accepted() const { return legal && tokens <= most_axis_tokens; }
};

// The product, or 2^62 if it is larger. Factors of a legal call are at most most_axis_tokens.
int128 product(std::span<const std::int64_t> factors) {
  int128 all = 1;
  for (const std::int64_t factor : factors) all = std::min(all * factor, int128{1} << 62);
  return all;
}

bool within(std::int64_t value, std::int64_t least, std::int64_t most) {
  return least <= value && value <= most;
}

template <class Value>
bool is_as_expected(const Result<Value>& result, const Expected& expected, std::string_view what) {
  if (result.has_value() != expected.is_accepted())
    fail("a call must be accepted exactly if its header allows it", what);
  if (!result) check_error(result.error());
  return result.has_value();
}

template <class Number>
void check_shape(const AxisPositions<Number>& made, std::int64_t axes, int128 tokens) {
  if (made.axes != axes || made.tokens != tokens ||
      static_cast<int128>(made.numbers.size()) != axes * tokens) {
    fail("positions must have the axes and the tokens of the call");
  }
}

template <class Number>
void check_places(const AxisPositions<Number>& made, const std::vector<reference::Place>& wanted,
                  long double error) {
  for (std::int64_t token = 0; token < made.tokens; ++token)
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      const long double exact =
          wanted[static_cast<std::size_t>(token)][static_cast<std::size_t>(axis)];
      if (!(std::abs(static_cast<long double>(made.at(axis, token)) - exact) <= error))
        fail("a position must equal its definition");
    }
}

PatchGrid grid_of(Bytes& input) {
  const std::int64_t frames = size_from(input);
  const std::int64_t rows = size_from(input);
  return {.frames = frames, .rows = rows, .columns = size_from(input)};
}

Expected expected_of(const PatchGrid& grid, std::int64_t merge) {
  const std::int64_t most = most_axis_tokens;
  const bool legal = within(grid.frames, 1, most) && within(grid.rows, 1, most) &&
                     within(grid.columns, 1, most) && within(merge, 1, most) &&
                     grid.rows % merge == 0 && grid.columns % merge == 0;
  return {legal, legal ? product(std::array{grid.frames, grid.rows, grid.columns}) : 0};
}

void try_grids(Bytes& input) {
  PatchGrid grid = grid_of(input);
  const std::int64_t merge = input.once_in(8) ? size_from(input) : input.number(1, 3);
  if (within(merge, 1, 3) && input.byte() % 2 == 0) {
    grid.rows = grid.rows % few * merge;
    grid.columns = grid.columns % few * merge;
  }
  const Expected expected = expected_of(grid, merge);
  if (!expected.is_left_out()) {
    const auto made = grid_positions(grid, merge);
    if (is_as_expected(made, expected, "grid_positions")) {
      check_shape(*made, 3, expected.tokens);
      if (expected.tokens <= few) check_places(*made, reference::grid(grid, merge), 0);
    }
  }
  const std::int64_t window = size_from(input);
  Expected ordered = expected;
  ordered.legal = expected.legal && within(window, 1, most_axis_tokens);
  if (ordered.is_left_out()) return;
  const auto order = window_order(grid, {.merge = merge, .window = window});
  if (is_as_expected(order, ordered, "window_order") && expected.tokens <= few &&
      *order != reference::window_order(grid, {.merge = merge, .window = window})) {
    fail("the order of windows must equal its definition");
  }
}

void try_centred(Bytes& input) {
  const PatchGrid grid = grid_of(input);
  const std::int64_t first = size_from(input);
  Expected expected = expected_of(grid, 1);
  expected.legal = expected.legal && within(first, -(std::int64_t{1} << 53), std::int64_t{1} << 53);
  if (expected.is_left_out()) return;
  const auto made = centred_grid_positions(grid, first);
  if (!is_as_expected(made, expected, "centred_grid_positions")) return;
  check_shape(*made, 3, expected.tokens);
  if (expected.tokens <= few) check_places(*made, reference::centred_grid(grid, first), 0);
}

void try_area(Bytes& input) {
  const PatchGrid grid = grid_of(input);
  const double area = real_from(input);
  Expected expected = expected_of(grid, 1);
  expected.legal = expected.legal && area > 0 && area <= far;
  if (expected.is_left_out()) return;
  const auto made = area_scaled_positions(grid, area);
  if (!is_as_expected(made, expected, "area_scaled_positions")) return;
  check_shape(*made, 3, expected.tokens);
  if (expected.tokens > few) return;
  const auto wanted = reference::area_scaled(grid, area);
  long double largest = 0;
  for (const auto& place : wanted)
    largest = std::max({largest, std::abs(place[1]), std::abs(place[2])});
  check_places(*made, wanted, largest * 0x1p-50L);
}

void try_regions(Bytes& input) {
  std::vector<AxisRegion> regions(static_cast<std::size_t>(input.number(0, 9)));
  Expected expected{.legal = within(static_cast<std::int64_t>(regions.size()), 1, 8), .tokens = 1};
  for (AxisRegion& region : regions) {
    region = {.count = size_from(input),
              .first = real_from(input),
              .last = real_from(input),
              .sampling = static_cast<Sampling>(input.once_in(32) ? 2 : input.number(0, 1))};
    expected.legal = expected.legal && within(region.count, 1, most_axis_tokens) &&
                     std::abs(region.first) <= far && std::abs(region.last) <= far &&
                     within(static_cast<std::int64_t>(region.sampling), 0, 1);
    if (expected.legal) expected.tokens = std::min(expected.tokens * region.count, int128{1} << 62);
  }
  if (expected.is_left_out()) return;
  const auto made = region_positions(regions);
  if (!is_as_expected(made, expected, "region_positions")) return;
  check_shape(*made, static_cast<std::int64_t>(regions.size()), expected.tokens);
  std::int64_t repeats = made->tokens;
  for (std::size_t axis = 0; axis < regions.size(); ++axis) {
    const AxisRegion& region = regions[axis];
    repeats /= region.count;
    const long double bound =
        0x1p-51L * std::max(std::abs(region.first), std::abs(region.last)) + 0x1p-1073L;
    for (std::int64_t token = 0; token < std::min(made->tokens, few); ++token) {
      const long double exact = reference::sample(region, token / repeats % region.count);
      const long double got = made->at(static_cast<std::int64_t>(axis), token);
      if (!(std::abs(got - exact) <= bound)) fail("a sample must be within its bound");
    }
  }
}

void try_text(Bytes& input) {
  const std::int64_t tokens = size_from(input);
  const std::int64_t first = size_from(input);
  const TextTokens text{.tokens = tokens, .first = first, .axes = size_from(input)};
  const std::int64_t most = std::int64_t{1} << 53;
  const Expected expected{within(text.tokens, 0, std::int64_t{1} << 62) &&
                              within(text.first, -most, most) && within(text.axes, 1, 8),
                          text.tokens};
  if (expected.is_left_out()) return;
  const auto made = text_positions(text);
  if (!is_as_expected(made, expected, "text_positions")) return;
  check_shape(*made, text.axes, text.tokens);
  for (std::int64_t axis = 0; axis < made->axes; ++axis)
    for (std::int64_t token = 0; token < made->tokens; ++token)
      if (made->at(axis, token) != text.first + token) fail("text must count on, on every axis");
}

ImagePatches image_of(Bytes& input) {
  const std::int64_t rows = size_from(input);
  return {.rows = rows, .columns = size_from(input)};
}

TokenGroup group_of(Bytes& input) {
  switch (input.number(0, 3)) {
    case 0:
      return TextTokenRun{size_from(input)};
    case 1:
      return image_of(input);
    case 2: {
      const ImagePatches frame = image_of(input);
      VideoPatches video{.frames = size_from(input), .rows = frame.rows, .columns = frame.columns};
      video.seconds_per_frame = real_from(input);
      if (input.byte() % 4 == 1) video.text_between_frames = size_from(input);
      if (input.byte() % 4 == 1) video.audio_tokens = size_from(input);
      return video;
    }
    default: {
      SlicedImage image{.thumbnail = image_of(input)};
      image.slices_down = size_from(input);
      image.slices_across = size_from(input);
      image.slice = image_of(input);
      image.newlines_after = size_from(input);
      return image;
    }
  }
}

MRopeConvention convention_of(Bytes& input) {
  const auto all = m_rope_conventions();
  MRopeConvention convention = all[input.byte() % all.size()];
  if (input.byte() % 4 != 1) return convention;
  convention.merge = size_from(input);
  convention.temporal_merge = size_from(input);
  convention.ids_per_second = size_from(input);
  convention.ids_per_chunk = size_from(input);
  convention.axes = size_from(input);
  convention.frame_times = static_cast<FrameTimes>(input.number(0, 8));
  convention.offset = static_cast<DecodeOffset>(input.number(0, 2));
  convention.next = static_cast<NextPosition>(input.number(0, 3));
  convention.vision = static_cast<VisionTokens>(input.number(0, 3));
  convention.frames = static_cast<VideoFrames>(input.number(0, 3));
  convention.sound = static_cast<SoundOfVideo>(input.number(0, 3));
  for (IdAxis& axis : convention.counts) axis = static_cast<IdAxis>(input.number(0, 6));
  return convention;
}

// Upper bound on the tokens of a prompt with legal numbers; 0 if they are not legal.
struct MostTokens {
  const MRopeConvention& convention;

  [[nodiscard]] int128 of(std::int64_t rows, std::int64_t columns) const {
    if (rows < 0 || columns < 0 || convention.merge < 1) return 0;
    const std::int64_t merge = convention.merge;
    return int128{rows / merge} * (columns / merge + 1) + 2;
  }
  int128 operator()(const TextTokenRun& text) const { return text.tokens; }
  int128 operator()(const ImagePatches& image) const { return of(image.rows, image.columns); }
  int128 operator()(const VideoPatches& video) const {
    if (video.frames < 0 || convention.temporal_merge < 1) return 0;
    const std::int64_t frames = video.frames / convention.temporal_merge;
    const int128 frame = of(video.rows, video.columns) + video.text_between_frames;
    return frame > most_axis_tokens ? frame : frames * frame + video.audio_tokens + 4;
  }
  int128 operator()(const SlicedImage& image) const {
    const int128 slices = int128{image.slices_down} * image.slices_across;
    const int128 slice = slices == 0 ? 0 : of(image.slice.rows, image.slice.columns);
    const bool too_many = slices > most_axis_tokens || slice > most_axis_tokens;
    return (*this)(image.thumbnail) + image.newlines_after + image.slices_down +
           (too_many ? std::max(slices, slice) : slices * slice);
  }
};

template <class Number>
void check_prompt(const MRopePositions<Number>& made, std::size_t groups,
                  const MRopeConvention& convention) {
  const AxisPositions<Number>& ids = made.positions;
  check_shape(ids, convention.axes, ids.tokens);
  if (made.group_ends.size() != groups || !std::ranges::is_sorted(made.group_ends) ||
      (groups == 0 ? 0 : made.group_ends.back()) != ids.tokens) {
    fail("groups must follow one another and end at the last token");
  }
  for (const Number id : ids.numbers)
    if (!(id >= 0 && static_cast<double>(id) <= far)) fail("ids must be from 0 to 2^53");
}

void check_ids(const MRopePositions<std::int64_t>& made, std::span<const TokenGroup> groups,
               const MRopeConvention& convention) {
  const bool is_defined =
      convention.vision != VisionTokens::canvas && convention.sound == SoundOfVideo::none;
  if (!is_defined || made.positions.tokens > few) return;
  const auto wanted = reference::m_rope(groups, convention);
  if (static_cast<std::int64_t>(wanted.size()) != made.positions.tokens)
    fail("a prompt must have as many tokens as its definition");
  for (std::int64_t token = 0; token < made.positions.tokens; ++token)
    for (std::int64_t axis = 0; axis < convention.axes; ++axis)
      if (made.positions.at(axis, token) !=
          wanted[static_cast<std::size_t>(token)][static_cast<std::size_t>(axis)])
        fail("an id must equal its definition", convention.name);
}

void try_prompt(Bytes& input) {
  const MRopeConvention convention = convention_of(input);
  std::vector<TokenGroup> groups;
  for (std::int64_t i = input.number(0, 5); i > 0; --i) groups.push_back(group_of(input));
  int128 most = 0;
  for (const TokenGroup& group : groups)
    most += std::clamp(std::visit(MostTokens{convention}, group), int128{0}, int128{1} << 62);
  if (most > many && most <= 4 * int128{most_axis_tokens}) return;
  const auto ids = m_rope_positions(groups, convention);
  const auto real = m_rope_coordinates(groups, convention);
  const auto tokens = m_rope_token_count(groups, convention);
  if (real && (!tokens || *tokens != real->positions.tokens))
    fail("a prompt must have as many tokens as were counted");
  if (!tokens && ids) fail("a prompt whose tokens are not counted must be refused");
  if (!ids) check_error(ids.error());
  if (!real) check_error(real.error());
  if (most > 4 * int128{most_axis_tokens} && real)
    fail("more tokens than a call can make must be refused");
  if (real) check_prompt(*real, groups.size(), convention);
  if (!ids) {
    if (real && convention.frame_times != FrameTimes::not_truncated)
      fail("integer ids must be refused only if real ids are", ids.error().message);
    return;
  }
  check_prompt(*ids, groups.size(), convention);
  check_ids(*ids, groups, convention);
  const auto& numbers = ids->positions.numbers;
  if (!real || !std::ranges::equal(numbers, real->positions.numbers) ||
      static_cast<double>(ids->delta) != real->delta || ids->group_ends != real->group_ends) {
    fail("real ids must equal the integer ids");
  }
}

}  // namespace
}  // namespace rotary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary::fuzz;
  Bytes input(data, size);
  constexpr std::array tries = {try_grids, try_centred, try_area,   try_regions,
                                try_text,  try_prompt,  try_prompt, try_prompt};
  tries[input.byte() % tries.size()](input);
  return 0;
}
