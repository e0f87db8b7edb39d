// SPDX-License-Identifier: Apache-2.0
// Generated ids pass, one wrong id is located, and sizes that do not fit are refused.
// python/tests/test_position_ids.py has a case for each kind of finding.
#include "rotary/position_ids.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "rotary/axis_positions.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using Numbers = std::vector<std::int64_t>;
using test::value_of;

constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();

TEST(PositionIds, OneWrongIdIsFoundAtItsToken) {
  std::mt19937 random(1);
  const auto upto = [&random](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random);
  };
  for (int i = 0; i < 300; ++i) {
    Numbers lengths(static_cast<std::size_t>(1 + upto(4)));
    Numbers past(lengths.size());
    for (std::int64_t& each : lengths) each = 2 + upto(5);
    for (std::int64_t& each : past) each = upto(9);
    Numbers ids = value_of(packed_positions(lengths, past));
    const KnownSequences packed{.lengths = lengths, .past = past};
    EXPECT_TRUE(value_of(check_positions({.numbers = ids}, packed)).findings.empty());
    const auto wrong = upto(std::ssize(ids) - 1);
    ids[static_cast<std::size_t>(wrong)] += 100;
    const auto findings = value_of(check_positions({.numbers = ids}, packed)).findings;
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].token, wrong);
    EXPECT_EQ(findings[0].kind, "other");

    const std::int64_t batch = 1 + upto(3);
    Numbers real(static_cast<std::size_t>(batch * (3 + upto(6))));
    for (std::int64_t& each : real) each = upto(1);
    const PaddingMask mask{.real = real, .batch = batch};
    const Numbers padded = value_of(padded_positions(mask, 2));
    const auto found =
        value_of(check_positions({.numbers = padded, .batch = batch}, {.attention_mask = mask}));
    EXPECT_TRUE(found.findings.empty() && found.judged) << found.sentence;
  }
}

TEST(PositionIds, LengthsAreDifferencesOfBounds) {
  EXPECT_EQ(value_of(sequence_lengths(Numbers{0, 5, 5, 7})), (Numbers{5, 0, 2}));
  for (const Numbers& bounds :
       {Numbers{}, Numbers{0}, Numbers{1, 2}, Numbers{0, 3, 2}, Numbers{0, far}, Numbers{-far, 0}})
    EXPECT_EQ(sequence_lengths(bounds).error().code, ErrorCode::invalid_argument);
}

TEST(PositionIds, SizesThatDoNotFitAreRefused) {
  const Numbers six = {0, 1, 2, 3, 4, 5};
  const Numbers two = {1, 1};
  const Numbers none = {0};
  for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{4}, far}) {
    EXPECT_FALSE(padded_positions({.real = six, .batch = wrong}));
    EXPECT_FALSE(check_positions({.numbers = six, .batch = wrong}));
    EXPECT_FALSE(check_positions({.numbers = six, .axes = wrong}));
    EXPECT_FALSE(check_positions({.numbers = six}, {.attention_mask = {six, wrong}}));
  }
  EXPECT_TRUE(value_of(padded_positions({.batch = far})).empty());
  EXPECT_FALSE(padded_positions({.real = six}, 7));
  EXPECT_FALSE(padded_positions({.real = six}, -1));
  EXPECT_FALSE(packed_positions(six, two));
  EXPECT_FALSE(packed_positions(Numbers{most_axis_tokens, 1}));
  EXPECT_FALSE(packed_positions(two, Numbers{far}));
  for (const KnownSequences& known :
       {KnownSequences{.lengths = two}, KnownSequences{.lengths = none},
        KnownSequences{.past = two}, KnownSequences{.attention_mask = {two}}})
    EXPECT_FALSE(check_positions({.numbers = six}, known));
  EXPECT_FALSE(check_positions({.numbers = six, .batch = 2}, {.lengths = six}));
}

}  // namespace
}  // namespace rotary
