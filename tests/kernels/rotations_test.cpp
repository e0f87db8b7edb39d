// SPDX-License-Identifier: Apache-2.0
// The rows of cos and sin against MPFR, within row_error_bound: every position an int64 can hold.
#include "rotary/rotations.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "reference/tensor.hpp"
#include "rotary/numeric_contract.hpp"
#include "support/cases.hpp"
#include "support/random.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
constexpr HeadWindow whole_head{
    .head_dim = 128, .rotary_dim = 128, .first_feature = 0, .pairing = Pairing::half};

std::vector<std::int64_t> remarkable_positions() {
  std::vector<std::int64_t> positions = {0,      1,      -1,         7,       8191,
                                         131071, lowest, lowest + 1, highest, highest - 1};
  for (const std::int64_t power : {24, 31, 32, 40, 53, 62}) {
    const std::int64_t position = std::int64_t{1} << power;
    for (const std::int64_t offset : {-1, 0, 1, 3}) {
      positions.push_back(position + offset);
      positions.push_back(-(position + offset));
    }
  }
  test::Random random(1);
  for (int i = 0; i < 64; ++i) {
    positions.push_back(static_cast<std::int64_t>(random.bits()) >> random.integer(0, 60));
  }
  return positions;
}

// Every element of every row, within the published bound.
void expect_rows_within_bound(const Frequencies& frequencies,
                              const std::vector<std::int64_t>& positions) {
  const Positions given = positions_of(std::span(positions));
  const Rotations rotations = test::rotations_of(frequencies, given);
  const reference::AngleRows exact(given, frequencies.inv_freq);
  const long double factor = frequencies.attention_factor;
  for (std::int64_t t = 0; t < rotations.tokens(); ++t) {
    const std::int64_t position = positions[static_cast<std::size_t>(t)];
    for (std::size_t i = 0; i < frequencies.inv_freq.size(); ++i) {
      const auto check = [&](float row, long double angle, const char* name) {
        const long double product = factor * angle;
        const double bound =
            row_error_bound(static_cast<double>(product), frequencies.attention_factor, position);
        ASSERT_LE(std::abs(row - product), bound)
            << name << " at position " << position << std::hexfloat << " inv_freq "
            << frequencies.inv_freq[i] << " A " << frequencies.attention_factor << " got " << row;
      };
      check(rotations.cos(0, t)[i], exact.at(0, t)[i].cos, "cos");
      check(rotations.sin(0, t)[i], exact.at(0, t)[i].sin, "sin");
    }
  }
}

void expect_same_row(const Rotations& a, std::int64_t token_of_a, const Rotations& b,
                     std::int64_t batch_of_b, std::int64_t token_of_b) {
  for (std::size_t i = 0; i < a.cos(0, 0).size(); ++i) {
    ASSERT_EQ(a.cos(0, token_of_a)[i], b.cos(batch_of_b, token_of_b)[i]);
    ASSERT_EQ(a.sin(0, token_of_a)[i], b.sin(batch_of_b, token_of_b)[i]);
  }
}

TEST(Rotations, StayWithinTheBoundAtEveryPosition) {
  for (const double factor : {1.0, 1.3465735902799727, 0.1, 7.5}) {
    expect_rows_within_bound(test::frequencies_of(whole_head, factor), remarkable_positions());
  }
}

TEST(Rotations, StayWithinTheBoundForHostileFrequencies) {
  std::vector<double> inv_freq = {0,        std::numeric_limits<double>::denorm_min(),
                                  0x1p-200, 0x1p-70,
                                  0x1p-64,  0x1.fffffffffffffp-52,
                                  1,        0x1.921fb54442d18p+2,  // the double nearest to 2 pi
                                  3,        0x1.fffffffffffffp+20,
                                  0x1p39,   0x1.fffffffffffffp+39};
  const HeadWindow window{.head_dim = static_cast<std::int64_t>(2 * inv_freq.size()),
                          .rotary_dim = static_cast<std::int64_t>(2 * inv_freq.size()),
                          .first_feature = 0,
                          .pairing = Pairing::interleaved};
  expect_rows_within_bound(test::value_of(make_frequencies(window, inv_freq, 1)),
                           remarkable_positions());
}

TEST(Rotations, StayWithinTheBoundForRandomFrequencies) {
  test::Random random(2);
  std::vector<double> inv_freq(64);
  for (double& frequency : inv_freq) {
    frequency = std::ldexp(1 + random.unit(), static_cast<int>(random.integer(-40, 20)));
  }
  expect_rows_within_bound(test::value_of(make_frequencies(whole_head, inv_freq, 1.25)),
                           remarkable_positions());
}

// Long runs, from starts of every alignment: a run may be made from fewer evaluations than it has
// positions, and must not show it.
TEST(Rotations, StayWithinTheBoundAlongARun) {
  const Frequencies frequencies = test::frequencies_of(whole_head, 1.25);
  for (const std::int64_t first :
       {std::int64_t{-37}, std::int64_t{8187}, std::int64_t{131070}, (std::int64_t{1} << 31) - 21,
        (std::int64_t{1} << 40) + 3, highest - 49, lowest}) {
    std::vector<std::int64_t> positions(50);
    for (std::int64_t t = 0; t < 50; ++t) positions[static_cast<std::size_t>(t)] = first + t;
    expect_rows_within_bound(frequencies, positions);

    const Rotations run =
        test::rotations_of(frequencies, ConsecutivePositions{.first = first, .tokens = 50});
    for (std::int64_t t = 0; t < 50; ++t) {
      const Rotations alone =
          test::rotations_of(frequencies, ConsecutivePositions{.first = first + t, .tokens = 1});
      expect_same_row(run, t, alone, 0, 0);
    }
  }
}

// The contract at position 0 is not only close: nothing has turned.
TEST(Rotations, AreTheAttentionFactorAtPositionZero) {
  const Frequencies frequencies = test::frequencies_of(whole_head, 1.5);
  const Rotations rotations =
      test::rotations_of(frequencies, ConsecutivePositions{.first = 0, .tokens = 1});
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(rotations.cos(0, 0)[i], 1.5F);
    EXPECT_EQ(rotations.sin(0, 0)[i], 0.0F);
  }
}

TEST(Rotations, SayWhatTheyAreFor) {
  const HeadWindow window{
      .head_dim = 24, .rotary_dim = 10, .first_feature = 3, .pairing = Pairing::interleaved};
  const std::vector<std::int32_t> positions(12, 5);
  const Rotations rotations =
      test::rotations_of(test::frequencies_of(window, 1.25), positions_of(std::span(positions), 3));
  EXPECT_EQ(rotations.batch(), 3);
  EXPECT_EQ(rotations.tokens(), 4);
  EXPECT_EQ(rotations.attention_factor(), 1.25);
  EXPECT_EQ(rotations.window().head_dim, 24);
  EXPECT_EQ(rotations.window().rotary_dim, 10);
  EXPECT_EQ(rotations.window().first_feature, 3);
  EXPECT_EQ(rotations.window().pairing.get(), Pairing::interleaved);
  EXPECT_EQ(rotations.cos(0, 0).size(), 5U);
  EXPECT_EQ(&rotations.cos(0, 0)[0] + rotations.lane_stride(), &rotations.sin(0, 0)[0]);
}

// Rows depend on the position alone: not on the type that holds it, its stride or its neighbours.
TEST(Rotations, AreTheSameBitsHoweverPositionsAreGiven) {
  const Frequencies frequencies = test::frequencies_of(whole_head, 1.25);
  const Rotations consecutive =
      test::rotations_of(frequencies, ConsecutivePositions{.first = -3, .tokens = 8});
  // [batch 2][token 4] with a token stride of 3 and a batch stride of 16: positions -3 .. 4
  std::vector<std::int32_t> narrow(32, 999);
  std::vector<std::int64_t> backwards(8);
  for (std::int32_t b = 0; b < 2; ++b) {
    for (std::int32_t t = 0; t < 4; ++t)
      narrow[static_cast<std::size_t>(b * 16 + t * 3)] = -3 + b * 4 + t;
  }
  for (std::int64_t t = 0; t < 8; ++t) backwards[static_cast<std::size_t>(7 - t)] = -3 + t;

  const Rotations strided = test::rotations_of(
      frequencies,
      PositionArray<std::int32_t>{
          .data = narrow.data(), .batch = 2, .tokens = 4, .batch_stride = 16, .token_stride = 3});
  const Rotations reversed = test::rotations_of(
      frequencies,
      PositionArray<std::int64_t>{.data = backwards.data() + 7, .tokens = 8, .token_stride = -1});
  for (std::int64_t t = 0; t < 8; ++t) {
    expect_same_row(consecutive, t, strided, t / 4, t % 4);
    expect_same_row(consecutive, t, reversed, 0, t);
  }
}

TEST(Rotations, ReachTheLastInt64) {
  const Frequencies frequencies = test::frequencies_of(whole_head);
  EXPECT_TRUE(make_rotations(frequencies, ConsecutivePositions{.first = highest - 2, .tokens = 3}));
  EXPECT_TRUE(make_rotations(frequencies, ConsecutivePositions{.first = lowest, .tokens = 3}));
  EXPECT_TRUE(make_rotations(frequencies, ConsecutivePositions{.first = highest, .tokens = 0}));
}

}  // namespace
}  // namespace rotary
