// SPDX-License-Identifier: Apache-2.0
// Compares positions of grids with those of other programs. The fuzz target `positions` compares
// random inputs with the definitions, and refusals with the header.
#include "rotary/axis_positions.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "reference/axis_positions.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::value_of;

template <class Number>
void expect_places(const AxisPositions<Number>& got, const std::vector<reference::Place>& wanted,
                   long double bound) {
  ASSERT_EQ(got.axes, 3);
  ASSERT_EQ(got.tokens, static_cast<std::int64_t>(wanted.size()));
  ASSERT_EQ(got.numbers.size(), 3 * wanted.size());
  for (std::int64_t token = 0; token < got.tokens; ++token)
    for (std::int64_t axis = 0; axis < 3; ++axis)
      EXPECT_LE(std::abs(static_cast<long double>(got.at(axis, token)) -
                         wanted[static_cast<std::size_t>(token)][static_cast<std::size_t>(axis)]),
                bound)
          << "axis " << axis << ", token " << token;
}

// The first two blocks of Transformers' get_vision_position_ids() for grid (1, 4, 4) and merge 2.
TEST(AxisPositions, MergedBlocksFollowTransformersOrder) {
  const auto got = value_of(grid_positions({.rows = 4, .columns = 4}, 2));
  const std::vector<std::int64_t> rows = {0, 0, 1, 1, 0, 0, 1, 1};
  const std::vector<std::int64_t> columns = {0, 1, 0, 1, 2, 3, 2, 3};
  for (std::int64_t token = 0; token < 8; ++token) {
    EXPECT_EQ(got.at(1, token), rows[static_cast<std::size_t>(token)]);
    EXPECT_EQ(got.at(2, token), columns[static_cast<std::size_t>(token)]);
  }
}

// Qwen-Image counts 5 rows from -3 to 1, and 4 columns from -2 to 1.
TEST(AxisPositions, CentredGridsCountFromTheCentre) {
  const auto got = value_of(centred_grid_positions({.rows = 5, .columns = 4}));
  EXPECT_EQ(got.at(1, 0), -3);
  EXPECT_EQ(got.at(1, 19), 1);
  EXPECT_EQ(got.at(2, 0), -2);
  EXPECT_EQ(got.at(2, 19), 1);
}

// area / patches may underflow and lose digits. sqrt(area) / sqrt(patches), a patch's side, cannot.
TEST(AxisPositions, ASubnormalAreaKeepsItsDigits) {
  const PatchGrid grid{.frames = 1, .rows = 2, .columns = 5};
  for (const double area : {6.9e-309, 0x1p-1074}) {
    const auto wanted = reference::area_scaled(grid, area);
    expect_places(value_of(area_scaled_positions(grid, area)), wanted,
                  std::abs(wanted.front()[2]) * 0x1p-50L);
  }
}

TEST(AxisPositions, ARefusalStatesTheRequirement) {
  EXPECT_EQ(grid_positions({.rows = 3, .columns = 4}, 2).error().message,
            "rows and columns must be multiples of merge 2, got 3 and 4");
}

}  // namespace
}  // namespace rotary
