// SPDX-License-Identifier: Apache-2.0
// Tests head_window(), and breaks each requirement on the rotated part of the head once.
#include "rotary/rotary_spec.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "rotary/frequencies.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();

RotarySpec spec_with(std::int64_t head_dim, std::optional<std::int64_t> rotary_dim,
                     std::int64_t first_feature) {
  return {.head_dim = head_dim,
          .rotary_dim = rotary_dim,
          .first_feature = first_feature,
          .base = 10000.0,
          .pairing = Pairing::half};
}

void expect_refused(const RotarySpec& spec, test::Parts parts) {
  test::refused(head_window(spec), parts);
  test::refused(make_frequencies(spec), parts);
  test::refused(validate(spec), parts);
}

TEST(HeadWindow, IsTheFullHeadByDefault) {
  const HeadWindow window = test::value_of(head_window(spec_with(128, {}, 0)));
  EXPECT_EQ(window.head_dim, 128);
  EXPECT_EQ(window.rotary_dim, 128);
  EXPECT_EQ(window.first_feature, 0);
  EXPECT_EQ(window.pairing.get(), Pairing::half);
  EXPECT_EQ(window.pairs(), 64);
}

TEST(HeadWindow, ReachesTheEndOfTheHeadFromFirstFeature) {
  EXPECT_EQ(test::value_of(head_window(spec_with(512, {}, 448))).rotary_dim, 64);
  EXPECT_EQ(test::value_of(head_window(spec_with(512, 64, 448))).rotary_dim, 64);
  EXPECT_EQ(test::value_of(head_window(spec_with(96, 24, 0))).rotary_dim, 24);
}

TEST(HeadWindow, AcceptsAWindowOfOnePair) {
  EXPECT_EQ(test::value_of(head_window(spec_with(2, {}, 0))).pairs(), 1);
  EXPECT_EQ(test::value_of(head_window(spec_with(3, 2, 1))).pairs(), 1);
}

TEST(HeadWindow, RefusesAnOddRotaryDim) {
  expect_refused(spec_with(128, 65, 0), {"rotary_dim must be even", "got 65"});
  expect_refused(spec_with(127, {}, 0), {"rotary_dim must be even", "got 127"});
  expect_refused(spec_with(128, {}, 1), {"rotary_dim must be even", "got 127"});
}

TEST(HeadWindow, RefusesARotaryDimOutsideTheHead) {
  expect_refused(spec_with(128, 130, 0), {"rotary_dim", "128", "got 130"});
  expect_refused(spec_with(128, 128, 2), {"rotary_dim", "126", "got 128"});
  expect_refused(spec_with(128, 0, 0), {"rotary_dim", "got 0"});
  expect_refused(spec_with(128, -2, 0), {"rotary_dim", "got -2"});
  expect_refused(spec_with(128, highest - 1, 0), {"rotary_dim", "got 9223372036854775806"});
  expect_refused(spec_with(128, lowest, 0), {"rotary_dim", "got -9223372036854775808"});
}

TEST(HeadWindow, RefusesAFirstFeatureOutsideTheHead) {
  expect_refused(spec_with(128, 2, 128), {"first_feature", "got 128"});
  expect_refused(spec_with(128, {}, 127), {"first_feature", "got 127"});
  expect_refused(spec_with(128, {}, -1), {"first_feature", "got -1"});
  expect_refused(spec_with(128, {}, lowest), {"first_feature", "got -9223372036854775808"});
  expect_refused(spec_with(128, 2, highest), {"first_feature", "got 9223372036854775807"});
}

TEST(HeadWindow, RefusesAHeadWithoutAPair) {
  for (const std::int64_t head_dim : {std::int64_t{1}, std::int64_t{0}, std::int64_t{-4}, lowest}) {
    expect_refused(spec_with(head_dim, {}, 0), {"head_dim", "got " + std::to_string(head_dim)});
  }
}

TEST(HeadWindow, RefusesAPairingThatDoesNotExist) {
  for (const std::int32_t value : {0, 1 + std::int32_t{all_pairings.size()}, -1}) {
    RotarySpec spec = spec_with(128, {}, 0);
    spec.pairing = static_cast<Pairing>(value);
    expect_refused(spec, {"pairing", "half", "interleaved", "got", std::to_string(value)});
  }
}

TEST(Names, ArePrintedForPairingsAndSenses) {
  EXPECT_EQ(to_string(Pairing::half), "half");
  EXPECT_EQ(to_string(Pairing::interleaved), "interleaved");
  EXPECT_EQ(to_string(Pairing::interleaved_to_half), "interleaved_to_half");
  EXPECT_EQ(to_string(Sense::positive), "positive");
  EXPECT_EQ(to_string(Sense::negative), "negative");
}

}  // namespace
}  // namespace rotary
