// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "rotary/rotations.hpp"
#include "support/cases.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

Frequencies good() {
  return test::frequencies_of(
      {.head_dim = 8, .rotary_dim = 6, .first_feature = 1, .pairing = Pairing::half});
}

// A valid call for two tokens. Tests change the frequencies or the positions.
struct MakeCall {
  Frequencies of = good();
  Positions at = ConsecutivePositions{.first = 0, .tokens = 2};

  [[nodiscard]] Status run() const {
    const auto made = make_rotations(of, at);
    return made ? Status() : made.error();
  }
};

using RotationsErrors = test::Refusals<MakeCall>;

TEST_F(RotationsErrors, InvalidFrequenciesAreRefused) {
  accept(c);
  refuse((c.of.turns.pop_back(), c), {"turns", "3", "got 2"});
  refuse((c.of.turns.push_back(1), c), {"turns", "3", "got 4"});
  refuse((c.of.steps.pop_back(), c), {"steps", "got"});
  refuse(c.of.window.rotary_dim = 5, {"rotary_dim must be even", "got 5"});
  refuse(c.of.window.first_feature = 4, {"rotary_dim", "got 6"});
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()})
    refuse(c.of.attention_factor = bad, {"attention_factor", "got"});
}

TEST_F(RotationsErrors, InvalidPositionsAreRefused) {
  refuse(c.at = ConsecutivePositions{.first = highest, .tokens = 2},
         {"int64", "9223372036854775807"});
  refuse(c.at = ConsecutivePositions{.first = 2, .tokens = highest}, {"int64"});
  refuse(c.at = ConsecutivePositions{.first = 0, .tokens = -1}, {"tokens", "got -1"});
  using Numbers = TokenArray<std::int64_t>;
  const std::vector<std::int64_t> data(4);
  const std::int64_t* const four = data.data();
  refuse(c.at = Numbers{.data = four, .batch = 1, .tokens = -3}, {"tokens", "got -3"});
  refuse(c.at = Numbers{.data = four, .batch = -1, .tokens = 4}, {"batch", "got -1"});
  refuse(c.at = TokenArray<std::int32_t>{.data = nullptr, .batch = 0, .tokens = 4},
         {"batch", "got 0"});
  refuse(c.at = TokenArray<std::int32_t>{.data = nullptr, .tokens = 4}, {"null"});
  refuse(c.at = Numbers{.data = nullptr, .tokens = 4}, {"null"});
  refuse(c.at = TokenArray<double>{.data = nullptr, .tokens = 4}, {"null"});
  const auto* const bytes = reinterpret_cast<const std::byte*>(four);
  refuse(c.at = Numbers{.data = reinterpret_cast<const std::int64_t*>(bytes + 4), .tokens = 3},
         {"positions must be aligned", "8 bytes", "4 bytes off"});
  // The default batch_stride, 0, would silently give all batch rows the positions of the first.
  refuse(c.at = Numbers{.data = four, .batch = 3, .tokens = 1},
         {"batch_stride", "got batch 3", "batch of 1 serves"});
}

TEST_F(RotationsErrors, PositionStridesBeyondMemoryAreRefused) {
  const std::vector<std::int32_t> data(4);
  const auto at = [&](std::int64_t batch, std::int64_t tokens, std::int64_t stride) {
    return TokenArray<std::int32_t>{data.data(), batch, tokens, stride, stride};
  };
  for (const std::int64_t stride : {std::numeric_limits<std::int64_t>::min(), highest}) {
    refuse(c.at = at(1, 3, stride), {"positions must span less than 2^62 bytes"});
    refuse(c.at = at(2, 1, stride), {"positions must span less than 2^62 bytes"});
    accept(c.at = at(1, 1, stride));
  }
}

TEST_F(RotationsErrors, AnUnknownRowTypeIsRefused) {
  test::refused(make_rotations(c.of, c.at, {.rows = static_cast<RowDType>(3)}),
                {"rows must be f32 or f64", "got value 3"});
  test::refused(row_bytes(good().window, 1, 2, static_cast<RowDType>(0)),
                {"rows must be f32 or f64"});
}

// 3 pairs are padded to 16, so a token has 16 cosines and 16 sines.
TEST_F(RotationsErrors, RowBytesCountPaddedPairs) {
  EXPECT_EQ(test::value_of(row_bytes(good().window, 3, 5, RowDType::f32)), 3U * 5 * 2 * 16 * 4);
  EXPECT_EQ(test::value_of(row_bytes(good().window, 3, 5, RowDType::f64)), 3U * 5 * 2 * 16 * 8);
  HeadWindow broken = good().window;
  broken.head_dim = 1;
  test::refused(row_bytes(broken, 1, 2, RowDType::f32), {"head_dim", "got 1"});
  test::refused(row_bytes(good().window, 0, 2, RowDType::f32), {"batch", "got 0"});
  test::refused(row_bytes(good().window, 1, -2, RowDType::f32), {"tokens", "got -2"});
  test::refused(row_bytes(good().window, highest, highest, RowDType::f32), {"fit in memory"});
}

// Doubles beyond int64 are refused. -2^63 is the lowest position.
TEST_F(RotationsErrors, NonFiniteAndTooLargePositionsAreRefused) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity(), 0x1p63, -0x1.0000000000001p63, 1e300, -1e300}) {
    std::vector<double> positions = {0, 1.5, 2, 3, 4, 5.25};
    positions[5] = bad;
    alignas(double) std::byte memory[4096] = {};
    test::refused(make_rotations(good(), positions_of(std::span<const double>(positions), 2),
                                 {.memory = memory}),
                  {"positions must be finite and in [-2^63, 2^63), got ", "batch 1, token 2"});
    EXPECT_TRUE(std::ranges::all_of(memory, [](std::byte byte) { return byte == std::byte{}; }));
  }
  const std::vector<double> positions = {-0x1p63, 0x1p63 - 1024};
  EXPECT_TRUE(make_rotations(good(), positions_of(std::span(positions))));
}

TEST_F(RotationsErrors, InvalidInvFreqIsRefusedForDoublePositions) {
  const double position = 0.5;
  const TokenArray<double> one{.data = &position, .tokens = 1};
  for (const double bad : {-0x1p40, 0x1p40, std::numeric_limits<double>::quiet_NaN()}) {
    c.of.inv_freq[1] = bad;
    refuse(c.at = one, {"inv_freq must be in (-2^40, 2^40)", "got", "pair 1"});
  }
  c.of.inv_freq.pop_back();
  refuse(c.at = one, {"inv_freq must have one entry for each pair, 3", "got 2"});
}

TEST_F(RotationsErrors, RowCountsThatOverflowAreRefused) {
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

// AddressSanitizer ends the process where operator new would throw.
#ifndef __SANITIZE_ADDRESS__
TEST_F(RotationsErrors, RowsBeyondMemoryAreRefused) {
  for (const std::int64_t tokens : {std::int64_t{1} << 50, std::int64_t{1} << 45}) {
    test::refused(make_rotations(good(), ConsecutivePositions{.first = 0, .tokens = tokens}), {},
                  ErrorCode::out_of_memory);
  }
}
#endif

}  // namespace
}  // namespace rotary
