// SPDX-License-Identifier: Apache-2.0
// Compares every gradient of the reference attention, along a random direction, with central
// differences of a random loss: all encodings, masks and head groupings. The library converts bias
// gradients into those of T5's table, ALiBi's slopes, and KERPLE's and FIRE's parameters.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/attention.hpp"
#include "rotary/relative_bias.hpp"
#include "support/attention/calls.hpp"
#include "support/attention/samples.hpp"
#include "support/bias_parameters.hpp"
#include "support/random.hpp"

namespace rotary::reference {
namespace {

using test::AttentionShape;
using test::EncodingSample;
using test::MaskSample;

// The loss sums at most 96 products of numbers below 1 and 4, each off by 2^-48. With a step s =
// 2^-17 the difference quotient is off by less than 96 2^-48 / s < 2^-24. The third derivative
// along a direction is below 2^6, which adds less than 2^6 s^2 / 6 < 2^-30. Measured: 2^-30.
constexpr double difference_step = 0x1p-17;
constexpr double tolerance = 0x1p-24;

// A tensor, a table or a bias's parameters, with the gradient.
struct Varied {
  std::string name;
  std::vector<double*> numbers;
  std::vector<double> gradient;
};

std::vector<double*> all_of(std::vector<double>& values) {
  std::vector<double*> numbers;
  for (double& value : values) numbers.push_back(&value);
  return numbers;
}

class AttentionGradient : public testing::Test {
 protected:
  void set_up_case(const AttentionShape& shape, const MaskSample& mask,
                   const EncodingSample& encoding) {
    inputs = test::random_inputs(shape, 40);
    given = test::with_encoding(mask, encoding);
    d_out = test::random_heads(test::out_extents(inputs), 50);
    // Stores default slopes in the bias before any gradient.
    if (given.encoding.bias) (void)parameters();
  }

  [[nodiscard]] std::vector<double*> parameters() {
    return test::bias_parameters(*given.encoding.bias,
                                 test::attention_t5_table(inputs.q.extents.heads));
  }

  [[nodiscard]] double loss() const {
    const AttentionResult result = attention(inputs, given);
    double sum = 0;
    for (std::size_t i = 0; i < d_out.values.size(); ++i)
      sum += d_out.values[i] * result.out.values[i];
    return sum;
  }

  [[nodiscard]] std::vector<Varied> everything() {
    const AttentionGradients got = attention_gradients(inputs, given, d_out);
    AttentionEncoding& encoding = given.encoding;
    std::vector<Varied> all = {{"q", all_of(inputs.q.values), got.q.values},
                               {"k", all_of(inputs.k.values), got.k.values},
                               {"v", all_of(inputs.v.values), got.v.values},
                               {"cope", all_of(encoding.cope), got.cope}};
    if (encoding.shaw_keys)
      all.push_back({"shaw keys", all_of(encoding.shaw_keys->table), got.shaw_keys});
    if (encoding.shaw_values)
      all.push_back({"shaw values", all_of(encoding.shaw_values->table), got.shaw_values});
    if (encoding.bias)
      all.push_back({"bias", parameters(), test::parameter_gradients(inputs, given, got.bias)});
    return all;
  }

  void expect_difference(const Varied& varied, std::uint64_t seed) const {
    ASSERT_EQ(varied.numbers.size(), varied.gradient.size());
    test::Random random(seed);
    std::vector<double> before;
    std::vector<double> direction;
    double expected = 0;
    for (std::size_t i = 0; i < varied.numbers.size(); ++i) {
      before.push_back(*varied.numbers[i]);
      direction.push_back(random.unit() * 2 - 1);
      expected += varied.gradient[i] * direction[i];
    }
    const auto loss_at = [&](double distance) {
      for (std::size_t i = 0; i < before.size(); ++i)
        *varied.numbers[i] = before[i] + distance * direction[i];
      return loss();
    };
    const double above = loss_at(difference_step);
    const double below = loss_at(-difference_step);
    for (std::size_t i = 0; i < before.size(); ++i) *varied.numbers[i] = before[i];
    ASSERT_NEAR((above - below) / (2 * difference_step), expected,
                tolerance * (1 + std::abs(expected)));
  }

  AttentionInputs inputs;
  Attention given;
  Heads d_out;
};

TEST_F(AttentionGradient, EqualsCentralDifferences) {
  for (const AttentionShape& shape : test::attention_shapes) {
    for (const MaskSample& mask : test::attention_masks()) {
      for (const EncodingSample& encoding : test::attention_encodings(shape)) {
        set_up_case(shape, mask, encoding);
        for (const Varied& varied : everything()) {
          SCOPED_TRACE(mask.name + ", " + encoding.name + ", " + varied.name);
          ASSERT_NO_FATAL_FAILURE(expect_difference(varied, 61));
        }
      }
    }
  }
}

// The softcap bends most scores. The mask adds numbers, one of them -Inf, and hides 1 pair in 7.
TEST_F(AttentionGradient, EqualsCentralDifferencesUnderASoftcap) {
  const AttentionShape shape = test::attention_shapes[0];
  const auto pairs =
      static_cast<std::size_t>(shape.batch * shape.heads * shape.queries * shape.keys);
  for (const EncodingSample& encoding : test::attention_encodings(shape)) {
    set_up_case(shape, test::attention_masks()[1], encoding);
    given.softcap = 0.7;
    given.mask.pairs.assign(pairs, 1);
    given.mask.numbers.assign(pairs, 0);
    for (std::size_t i = 0; i < pairs; ++i) {
      given.mask.pairs[i] = i % 7 == 3 ? 0 : 1;
      given.mask.numbers[i] = std::sin(static_cast<double>(i));
    }
    given.mask.numbers[1] = -HUGE_VAL;
    for (const Varied& varied : everything()) {
      SCOPED_TRACE(encoding.name + ", " + varied.name);
      ASSERT_NO_FATAL_FAILURE(expect_difference(varied, 62));
    }
  }
}

TEST_F(AttentionGradient, IsEmptyForAbsentTablesAndZeroForMaskedKeys) {
  const AttentionShape shape;
  set_up_case(shape, test::attention_masks()[5], test::attention_encodings(shape).front());
  for (std::int64_t f = 0; f < shape.features; ++f) {  // no query sees key 0
    inputs.k.values[static_cast<std::size_t>(f)] = std::nan("");
    inputs.v.values[static_cast<std::size_t>(f)] = std::nan("");
  }
  const AttentionGradients got = attention_gradients(inputs, given, d_out);
  EXPECT_TRUE(got.shaw_keys.empty() && got.shaw_values.empty() && got.cope.empty());
  ASSERT_EQ(got.bias.size(), 2U * 4 * 4 * 5);
  for (std::size_t i = 0; i < got.bias.size(); ++i) {
    ASSERT_FALSE(std::isnan(got.bias[i]));
    if (i < got.bias.size() / 2 && i % 5 < 2) {
      EXPECT_EQ(got.bias[i], 0);
    }
  }
  for (const double value : got.q.values) EXPECT_FALSE(std::isnan(value));
}

}  // namespace
}  // namespace rotary::reference
