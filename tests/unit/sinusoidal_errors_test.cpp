// SPDX-License-Identifier: Apache-2.0
// Sinusoidal calls refuse invalid arguments and write nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "rotary/absolute.hpp"
#include "support/cases.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"
#include "support/tokens.hpp"

namespace rotary {
namespace {

using test::refused;
using test::Tensor;
using test::tokens_of;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

TEST(SinusoidalErrors, AnInvalidSpecIsRefused) {
  const auto made = [](auto change) {
    SinusoidalSpec spec = whisper_sinusoidal(8);
    change(spec);
    return make_sinusoidal(spec);
  };
  for (const std::int64_t dim : {std::int64_t{0}, std::int64_t{-2}, largest}) {
    refused(made([&](auto& spec) { spec.dim = dim; }),
            {"dim must be in [1, 1048576], got " + std::to_string(dim)});
  }
  refused(made([](auto& spec) { spec.dim = 3; }), {"at least 4 for spacing ends, got 3"});
  for (const double base : {1.0, 0.0, -5.0, std::nan(""), HUGE_VAL}) {
    refused(made([&](auto& spec) { spec.base = base; }), {"base must be finite and > 1, got "});
  }
  refused(made([](auto& spec) { spec.layout = SinusoidalLayout{9}; }),
          {"layout must be", "got value 9"});
  refused(made([](auto& spec) { spec.spacing = SinusoidalSpacing{0}; }),
          {"spacing must be even or ends, got value 0"});
}

// A valid fill. After a change, fill, add and shift must all refuse.
struct SinusoidalCall {
  Tensor tensor = test::random_tensor(
      test::tokens_shape(DType::f64, {.batch = 2, .tokens = 3, .features = 8}), 1);
  Sinusoidal encoding = test::value_of(make_sinusoidal(whisper_sinusoidal(8)));
  Positions places = ConsecutivePositions{0, 3};
  TokensView into = tokens_of(tensor);

  [[nodiscard]] auto written() const { return tensor.bytes(); }
  [[nodiscard]] Status run() const { return fill_sinusoidal(into, encoding, places); }
};

class SinusoidalCalls : public test::Refusals<SinusoidalCall> {
 protected:
  template <class Change>
  void refuse(const Change& change, test::Parts parts) {
    const auto before = c.written();
    refused(add_sinusoidal(c.into, c.into, c.encoding, c.places), parts);
    refused(shift_sinusoidal(c.into, c.into, c.encoding, c.places), parts);
    EXPECT_EQ(c.written(), before);
    Refusals::refuse(change, parts);
  }
};

TEST_F(SinusoidalCalls, RefuseAnEncodingThatDoesNotFit) {
  refuse((c.encoding.turns.pop_back(), c), {"one for each of 4 pairs; got 4 and 3"});
  refuse(c.encoding = test::value_of(make_sinusoidal(whisper_sinusoidal(9))),
         {"features must be the dim of the encoding, 9; got 8"});
  refuse(c.encoding.spec.dim = largest, {"dim must be in"});
}

// Only fractional positions read inv_freq.
TEST_F(SinusoidalCalls, RefuseInvalidFrequencies) {
  const std::vector<double> between = {0.5, 1, 2.5};
  for (const double inv_freq : {std::nan(""), 1e300, -0.5, 0.0}) {
    c.places = positions_of(between);
    refuse(c.encoding.inv_freq[2] = inv_freq,
           {"inv_freq must be that of make_sinusoidal, in (0, 1]; got "});
  }
}

TEST_F(SinusoidalCalls, RefusePositionsThatDoNotFit) {
  refuse(c.places = ConsecutivePositions{0, 4},
         {"positions must be as many as the tokens, 3; got 4"});
  refuse(c.places = ConsecutivePositions{0, -1}, {"got -1"});
  refuse(c.places = ConsecutivePositions{largest - 1, 3}, {"positions must stay within int64"});
  const std::vector<double> bad = {0, std::nan(""), 1};
  refuse(c.places = positions_of(bad), {"positions must be finite", "got nan", "token 1"});
  const std::vector<std::int64_t> many(9);
  refuse(c.places = positions_of(many, 3),
         {"positions must have the batch of the tokens, 2, or 1; got 3"});
  refuse(c.places = TokenArray<std::int32_t>{.data = nullptr, .tokens = 3},
         {"positions must point to data"});
  // All positions are the same element of dst.
  const auto* const dst = static_cast<const double*>(c.into.data);
  refuse(c.places = TokenArray<double>{.data = dst, .tokens = 3, .token_stride = 0},
         {"dst and ", "positions must share no element"});
}

TEST_F(SinusoidalCalls, RefuseInvalidViews) {
  refuse(c.into.dtype = {}, {"dst: dtype must be f32, bf16, f16 or f64, got value 0"});
  refuse(c.into.extents.tokens = -3, {"dst: extents must be >= 0", "tokens -3"});
  refuse(c.into.data = nullptr, {"dst: data must not be null"});
  refuse(c.into.data = static_cast<std::byte*>(c.into.data) + 4,
         {"aligned to its element size, 8 bytes; got an address 4 bytes off"});
  refuse(c.into.strides.batch = largest, {"must span less than 2^62 bytes"});
  refuse(c.into.strides.token = 0, {"elements of a destination must be distinct"});
}

TEST_F(SinusoidalCalls, RefuseSourcesThatDoNotFit) {
  const auto before = c.tensor.bytes();
  const auto add = [&](const ConstTokensView& src) {
    return add_sinusoidal(c.into, src, c.encoding, c.places);
  };
  ConstTokensView src = c.into;
  src.extents.batch = 1;
  refused(add(src), {"same extents", "batch 2", "batch 1"});
  src = c.into;
  src.dtype = DType::f32;
  refused(add(src), {"same dtype, got f64 and f32"});
  src = c.into;
  src.data = static_cast<const double*>(src.data) + 1;
  refused(add(src), {"dst and src must share no element"});
  for (const double scale : {std::nan(""), HUGE_VAL}) {
    refused(add_sinusoidal(c.into, c.into, c.encoding, c.places, {scale}),
            {"embedding_scale must be finite"});
  }
  EXPECT_EQ(c.tensor.bytes(), before);
}

TEST_F(SinusoidalCalls, RefuseToShiftASineWithoutItsCosine) {
  Tensor odd(test::tokens_shape(DType::f32, {.tokens = 3, .features = 7}));
  const auto sinusoidal = test::value_of(make_sinusoidal(marian_sinusoidal(7)));
  refused(shift_sinusoidal(tokens_of(odd), tokens_of(odd), sinusoidal, c.places),
          {"dim must be even for a shift with spacing even, got 7"});
}

TEST_F(SinusoidalCalls, IgnoreTheStrideOfOneFeature) {
  Tensor one(test::tokens_shape(DType::f32, {.tokens = 3, .features = 1}));
  c.encoding = test::value_of(make_sinusoidal(transformer_sinusoidal(1)));
  c.into = tokens_of(one);
  c.into.strides.feature = largest;
  TokensView same = c.into;
  same.strides.feature = std::numeric_limits<std::int64_t>::min();
  test::require(add_sinusoidal(c.into, same, c.encoding, c.places));
  EXPECT_EQ(one.at({.token = 1}, 0), static_cast<float>(std::sin(1.0)));
}

TEST_F(SinusoidalCalls, DoNothingForNoTokens) {
  c.into = {.data = nullptr, .dtype = DType::bf16, .extents = {.batch = 5, .features = 8}};
  c.places = ConsecutivePositions{0, 0};
  EXPECT_TRUE(fill_sinusoidal(c.into, c.encoding, c.places).ok());
  c.into.extents = {.batch = 0, .tokens = 3, .features = 8};
  c.places = ConsecutivePositions{0, 3};
  EXPECT_TRUE(add_sinusoidal(c.into, c.into, c.encoding, c.places).ok());
}

}  // namespace
}  // namespace rotary
