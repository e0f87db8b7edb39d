// SPDX-License-Identifier: Apache-2.0
// attend() reuses bias tables and rows from one block to the next. Tests FIRE on both sides of its
// threshold, sequences with equal and with different distances, and distances of any size.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "support/attention/attend_samples.hpp"
#include "support/attention/attended.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::AttendCase;
using test::Attended;

// Most hidden units switch at points spread over (0, 1), two units at a point. Some are always
// active, one never.
Fire fire_of(double threshold, std::int64_t heads) {
  Fire fire{.c = -0.3, .threshold = threshold};
  constexpr std::int64_t width = 26;
  for (std::int64_t unit = 0; unit < width; ++unit) {
    const double weight = unit % 2 == 0 ? 1.5 : -1.25;
    const double zero = static_cast<double>(unit / 2 % 12 + (unit == 25 ? 0 : unit % 2)) / 12.5;
    fire.hidden_weight.push_back(weight);
    fire.hidden_bias.push_back(unit == 24 ? 0.5 : -weight * zero);
  }
  for (std::int64_t i = 0; i < heads * width; ++i)
    fire.output_weight.push_back(std::sin(static_cast<double>(3 * i + 1)));
  for (std::int64_t head = 0; head < heads; ++head)
    fire.output_bias.push_back(0.25 * static_cast<double>(head));
  return fire;
}

// Queries up to the threshold share a table by distance. In the first case these queries see no
// key. In the second case the threshold and some positions beyond it are equal in float64.
TEST(AttendBias, SharesTablesOfFireOnlyUpToItsThreshold) {
  const std::int64_t far = (std::int64_t{1} << 54) - 8;
  struct Case {
    double threshold;
    AttentionSequence sequence;
  };
  const Case cases[] = {{10, {0, 0, 3000, 0, 4, 0, 2996}}, {0x1p54, {0, 0, 20, 0, 20, far, far}}};
  for (const auto& [threshold, sequence] : cases) {
    const test::AttentionShape shape{1, sequence.queries, sequence.keys, 2, 1, 2, 2};
    SCOPED_TRACE(std::to_string(threshold));
    Attended call({.shape = shape,
                   .encoding = {.bias = fire_of(threshold, 2)},
                   .mask = {.order = AttentionOrder::causal},
                   .sequences = {sequence},
                   .scale = 0.3,
                   .seed = 77});
    test::require(call.run());
    ASSERT_TRUE(call.is_right());
  }
}

// Thresholds are before, among and after the positions of the queries. Keys span several tiles.
TEST(AttendBias, FireDividesByTheQuerysPositionBeyondItsThreshold) {
  const AttentionMask masks[] = {{.order = AttentionOrder::causal},
                                 {.order = AttentionOrder::bidirectional},
                                 {.order = AttentionOrder::causal, .left = 270, .sinks = 3},
                                 {.order = AttentionOrder::bidirectional, .left = 40, .right = 30}};
  std::uint64_t seed = 1000;
  for (const double threshold : {2.0, 540.0, -541.5, 1e9}) {
    for (const std::int64_t queries : {1, 3, 31}) {
      for (const AttentionMask& mask : masks) {
        const test::AttentionShape shape{1, queries, 600, 4, 2, 2, 2};
        SCOPED_TRACE(std::to_string(threshold) + " " + std::to_string(queries));
        Attended call({.shape = shape,
                       .encoding = {.bias = fire_of(threshold, 4)},
                       .mask = mask,
                       .sequences = {{0, 0, queries, 0, 600, 556 - queries, 0}},
                       .scale = 0.3,
                       .seed = seed += 10});
        test::require(call.run());
        ASSERT_TRUE(call.is_right());
      }
    }
  }
}

// One call for all sequences has the bits of one call for each sequence.
TEST(AttendBias, KeepsNothingOfThePreviousSequence) {
  const std::vector<AttentionSequence> sequences = {
      {0, 0, 9, 0, 200, 191, 0},     {0, 9, 9, 90, 110, 101, 0}, {0, 18, 9, 0, 300, 291, 0},
      {0, 27, 9, 0, 40, 7000, 6000}, {0, 36, 2, 0, 300, 30, 0},  {0, 38, 9, 5, 290, 515, 230}};
  const test::AttentionShape shape{1, 47, 300, 4, 2, 2, 2};
  std::vector<test::EncodingSample> encodings = test::attend_encodings(shape);
  encodings.push_back({"fire beyond its threshold", {.bias = fire_of(150, 4)}});
  for (const test::EncodingSample& encoding : encodings) {
    if (!encoding.encoding.bias || encoding.encoding.rotary) continue;  // shared keys do not rotate
    SCOPED_TRACE(encoding.name);
    AttendCase made_of{.shape = shape,
                       .encoding = encoding.encoding,
                       .sequences = sequences,
                       .scale = 0.3,
                       .seed = 2000};
    Attended all(made_of);
    test::require(all.run());
    for (const AttentionSequence& each : sequences) {
      made_of.sequences = {each};
      Attended one(made_of);
      test::require(one.run());
      for (std::int64_t query = 0; query < each.queries; ++query) {
        for (std::int64_t head = 0; head < shape.heads; ++head) {
          const test::HeadIndex at{.batch = 0, .token = each.first_query + query, .head = head};
          EXPECT_EQ(all.out.at(at, 0), one.out.at(at, 0));
          EXPECT_EQ(all.out.at(at, 1), one.out.at(at, 1));
        }
      }
    }
  }
}

// attend() computes biases in blocks of distances, on both sides of the query. Results are within
// the bound, and bit-identical to a call for the later queries, whose blocks start elsewhere.
TEST(AttendBias, ComputesEachDistanceIndependentlyAtAnyRange) {
  const std::vector<double> p = {0.5, 2.0};
  const std::vector<double> a = {1.5, 1e-9};
  struct Case {
    RelativeBias bias;
    std::int64_t farthest;  // where the reference stays accurate
  };
  constexpr std::int64_t far = (std::int64_t{1} << 60) - 40;
  const Case cases[] = {{KerpleLog{.p = p, .a = a}, far},
                        {KerplePower{.a = a, .p = {0.03, 0.002}}, far},
                        {Sandwich{.dim = 12, .heads = 2}, 1 << 20}};
  const test::AttentionShape shape{1, 37, 75, 2, 1, 2, 2};
  for (const auto& [bias, farthest] : cases) {
    for (const std::int64_t query : {std::int64_t{19}, std::int64_t{1023}, std::int64_t{70001},
                                     (std::int64_t{1} << 52) - 20, far}) {
      SCOPED_TRACE(std::string(to_string(bias)) + " " + std::to_string(query));
      AttendCase made_of{.shape = shape,
                         .encoding = {.bias = bias},
                         .mask = {.order = AttentionOrder::bidirectional},
                         .sequences = {{0, 0, 37, 0, 75, query, 0}},
                         .scale = 0.3,
                         .seed = 3000};
      Attended all(made_of);
      test::require(all.run());
      if (query <= farthest) {
        ASSERT_TRUE(all.is_right());
      }
      made_of.sequences = {{0, 17, 20, 0, 75, query + 17, 0}};
      Attended some(made_of);
      test::require(some.run());
      for (std::int64_t row = 17; row < 37; ++row) {
        for (std::int64_t head = 0; head < shape.heads; ++head) {
          const test::HeadIndex at{.batch = 0, .token = row, .head = head};
          EXPECT_EQ(all.out.at(at, 0), some.out.at(at, 0));
          EXPECT_EQ(all.out.at(at, 1), some.out.at(at, 1));
        }
      }
    }
  }
}

}  // namespace
}  // namespace rotary
