// SPDX-License-Identifier: Apache-2.0
// Shifted int8 keys with a scale for each head and token, against the reference in long double:
// within the published bound, every head rescaled to its largest element, guards intact.
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
#include "support/executors.hpp"
#include "support/int8_heads.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::all_lyings;
using test::Int8Heads;
using test::Lying;

// The window of rotated keys in a cache.
HeadWindow cached(HeadWindow window) {
  if (window.pairing.get() == Pairing::interleaved_to_half) window.pairing = Pairing::half;
  return window;
}

struct Moved {
  const Frequencies& old_ones;
  const Frequencies& new_ones;
  Positions from;
  Positions to;
};

void expect_shifted(const Moved& moved, const Extents& extents, Lying lying) {
  Int8Heads keys(extents, lying);
  Int8Heads before(extents, lying);
  keys.fill(60, -12, 3);
  before.fill(60, -12, 3);
  test::require(shift(keys.view(), {moved.old_ones, moved.from}, {moved.new_ones, moved.to}));
  const double factor = moved.new_ones.attention_factor / moved.old_ones.attention_factor;
  const reference::AngleRows rows({moved.from, moved.old_ones.inv_freq},
                                  {moved.to, moved.new_ones.inv_freq});
  test::for_each_element(extents, [&](const test::HeadIndex& at, std::int64_t f) {
    if (f > 0) return;
    check::KeyTurn turn{cached(moved.old_ones.window), {}, factor};
    for (const Positions* const positions : {&moved.from, &moved.to})
      turn.position += std::abs(reference::position_at(*positions, at.batch, at.token));
    for (const auto& [cos, sin] : rows.at(at.batch, at.token))
      turn.row.push_back({factor * cos, factor * sin});
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

TEST(ShiftInt8, InEveryLayoutAndWindow) {
  const Positions from = ConsecutivePositions{.first = 4000, .tokens = 5};
  const Positions to = ConsecutivePositions{.first = 1, .tokens = 5};
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
        const Extents extents{.batch = 2, .tokens = 5, .heads = 3, .features = head_dim};
        for (const Lying lying : all_lyings) {
          SCOPED_TRACE(static_cast<int>(lying));
          expect_shifted({frequencies, frequencies, from, to}, extents, lying);
        }
      }
    }
  }
}

TEST(ShiftInt8, ToOtherFrequenciesFarOut) {
  const HeadWindow window{.head_dim = 80,
                          .rotary_dim = 70,
                          .first_feature = 6,
                          .pairing = Pairing::interleaved_to_half};
  const Frequencies old_ones = test::frequencies_of(window, 1.25);
  std::vector<double> slower = old_ones.inv_freq;
  for (double& inv_freq : slower) inv_freq /= 4;
  const Frequencies new_ones = test::value_of(make_frequencies(window, slower, 0.25));
  const std::array<std::int64_t, 6> places = {0, -7, 131071, 1000000, std::int64_t{1} << 33, 5};
  const Positions positions = positions_of(places, 2);
  expect_shifted({old_ones, new_ones, positions, positions},
                 {.batch = 2, .tokens = 3, .heads = 2, .features = 80}, Lying::bhtd);
}

// A head of zeros; a scale of 0; scales that are not finite; a shift by 0.
TEST(ShiftInt8, OfSpecialHeads) {
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

// Half way between two integers rounds to the even one: m is 2 * 127, which halves elements, and no
// pair turns.
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

TEST(ShiftInt8, InPartsHasTheSameBits) {
  const HeadWindow window{
      .head_dim = 30, .rotary_dim = 28, .first_feature = 1, .pairing = Pairing::interleaved};
  const Frequencies old_ones = test::frequencies_of(window);
  const Frequencies new_ones = test::frequencies_of(window, 1.5);
  Frequencies other = new_ones;
  other.turns[3] += 12345;  // rows for each token
  const ConsecutivePositions places{.first = 5, .tokens = 71};
  const Extents extents{.batch = 2, .tokens = 71, .heads = 2, .features = 30};
  Int8Heads whole(extents, Lying::padded);
  Int8Heads parts(extents, Lying::padded);
  whole.fill(62, -12, 3);
  parts.fill(62, -12, 3);
  const Rotations by = test::value_of(make_shift({old_ones, places}, {other, places}));
  ASSERT_NE(by.row_stride(), 0);
  test::CountingExecutor executor(test::run_backwards, 4);
  test::require(shift(whole.view(), by));
  test::require(shift(parts.view(), by, {.executor = executor.executor()}));
  EXPECT_EQ(executor.tasks(), 4);
  EXPECT_EQ(whole.bytes(), parts.bytes());
}

}  // namespace
}  // namespace rotary
