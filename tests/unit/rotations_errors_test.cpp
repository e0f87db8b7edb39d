// SPDX-License-Identifier: Apache-2.0
// make_rotations refuses frequencies and positions that contradict themselves.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "rotary/rotations.hpp"
#include "support/cases.hpp"
#include "support/error_matchers.hpp"

namespace rotary {
namespace {

constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

Frequencies good() {
  return test::frequencies_of(
      {.head_dim = 8, .rotary_dim = 6, .first_feature = 1, .pairing = Pairing::half});
}

void expect_refused(const Frequencies& frequencies, const Positions& positions,
                    std::initializer_list<std::string_view> parts) {
  EXPECT_TRUE(
      test::fails(make_rotations(frequencies, positions), ErrorCode::invalid_argument, parts));
}

constexpr ConsecutivePositions some{.first = 0, .tokens = 2};

TEST(RotationsErrors, FrequenciesWithoutOneEntryForEachPair) {
  Frequencies frequencies = good();
  frequencies.turns.pop_back();
  expect_refused(frequencies, some, {"turns", "3", "got 2"});
  frequencies = good();
  frequencies.turns.push_back(1);
  expect_refused(frequencies, some, {"turns", "3", "got 4"});
  frequencies = good();
  frequencies.steps.pop_back();
  expect_refused(frequencies, some, {"steps", "got"});
}

TEST(RotationsErrors, BrokenWindow) {
  Frequencies frequencies = good();
  frequencies.window.rotary_dim = 5;
  expect_refused(frequencies, some, {"rotary_dim must be even", "got 5"});
  frequencies = good();
  frequencies.window.first_feature = 4;
  expect_refused(frequencies, some, {"rotary_dim", "got 6"});
}

TEST(RotationsErrors, AttentionFactor) {
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()}) {
    Frequencies frequencies = good();
    frequencies.attention_factor = bad;
    expect_refused(frequencies, some, {"attention_factor", "got"});
  }
}

TEST(RotationsErrors, PositionsThatLeaveInt64) {
  expect_refused(good(), ConsecutivePositions{.first = highest, .tokens = 2},
                 {"int64", "9223372036854775807"});
  expect_refused(good(), ConsecutivePositions{.first = 2, .tokens = highest}, {"int64"});
}

TEST(RotationsErrors, NegativeCounts) {
  expect_refused(good(), ConsecutivePositions{.first = 0, .tokens = -1}, {"tokens", "got -1"});
  const std::vector<std::int64_t> data(4);
  expect_refused(good(), PositionArray<std::int64_t>{.data = data.data(), .batch = 1, .tokens = -3},
                 {"tokens", "got -3"});
  expect_refused(good(), PositionArray<std::int64_t>{.data = data.data(), .batch = -1, .tokens = 4},
                 {"batch", "got -1"});
  expect_refused(good(), PositionArray<std::int32_t>{.data = nullptr, .batch = 0, .tokens = 4},
                 {"batch", "got 0"});
}

TEST(RotationsErrors, NoData) {
  expect_refused(good(), PositionArray<std::int32_t>{.data = nullptr, .tokens = 4}, {"null"});
  expect_refused(good(), PositionArray<std::int64_t>{.data = nullptr, .tokens = 4}, {"null"});
}

// More rows than int64 can count is an error.
TEST(RotationsErrors, MoreThanCanBeCounted) {
  const std::int64_t one = 1;
  for (const std::int64_t tokens : {highest / 2, highest - 1}) {
    EXPECT_FALSE(make_rotations(good(), ConsecutivePositions{.first = 0, .tokens = tokens}));
    const PositionArray<std::int64_t> array{
        .data = &one, .batch = 4, .tokens = tokens, .batch_stride = 0, .token_stride = 0};
    EXPECT_FALSE(make_rotations(good(), array));
  }
}

// AddressSanitizer ends the process where operator new would throw.
#ifndef __SANITIZE_ADDRESS__
TEST(RotationsErrors, MoreThanMemoryHolds) {
  for (const std::int64_t tokens : {std::int64_t{1} << 50, std::int64_t{1} << 45}) {
    EXPECT_TRUE(
        test::fails(make_rotations(good(), ConsecutivePositions{.first = 0, .tokens = tokens}),
                    ErrorCode::out_of_memory, {}));
  }
}
#endif

}  // namespace
}  // namespace rotary
