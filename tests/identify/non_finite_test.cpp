// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "identify/faulty_rotation.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::array spoilers = {nan, infinity, -infinity, 1e39, -1e300};
constexpr std::int64_t tokens = 60;  // more tokens and heads than the search reads
constexpr Extents extents{.tokens = tokens, .heads = 6, .features = 8};

RotarySpec spec() { return {.head_dim = 8, .base = 10000.0, .pairing = Pairing::half}; }

IdentifyOptions options() {
  IdentifyOptions options{.positions = ConsecutivePositions{.first = 0, .tokens = tokens},
                          .most_causes = 1};
  options.model.emplace().rotary.push_back(
      {.layer_type = {}, .spec = spec(), .trained_context_tokens = {}});
  return options;
}

// Replaces one element at a time by each spoiler. identify() must refuse it as outside float32's
// range.
template <class Identify>
void expect_refusals(std::vector<double>& numbers, const Identify& identify) {
  for (double& number : numbers) {
    for (const double spoiler : spoilers) {
      const double right = std::exchange(number, spoiler);
      const Result<Identification> found = identify();
      number = right;
      ASSERT_FALSE(found) << &number - numbers.data() << ": " << spoiler;
      EXPECT_EQ(found.error().code, ErrorCode::invalid_argument);
      EXPECT_NE(found.error().message.find("float32's range, got "), std::string::npos)
          << found.error().message;
    }
  }
}

TEST(NonFinite, EachElementOfHeadsIsChecked) {
  std::vector<double> before(static_cast<std::size_t>(tokens) * 6 * 8);
  std::iota(before.begin(), before.end(), 1);
  std::vector<double> after = before;
  const auto frequencies = value_of(make_frequencies(spec()));
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (i % 8 >= 4) continue;
    const std::size_t token = i / 48;
    const double angle = static_cast<double>(token) * frequencies.inv_freq[i % 8];
    after[i] = before[i] * std::cos(angle) - before[i + 4] * std::sin(angle);
    after[i + 4] = before[i + 4] * std::cos(angle) + before[i] * std::sin(angle);
  }
  const ConstHeadsView view{before.data(), DType::f64, extents, strides_bthd(extents)};
  const ConstHeadsView other{after.data(), DType::f64, extents, strides_bthd(extents)};
  const auto call = [&] { return identify(view, other, options()); };
  EXPECT_EQ(value_of(call()).verdict, Verdict::as_configured);
  expect_refusals(before, call);
  expect_refusals(after, call);
}

TEST(NonFinite, EachNumberOfTablesIsChecked) {
  const auto frequencies = value_of(make_frequencies(spec()));
  std::vector<double> cosines;
  std::vector<double> sines;
  for (std::int64_t p = 0; p < tokens; ++p) {
    for (const double frequency : frequencies.inv_freq) {
      cosines.push_back(std::cos(static_cast<double>(p) * frequency));
      sines.push_back(std::sin(static_cast<double>(p) * frequency));
    }
  }
  const CosSinView rows{.cos = cosines.data(),
                        .sin = sines.data(),
                        .dtype = DType::f64,
                        .tokens = tokens,
                        .token_stride = 4};
  const auto call = [&] { return identify_rows(rows, 4, options()); };
  EXPECT_EQ(value_of(call()).verdict, Verdict::as_configured);
  expect_refusals(cosines, call);
  expect_refusals(sines, call);
}

TEST(NonFinite, EachFrequencyAndTheFactorAreChecked) {
  std::vector<double> inv_freq = value_of(make_frequencies(spec())).inv_freq;
  std::vector<double> factor = {1};
  const auto call = [&] {
    IdentifyOptions without_positions = options();
    without_positions.positions.reset();
    return identify_frequencies(inv_freq, factor.front(), without_positions);
  };
  EXPECT_EQ(value_of(call()).verdict, Verdict::as_configured);
  expect_refusals(inv_freq, call);
  factor = {0};
  EXPECT_FALSE(call());
  for (const double spoiler : spoilers) {
    factor = {spoiler};
    EXPECT_FALSE(call()) << spoiler;
  }
}

// Strides of 0 repeat one head 2^60 times.
TEST(NonFinite, ARepeatedHeadIsReadOnce) {
  const std::vector<double> one = {1, nan};
  const Extents huge{
      .tokens = std::int64_t{1} << 40, .heads = std::int64_t{1} << 20, .features = 2};
  const ConstHeadsView view{one.data(), DType::f64, huge, {.feature = 1}};
  const auto found = identify(view, view);
  ASSERT_FALSE(found);
  EXPECT_EQ(
      found.error().message,
      "before must have finite elements of float32's range, got nan at batch 0, token 0, head "
      "0, feature 1");
}

// 1e-200 squared underflows, so the heads would have norm 0.
TEST(NonFinite, NumbersThatAreZeroInFloat32AreRefused) {
  const std::vector<double> tiny(static_cast<std::size_t>(tokens) * 6 * 8, 1e-200);
  const ConstHeadsView view{tiny.data(), DType::f64, extents, strides_bthd(extents)};
  EXPECT_FALSE(identify(view, view, options()));
}

TEST(Identify, RefusesAnEmbeddingIndexWithoutAModel) {
  const std::vector<double> inv_freq = {1, 0.1};
  const auto found = identify_frequencies(inv_freq, 1, {.rotary = 1});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "rotary must be 0 without a model, got 1");
}

}  // namespace
}  // namespace rotary::test
