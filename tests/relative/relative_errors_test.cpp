// SPDX-License-Identifier: Apache-2.0
// Relative encodings refuse bad arguments, naming the requirement and the value, and write nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "relative/samples.hpp"
#include "rotary/relative_bias.hpp"
#include "support/refusals.hpp"
#include "support/tensor.hpp"

namespace rotary {
namespace {

using test::refused;
using test::Tensor;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t int64_min = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();

// Expects this error from validate, bias_at, fill_bias and add_bias_gradient.
void expect_invalid(const RelativeBias& bias, test::Parts parts) {
  refused(validate(bias), parts);
  refused(bias_at(bias, {}), parts);
  Tensor out(test::scores_shape(DType::f32, 2, 2));
  const auto before = out.bytes();
  refused(fill_bias(test::scores_of(out.view()), bias, BiasRange{}), parts);
  EXPECT_EQ(out.bytes(), before);
  std::vector<double> gradients(6);
  const auto d_bias = test::scores_of(std::as_const(out).view());
  refused(add_bias_gradient(gradients, bias, d_bias, BiasRange{}), parts);
}

template <class Encoding>
Encoding sample(std::size_t index) {
  return std::get<Encoding>(test::samples()[index].bias);
}

template <class Encoding, class Change>
Encoding changed(Encoding encoding, Change change) {
  change(encoding);
  return encoding;
}

TEST(RelativeErrors, BadT5BiasesAreRefused) {
  const auto t5 = sample<T5Bias>(0);
  const auto with = [&](auto change) { return changed(t5, change); };
  expect_invalid(with([](auto& b) { b.buckets.buckets = 33; }), {"even, from 4", "got 33"});
  expect_invalid(with([](auto& b) { b.buckets.buckets = 2; }), {"even, from 4", "got 2"});
  expect_invalid(with([](auto& b) { b.buckets.buckets = int64_max - 1; }), {"2^24", "got 92233"});
  expect_invalid(with([](auto& b) { b.buckets.max_distance = 8; }), {"more than the 8", "got 8"});
  expect_invalid(with([](auto& b) { b.buckets.max_distance = int64_min; }), {"max_distance"});
  expect_invalid(with([](auto& b) { b.buckets.direction = {}; }), {"bidirectional or causal"});
  expect_invalid(with([](auto& b) { b.buckets.rounding = {}; }), {"transformers or ggml"});
  expect_invalid(with([](auto& b) { b.table.rows = 31; }), {"32 rows", "got rows 31"});
  expect_invalid(with([](auto& b) { b.table.features = 0; }), {"column for each head"});
  expect_invalid(with([](auto& b) { b.table.data = nullptr; }), {"table: data must not be null"});
  expect_invalid(with([](auto& b) { b.table.dtype = {}; }), {"table: dtype"});
  expect_invalid(with([](auto& b) { b.table.features = int64_max; }), {"table: elements"});
  expect_invalid(with([](auto& b) { b.table.row_stride = int64_max; }), {"table: the view must"});
  refused(t5_bucket(0, {}), {"direction"});
}

TEST(RelativeErrors, BadAlibiIsRefused) {
  const Alibi alibi{.heads = 3};
  const auto with = [&](auto change) { return changed(alibi, change); };
  expect_invalid(with([](auto& b) { b.heads = 0; }), {"1 to 2^20", "got 0"});
  expect_invalid(with([](auto& b) { b.heads = int64_max; }), {"1 to 2^20"});
  expect_invalid(with([](auto& b) { b.model_heads = 2; }), {"among the 2", "got heads 3"});
  expect_invalid(with([](auto& b) { b.first_head = 1; }), {"among the 3", "first_head 1"});
  expect_invalid(with([](auto& b) { b.first_head = int64_min; }), {"first_head"});
  expect_invalid(with([](auto& b) { b.form = {}; }), {"causal, symmetric or key_position"});
  for (const double bad : {0.0, -8.0, 65.0, nan, infinity})
    expect_invalid(with([&](auto& b) { b.bias_max = bad; }), {"bias_max", "<= 64"});
  expect_invalid(with([](auto& b) { b.slopes = {1, 2}; }), {"each of 3 heads", "got 2"});
  expect_invalid(with([](auto& b) { b.slopes = {1, nan, 2}; }), {"slopes", "got nan"});
  EXPECT_FALSE(alibi_slopes({}));
}

TEST(RelativeErrors, BadKerpleFireAndSandwichAreRefused) {
  const auto log = sample<KerpleLog>(5);
  const auto power = sample<KerplePower>(6);
  const auto fire = sample<Fire>(7);
  const Sandwich sandwich{.dim = 4, .heads = 3};
  expect_invalid(KerpleLog{}, {"at least one", "got 0 and 0"});
  expect_invalid(changed(log, [](auto& b) { b.a.pop_back(); }), {"got 3 and 2"});
  for (const double bad : {0.0, -1.0, nan, infinity, 1e100}) {
    expect_invalid(changed(log, [&](auto& b) { b.p[1] = bad; }), {"p must be > 0"});
    expect_invalid(changed(log, [&](auto& b) { b.a[2] = bad; }), {"a must be > 0"});
    expect_invalid(changed(power, [&](auto& b) { b.a[0] = bad; }), {"a must be > 0"});
    expect_invalid(changed(power, [&](auto& b) { b.p[0] = bad; }), {"p must be > 0 and <= 2"});
  }
  for (const double bad : {nan, infinity, -1e100}) {
    expect_invalid(changed(fire, [&](auto& b) { b.c = bad; }), {"c must be", "got"});
    expect_invalid(changed(fire, [&](auto& b) { b.threshold = bad; }), {"threshold", "got"});
    expect_invalid(changed(fire, [&](auto& b) { b.epsilon = bad; }), {"epsilon", "got"});
    expect_invalid(changed(fire, [&](auto& b) { b.output_weight[3] = bad; }), {"output_weight"});
    expect_invalid(changed(fire, [&](auto& b) { b.hidden_bias[3] = bad; }), {"hidden_bias"});
    expect_invalid(changed(sandwich, [&](auto& b) { b.base = bad; }), {"base", ">= 1"});
  }
  expect_invalid(Fire{}, {"at least one", "got 0, 0, 0 and 0"});
  expect_invalid(changed(fire, [](auto& b) { b.output_weight.pop_back(); }), {"got 7, 7, 3"});
  expect_invalid(changed(sandwich, [](auto& b) { b.dim = 3; }), {"even", "got 3"});
  expect_invalid(changed(sandwich, [](auto& b) { b.dim = 0; }), {"even", "got 0"});
  expect_invalid(changed(sandwich, [](auto& b) { b.heads = 0; }), {"heads", "got 0"});
}

TEST(RelativeErrors, BadViewsAndPositionsAreRefused) {
  const RelativeBias bias = test::samples().front().bias;
  Tensor out(test::scores_shape(DType::f32, 4, 5));
  const ScoresView good = test::scores_of(out.view());
  const auto before = out.bytes();
  const auto fill = [&](auto change, const BiasRange& range = {}) {
    return fill_bias(changed(good, change), bias, range);
  };
  refused(fill([](auto& v) { v.data = nullptr; }), {"out: data must not be null"});
  refused(fill([](auto& v) { v.dtype = {}; }), {"out: dtype must be"});
  refused(fill([](auto& v) { v.extents.queries = -1; }), {"queries -1"});
  refused(fill([](auto& v) { v.extents.heads = 2; }), {"the bias, 3", "got 2"});
  refused(fill([](auto& v) { v.strides.key = 0; }), {"must be distinct", "key 0"});
  refused(fill([](auto& v) { v.strides.query = 4; }), {"must be distinct"});
  refused(fill([](auto& v) { v.strides.head = int64_max; }), {"2^62 bytes"});
  refused(fill([](auto& v) { v.data = static_cast<char*>(v.data) + 1; }),
          {"aligned", "1 bytes off"});
  const auto nothing = [](auto&) {};
  refused(fill(nothing, {.first_query = int64_max - 2}), {"queries", "int64"});
  refused(fill(nothing, {.first_key = int64_max - 2}), {"keys", "int64"});
  refused(fill(nothing, {.first_query = int64_min}), {"less than 2^63 apart"});
  refused(fill(nothing, {.first_query = 4, .first_key = int64_min}), {"2^63 apart"});
  const std::vector<std::int64_t> four = {1, 2, 3, 4};
  refused(fill_bias(good, bias, BiasPositions{.queries = four, .keys = four}),
          {"4 queries and of 5 keys", "got 4 and 4"});
  refused(fill_distances(good, bias, 0), {"queries must be 1", "got 4"});
  refused(fill_distances(good, test::samples()[7].bias, 0), {"key - query", "fire"});
  refused(fill_distances(good, test::samples()[4].bias, 0), {"key_position"});
  EXPECT_FALSE(bias_at(bias, {.head = 3}));
  EXPECT_FALSE(bias_at(bias, {.head = -1}));
  EXPECT_FALSE(bias_at(bias, {.query = int64_min, .key = 0}));
  EXPECT_EQ(out.bytes(), before);
}

TEST(RelativeErrors, OverlappingMemoryIsRefused) {
  auto t5 = sample<T5Bias>(0);
  std::vector<double> memory(32 * 3);
  t5.table.data = memory.data();
  const ScoresExtents extents{.heads = 3, .queries = 2, .keys = 2};
  const ScoresView inside{memory.data() + 1, DType::f64, extents, strides_bhqk(extents)};
  refused(fill_bias(inside, t5, BiasRange{}), {"out and table", "no element"});
  refused(add_bias_gradient(memory, t5, inside, BiasRange{}), {"gradients and d_bias"});
  std::vector<double> short_by_one(95);
  refused(add_bias_gradient(short_by_one, t5, inside, BiasRange{}), {"96 parameters", "got 95"});
}

// A stride of 0 repeats elements without memory, so a gradient could take far too long.
TEST(RelativeErrors, ElementsRepeatedTooOftenAreRefused) {
  const RelativeBias bias(Alibi{.heads = 1, .slopes = {0.5}});
  const double one = 1;
  std::vector<double> gradients(1);
  ConstScoresView view{&one, DType::f64, {.heads = 1, .queries = 2, .keys = 3}, {.key = 0}};
  EXPECT_TRUE(add_bias_gradient(gradients, bias, view, BiasRange{}).ok());
  view.extents.batch = std::int64_t{1} << 35;
  refused(add_bias_gradient(gradients, bias, view, BiasRange{}),
          {"d_bias: elements that a stride of 0 repeats", "2^36", "batch 34359738368"});
}

// A parameter is valid at the bounds that ParameterFacts states, and refused one step beyond.
TEST(RelativeErrors, BoundsAgreeWithTheFacts) {
  std::vector<std::string> seen;
  for (const test::Sample& sample : test::samples()) {
    SCOPED_TRACE(sample.name);
    const auto expect = [&](const ParameterFacts& facts, double number, std::size_t index) {
      RelativeBias bias = sample.bias;
      for_each_parameter(bias, [&]<class Member>(const ParameterFacts& other, Member& member) {
        if (other.name != facts.name) return;
        if constexpr (std::is_same_v<Member, double>) member = number;
        if constexpr (std::is_same_v<Member, std::vector<double>>) member.at(index) = number;
      });
      return validate(bias);
    };
    const auto check = [&](const ParameterFacts& facts, std::size_t count) {
      if (count == 0) return;
      seen.push_back(std::string(to_string(sample.bias)).append(".").append(facts.name));
      const auto [least, most, requirement] = facts.bounds;
      EXPECT_TRUE(expect(facts, least, 0)) << seen.back();
      EXPECT_TRUE(expect(facts, most, count - 1)) << seen.back();
      EXPECT_FALSE(expect(facts, std::nextafter(least, -infinity), count - 1)) << seen.back();
      EXPECT_FALSE(expect(facts, std::nextafter(most, infinity), 0)) << seen.back();
      const Status status = expect(facts, std::numeric_limits<double>::quiet_NaN(), 0);
      ASSERT_FALSE(status) << seen.back();
      EXPECT_NE(status.error().message.find(facts.name), std::string::npos);
    };
    for_each_parameter(
        sample.bias, [&]<class Member>(const ParameterFacts& facts, const Member& member) {
          const bool unused = facts.name == "bias_max" && sample.name == "alibi key_position";
          if (unused) return;  // unused if slopes are given
          if constexpr (std::is_same_v<Member, double>) check(facts, 1);
          if constexpr (std::is_same_v<Member, std::vector<double>>) check(facts, member.size());
        });
  }
  EXPECT_GE(seen.size(), 20U);
}

}  // namespace
}  // namespace rotary
