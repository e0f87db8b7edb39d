// SPDX-License-Identifier: Apache-2.0
#include "rotary/axis_positions.hpp"

#include <algorithm>
#include <cmath>

#include "base/guard.hpp"
#include "positions/checks.hpp"

namespace rotary {
namespace {

using positions::check;
using positions::empty_positions;
using positions::largest_position;
using positions::token_count;

constexpr std::int64_t most_axes = 8;

Status check_grid(const PatchGrid& grid, std::int64_t merge) {
  if (auto status = check({"frames", grid.frames, 1, most_axis_tokens}); !status) return status;
  if (auto status = check({"rows", grid.rows, 1, most_axis_tokens}); !status) return status;
  if (auto status = check({"columns", grid.columns, 1, most_axis_tokens}); !status) return status;
  if (auto status = check({"merge", merge, 1, most_axis_tokens}); !status) return status;
  if (grid.rows % merge == 0 && grid.columns % merge == 0) return {};
  return invalid_argument("rows and columns must be multiples of merge ", merge, ", got ",
                          grid.rows, " and ", grid.columns);
}

Result<std::int64_t> checked_count(const PatchGrid& grid, std::int64_t merge) {
  if (auto status = check_grid(grid, merge); !status) return status.error();
  return token_count(std::array{grid.frames, grid.rows, grid.columns});
}

// Calls put(token, frame, row, column) for each patch, in blocks of merge x merge.
template <class Put>
void for_each_patch(const PatchGrid& grid, std::int64_t merge, Put put) {
  std::int64_t token = 0;
  for (std::int64_t frame = 0; frame < grid.frames; ++frame)
    for (std::int64_t row = 0; row < grid.rows; row += merge)
      for (std::int64_t column = 0; column < grid.columns; column += merge)
        for (std::int64_t inner = 0; inner < merge * merge; ++inner)
          put(token++, frame, row + inner / merge, column + inner % merge);
}

AxisPositions<std::int64_t> grid_from(const PatchGrid& grid, std::int64_t tokens,
                                      std::int64_t merge, const PatchGrid& first) {
  auto made = empty_positions<std::int64_t>(3, tokens);
  std::int64_t* const numbers = made.numbers.data();
  for_each_patch(
      grid, merge,
      [&](std::int64_t token, std::int64_t frame, std::int64_t row, std::int64_t column) {
        numbers[token] = first.frames + frame;
        numbers[tokens + token] = first.rows + row;
        numbers[2 * tokens + token] = first.columns + column;
      });
  return made;
}

Status check_region(const AxisRegion& region) {
  if (auto status = check({"count of a region", region.count, 1, most_axis_tokens}); !status)
    return status;
  constexpr auto limit = static_cast<double>(largest_position);
  for (const double end : {region.first, region.last}) {
    if (!(std::abs(end) <= limit))
      return invalid_argument("first and last of a region must be from -2^53 to 2^53, got ", end);
  }
  if (region.sampling == Sampling::ends || region.sampling == Sampling::centres) return {};
  return invalid_argument("sampling of a region must be ends or centres, got value ",
                          static_cast<std::int32_t>(region.sampling));
}

// The weights of both ends are integers and thus exact, so there are few roundings.
double sample(const AxisRegion& region, std::int64_t index) {
  const bool at_ends = region.sampling == Sampling::ends;
  if (at_ends && region.count == 1) return region.first;
  const auto before = static_cast<double>(at_ends ? index : 2 * index + 1);
  const auto all = static_cast<double>(at_ends ? region.count - 1 : 2 * region.count);
  return (region.first * (all - before) + region.last * before) / all;
}

Result<std::int64_t> checked_count(std::span<const AxisRegion> regions) {
  const auto axes = static_cast<std::int64_t>(regions.size());
  if (auto status = check({"axes", axes, 1, most_axes}); !status) return status.error();
  std::array<std::int64_t, most_axes> counts = {};
  counts.fill(1);
  for (std::size_t axis = 0; axis < regions.size(); ++axis) {
    if (auto status = check_region(regions[axis]); !status) return status.error();
    counts[axis] = regions[axis].count;
  }
  return token_count(counts);
}

Result<AxisPositions<double>> made_regions(std::span<const AxisRegion> regions) {
  const Result<std::int64_t> tokens = checked_count(regions);
  if (!tokens) return tokens.error();
  auto made = empty_positions<double>(static_cast<std::int64_t>(regions.size()), *tokens);
  double* numbers = made.numbers.data();
  std::int64_t outer = 1;
  for (const AxisRegion& region : regions) {
    const std::int64_t inner = *tokens / outer / region.count;
    for (std::int64_t i = 0; i < outer; ++i)
      for (std::int64_t index = 0; index < region.count; ++index, numbers += inner)
        std::fill_n(numbers, inner, sample(region, index));
    outer *= region.count;
  }
  return made;
}

// A window of one frame, in merged tokens; ends are exclusive.
struct Window {
  std::int64_t frame, row, column, row_end, column_end;
};

void append(std::vector<std::int64_t>& order, const Window& window, const PatchGrid& merged,
            std::int64_t patches) {
  for (std::int64_t row = window.row; row < window.row_end; ++row)
    for (std::int64_t column = window.column; column < window.column_end; ++column) {
      const std::int64_t token = (window.frame * merged.rows + row) * merged.columns + column;
      for (std::int64_t inner = 0; inner < patches; ++inner)
        order.push_back(token * patches + inner);
    }
}

}  // namespace

Result<AxisPositions<std::int64_t>> text_positions(const TextTokens& text) noexcept {
  return guarded([&]() -> Result<AxisPositions<std::int64_t>> {
    if (auto status = check({"tokens", text.tokens, 0, most_axis_tokens}); !status)
      return status.error();
    if (auto status = check({"first", text.first, -largest_position, largest_position}); !status)
      return status.error();
    if (auto status = check({"axes", text.axes, 1, most_axes}); !status) return status.error();
    auto made = empty_positions<std::int64_t>(text.axes, text.tokens);
    for (std::size_t i = 0; i < made.numbers.size(); ++i)
      made.numbers[i] = text.first + static_cast<std::int64_t>(i) % text.tokens;
    return made;
  });
}

Result<AxisPositions<std::int64_t>> grid_positions(const PatchGrid& grid,
                                                   std::int64_t merge) noexcept {
  return guarded([&]() -> Result<AxisPositions<std::int64_t>> {
    const Result<std::int64_t> tokens = checked_count(grid, merge);
    if (!tokens) return tokens.error();
    return grid_from(grid, *tokens, merge, {.frames = 0, .rows = 0, .columns = 0});
  });
}

Result<AxisPositions<std::int64_t>> centred_grid_positions(const PatchGrid& grid,
                                                           std::int64_t first_frame) noexcept {
  return guarded([&]() -> Result<AxisPositions<std::int64_t>> {
    const Result<std::int64_t> tokens = checked_count(grid, 1);
    if (!tokens) return tokens.error();
    if (auto status = check({"first_frame", first_frame, -largest_position, largest_position});
        !status)
      return status.error();
    return grid_from(grid, *tokens, 1,
                     {.frames = first_frame,
                      .rows = grid.rows / 2 - grid.rows,
                      .columns = grid.columns / 2 - grid.columns});
  });
}

Result<AxisPositions<double>> region_positions(std::span<const AxisRegion> regions) noexcept {
  return guarded([&] { return made_regions(regions); });
}

Result<AxisPositions<double>> area_scaled_positions(const PatchGrid& grid, double area) noexcept {
  return guarded([&]() -> Result<AxisPositions<double>> {
    if (const auto tokens = checked_count(grid, 1); !tokens) return tokens.error();
    if (!(area > 0 && area <= static_cast<double>(largest_position)))
      return invalid_argument("area must be > 0 and at most 2^53, got ", area);
    // The root of the quotient would be less exact, because the quotient may be subnormal.
    const double step = std::sqrt(area) / std::sqrt(static_cast<double>(grid.rows) *
                                                    static_cast<double>(grid.columns));
    const auto centred = [step](std::int64_t count) -> AxisRegion {
      const double end = static_cast<double>(count) * step / 2;
      return {.count = count, .first = -end, .last = end, .sampling = Sampling::centres};
    };
    return made_regions(std::array<AxisRegion, 3>{
        {{.count = grid.frames, .first = 0, .last = static_cast<double>(grid.frames - 1)},
         centred(grid.rows),
         centred(grid.columns)}});
  });
}

Result<std::vector<std::int64_t>> window_order(const PatchGrid& grid,
                                               const WindowOrder& order) noexcept {
  return guarded([&]() -> Result<std::vector<std::int64_t>> {
    const Result<std::int64_t> tokens = checked_count(grid, order.merge);
    if (!tokens) return tokens.error();
    if (auto status = check({"window", order.window, 1, most_axis_tokens}); !status)
      return status.error();
    const PatchGrid merged{.frames = grid.frames,
                           .rows = grid.rows / order.merge,
                           .columns = grid.columns / order.merge};
    std::vector<std::int64_t> made;
    made.reserve(static_cast<std::size_t>(*tokens));
    for (std::int64_t frame = 0; frame < merged.frames; ++frame)
      for (std::int64_t row = 0; row < merged.rows; row += order.window)
        for (std::int64_t column = 0; column < merged.columns; column += order.window)
          append(made,
                 {.frame = frame,
                  .row = row,
                  .column = column,
                  .row_end = std::min(row + order.window, merged.rows),
                  .column_end = std::min(column + order.window, merged.columns)},
                 merged, order.merge * order.merge);
    return made;
  });
}

}  // namespace rotary
