// SPDX-License-Identifier: Apache-2.0
// Compares shifted int8 keys of several head lengths with the reference in long double. Also tests
// zero and non-finite scales, and ties. The fuzz target shift covers layouts and frequencies.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "check/keys.hpp"
#include "reference/tensor.hpp"
#include "rotary/shift.hpp"
#include "support/cases.hpp"
#include "support/int8_heads.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::Int8Heads;
using test::Lying;

// Shifts from positions 4000, 4001, … to 1, 2, ….
void expect_shifted(const Frequencies& frequencies, const Extents& extents) {
  Int8Heads keys(extents, Lying::scales_behind_heads);
  Int8Heads before(extents, Lying::scales_behind_heads);
  keys.fill(60, -12, 3);
  before.fill(60, -12, 3);
  const Positions from = ConsecutivePositions{.first = 4000, .tokens = extents.tokens};
  const Positions to = ConsecutivePositions{.first = 1, .tokens = extents.tokens};
  test::require(shift(keys.view(), {frequencies, from}, {frequencies, to}));
  const reference::AngleRows rows({from, frequencies.inv_freq}, {to, frequencies.inv_freq});
  test::for_each_element(extents, [&](const test::HeadIndex& at, std::int64_t f) {
    if (f > 0) return;
    const auto row = rows.at(at.batch, at.token);
    const check::KeyTurn turn{frequencies.window, {row.begin(), row.end()}, 1, 8010};
    ASSERT_EQ(check::shift_fault(before.head(at), keys.head(at), turn), "")
        << "token " << at.token << " head " << at.head;
  });
  ASSERT_TRUE(keys.guards_intact());
}

struct WindowSize {
  std::int64_t head_dim;
  std::int64_t rotary_dim;
  std::int64_t first_feature;
};

TEST(ShiftInt8, IsWithinTheBoundForAnyHeadDim) {
  for (const Pairing pairing : test::order_keeping_pairings) {
    for (const auto& [head_dim, rotary_dim, first] :
         {WindowSize{2, 2, 0}, WindowSize{47, 38, 3}, WindowSize{64, 16, 0},
          WindowSize{128, 128, 0}, WindowSize{1031, 990, 41}}) {
      for (const std::int64_t blocks : {1, 2, 3}) {
        if (blocks > 1 && (pairing != Pairing::half || rotary_dim % (2 * blocks) != 0)) continue;
        SCOPED_TRACE(std::to_string(head_dim) + " in " + std::to_string(blocks));
        const Frequencies frequencies = test::frequencies_of({.head_dim = head_dim,
                                                              .rotary_dim = rotary_dim,
                                                              .first_feature = first,
                                                              .pairing = pairing,
                                                              .blocks = blocks});
        expect_shifted(frequencies, {.batch = 2, .tokens = 5, .heads = 3, .features = head_dim});
      }
    }
  }
}

// Shifts by 0 a head of zeros and heads whose scales are 0, negative or not finite.
TEST(ShiftInt8, ZeroAndNonFiniteScalesAreKept) {
  const Frequencies frequencies = test::frequencies_of(
      {.head_dim = 34, .rotary_dim = 32, .first_feature = 1, .pairing = Pairing::half});
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::array<float, 6> scales = {0.25F, 0, infinity, std::nanf(""), -0.5F, 3};
  Int8Heads keys({.tokens = 1, .heads = 6, .features = 34}, Lying::bthd);
  keys.fill(61, -12, 3);
  for (std::int64_t h = 0; h < 6; ++h) {
    keys.scale({.head = h}) = scales[static_cast<std::size_t>(h)];
    keys.element({.head = h}, 33) = 127;
    for (std::int64_t f = 0; f < 33; ++f) {
      std::int8_t& element = keys.element({.head = h}, f);
      element = h == 0 ? std::int8_t{0} : std::max<std::int8_t>(element, -127);
    }
  }
  keys.element({}, 33) = 0;
  const auto before = keys.bytes();
  const RotatedAt here{frequencies, ConsecutivePositions{.first = 9, .tokens = 1}};
  test::require(shift(keys.view(), here, here));
  EXPECT_EQ(keys.scale({.head = 0}), 0);
  EXPECT_EQ(keys.scale({.head = 1}), 0);
  EXPECT_EQ(keys.scale({.head = 2}), infinity);
  EXPECT_TRUE(std::isnan(keys.scale({.head = 3})));
  EXPECT_EQ(keys.scale({.head = 4}), -0.5F);
  EXPECT_EQ(keys.scale({.head = 5}), 3);
  for (std::size_t i = 1; i < 1 + 6 * 34; ++i) ASSERT_EQ(keys.bytes()[i], before[i]) << i;
}

// The rotated element grows to 2 * 127, so the others are halved. Midpoints round to even.
TEST(ShiftInt8, RoundsTiesToEven) {
  const Frequencies still = test::value_of(make_frequencies(
      {.head_dim = 8, .rotary_dim = 2, .first_feature = 6, .pairing = Pairing::half}, {0}, 1));
  Frequencies doubled = still;
  doubled.attention_factor = 2;
  Int8Heads keys({.tokens = 1, .heads = 1, .features = 8}, Lying::bthd);
  const std::array<std::int8_t, 8> elements = {1, 3, 5, -1, -3, -5, 127, 0};
  for (std::size_t f = 0; f < 8; ++f) keys.element({}, static_cast<std::int64_t>(f)) = elements[f];
  keys.scale({}) = 1;
  const Positions here = ConsecutivePositions{.first = 3, .tokens = 1};
  test::require(shift(keys.view(), {still, here}, {doubled, here}));
  const std::array<std::int8_t, 8> halved = {0, 2, 2, 0, -2, -2, 127, 0};
  for (std::size_t f = 0; f < 8; ++f) {
    EXPECT_EQ(keys.element({}, static_cast<std::int64_t>(f)), halved[f]) << f;
  }
  EXPECT_EQ(keys.scale({}), 2);
}

}  // namespace
}  // namespace rotary
