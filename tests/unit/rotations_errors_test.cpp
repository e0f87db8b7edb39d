// SPDX-License-Identifier: Apache-2.0
// make_rotations refuses frequencies and positions that contradict themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "rotary/rotations.hpp"
#include "support/cases.hpp"
#include "support/error_matchers.hpp"
#include "support/result.hpp"

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
  expect_refused(good(), TokenArray<std::int64_t>{.data = data.data(), .batch = 1, .tokens = -3},
                 {"tokens", "got -3"});
  expect_refused(good(), TokenArray<std::int64_t>{.data = data.data(), .batch = -1, .tokens = 4},
                 {"batch", "got -1"});
  expect_refused(good(), TokenArray<std::int32_t>{.data = nullptr, .batch = 0, .tokens = 4},
                 {"batch", "got 0"});
}

TEST(RotationsErrors, RowsOfNoType) {
  EXPECT_TRUE(test::fails(make_rotations(good(), some, {.rows = static_cast<RowDType>(3)}),
                          ErrorCode::invalid_argument, {"rows must be f32 or f64", "got value 3"}));
  EXPECT_TRUE(test::fails(row_bytes(good().window, 1, 2, static_cast<RowDType>(0)),
                          ErrorCode::invalid_argument, {"rows must be f32 or f64"}));
}

// 3 pairs are padded to 16: two of these for a token.
TEST(RotationsErrors, RowBytes) {
  EXPECT_EQ(test::value_of(row_bytes(good().window, 3, 5, RowDType::f32)), 3U * 5 * 2 * 16 * 4);
  EXPECT_EQ(test::value_of(row_bytes(good().window, 3, 5, RowDType::f64)), 3U * 5 * 2 * 16 * 8);
  HeadWindow broken = good().window;
  broken.head_dim = 1;
  EXPECT_TRUE(test::fails(row_bytes(broken, 1, 2, RowDType::f32), ErrorCode::invalid_argument,
                          {"head_dim", "got 1"}));
  EXPECT_TRUE(test::fails(row_bytes(good().window, 0, 2, RowDType::f32),
                          ErrorCode::invalid_argument, {"batch", "got 0"}));
  EXPECT_TRUE(test::fails(row_bytes(good().window, 1, -2, RowDType::f32),
                          ErrorCode::invalid_argument, {"tokens", "got -2"}));
  EXPECT_TRUE(test::fails(row_bytes(good().window, highest, highest, RowDType::f32),
                          ErrorCode::invalid_argument, {"fit in memory"}));
}

TEST(RotationsErrors, NoData) {
  expect_refused(good(), TokenArray<std::int32_t>{.data = nullptr, .tokens = 4}, {"null"});
  expect_refused(good(), TokenArray<std::int64_t>{.data = nullptr, .tokens = 4}, {"null"});
  expect_refused(good(), TokenArray<double>{.data = nullptr, .tokens = 4}, {"null"});
}

TEST(RotationsErrors, PositionsOffTheirAlignment) {
  const std::vector<std::int64_t> data(4);
  const auto* const bytes = reinterpret_cast<const std::byte*>(data.data());
  expect_refused(good(),
                 TokenArray<std::int64_t>{.data = reinterpret_cast<const std::int64_t*>(bytes + 4),
                                          .tokens = 3},
                 {"positions must be aligned", "8 bytes", "4 bytes off"});
}

TEST(RotationsErrors, PositionsWhoseStridesLeaveMemory) {
  const std::vector<std::int32_t> data(4);
  for (const std::int64_t stride : {std::numeric_limits<std::int64_t>::min(), highest}) {
    expect_refused(good(),
                   TokenArray<std::int32_t>{
                       .data = data.data(), .batch = 1, .tokens = 3, .token_stride = stride},
                   {"positions must span less than 2^62 bytes"});
    expect_refused(good(),
                   TokenArray<std::int32_t>{
                       .data = data.data(), .batch = 2, .tokens = 1, .batch_stride = stride},
                   {"positions must span less than 2^62 bytes"});
    EXPECT_TRUE(make_rotations(good(), TokenArray<std::int32_t>{.data = data.data(),
                                                                .batch = 1,
                                                                .tokens = 1,
                                                                .batch_stride = stride,
                                                                .token_stride = stride}));
  }
}

// A double holds more than an int64 does. -2^63 is one.
TEST(RotationsErrors, DoublesThatAreNoPosition) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity(), 0x1p63, -0x1.0000000000001p63, 1e300, -1e300}) {
    std::vector<double> positions = {0, 1.5, 2, 3, 4, 5.25};
    positions[5] = bad;
    alignas(double) std::byte memory[4096] = {};
    EXPECT_TRUE(
        test::fails(make_rotations(good(), positions_of(std::span<const double>(positions), 2),
                                   {.memory = memory}),
                    ErrorCode::invalid_argument,
                    {"positions must be finite and in [-2^63, 2^63), got ", "batch 1, token 2"}));
    EXPECT_TRUE(std::ranges::all_of(memory, [](std::byte byte) { return byte == std::byte{}; }));
  }
  const std::vector<double> positions = {-0x1p63, 0x1p63 - 1024};
  EXPECT_TRUE(make_rotations(good(), positions_of(std::span(positions))));
}

TEST(RotationsErrors, InvFreqWherePositionsAreDoubles) {
  const double position = 0.5;
  const TokenArray<double> one{.data = &position, .tokens = 1};
  for (const double bad : {-0x1p40, 0x1p40, std::numeric_limits<double>::quiet_NaN()}) {
    Frequencies frequencies = good();
    frequencies.inv_freq[1] = bad;
    expect_refused(frequencies, one, {"inv_freq must be in (-2^40, 2^40)", "got", "pair 1"});
  }
  Frequencies frequencies = good();
  frequencies.inv_freq.pop_back();
  expect_refused(frequencies, one, {"inv_freq must have one entry for each pair, 3", "got 2"});
}

// More rows than int64 can count is an error.
TEST(RotationsErrors, MoreThanCanBeCounted) {
  const std::int64_t one = 1;
  for (const std::int64_t tokens : {highest / 2, highest - 1}) {
    EXPECT_FALSE(make_rotations(good(), ConsecutivePositions{.first = 0, .tokens = tokens}));
    const TokenArray<std::int64_t> array{
        .data = &one, .batch = 1, .tokens = tokens, .batch_stride = 0, .token_stride = 0};
    EXPECT_FALSE(make_rotations(good(), array));
    const double half = 0.5;
    EXPECT_FALSE(make_rotations(
        good(),
        TokenArray<double>{
            .data = &half, .batch = 1, .tokens = tokens, .batch_stride = 0, .token_stride = 0}));
  }
}

// The default: every batch row would silently have the positions of the first.
TEST(RotationsErrors, ForgottenBatchStride) {
  const std::int64_t starts[] = {5, 70, 1000};
  EXPECT_TRUE(test::fails(
      make_rotations(good(), TokenArray<std::int64_t>{.data = starts, .batch = 3, .tokens = 1}),
      ErrorCode::invalid_argument, {"batch_stride", "got batch 3", "batch of 1 serves"}));
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
