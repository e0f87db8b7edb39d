// SPDX-License-Identifier: Apache-2.0
// Errors of sinusoidal encodings, with nothing written.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "rotary/sinusoidal.hpp"
#include "support/cases.hpp"
#include "support/error_matchers.hpp"
#include "support/result.hpp"
#include "support/tokens.hpp"

namespace rotary {
namespace {

using test::fails;
using test::Tensor;
using test::tokens_of;

constexpr auto invalid = ErrorCode::invalid_argument;
constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

TEST(SinusoidalErrors, OfASpec) {
  const auto made = [](auto change) {
    SinusoidalSpec spec = whisper_sinusoidal(8);
    change(spec);
    return make_sinusoidal(spec);
  };
  for (const std::int64_t dim : {std::int64_t{0}, std::int64_t{-2}, largest}) {
    EXPECT_TRUE(fails(made([&](auto& spec) { spec.dim = dim; }), invalid,
                      {"dim must be in [1, 1048576], got " + std::to_string(dim)}));
  }
  EXPECT_TRUE(fails(made([](auto& spec) { spec.dim = 3; }), invalid,
                    {"at least 4 for spacing ends, got 3"}));
  for (const double base : {1.0, 0.0, -5.0, std::nan(""), HUGE_VAL}) {
    EXPECT_TRUE(fails(made([&](auto& spec) { spec.base = base; }), invalid,
                      {"base must be finite and > 1, got "}));
  }
  EXPECT_TRUE(fails(made([](auto& spec) { spec.layout = SinusoidalLayout{9}; }), invalid,
                    {"layout must be", "got value 9"}));
  EXPECT_TRUE(fails(made([](auto& spec) { spec.spacing = SinusoidalSpacing{0}; }), invalid,
                    {"spacing must be even or ends, got value 0"}));
}

class SinusoidalCalls : public testing::Test {
 protected:
  // Three calls, of which each must refuse; dst must keep its bytes.
  void expect_refused(std::initializer_list<std::string_view> parts) {
    const auto before = tensor.bytes();
    EXPECT_TRUE(fails(fill_sinusoidal(into, encoding, places), invalid, parts));
    EXPECT_TRUE(fails(add_sinusoidal(into, from, encoding, places), invalid, parts));
    EXPECT_TRUE(fails(shift_sinusoidal(into, from, encoding, places), invalid, parts));
    EXPECT_EQ(tensor.bytes(), before);
  }
  void set_both(const TokensView& view) {
    into = view;
    from = view;
  }

  Tensor tensor = test::random_tensor(
      test::tokens_shape(DType::f64, {.batch = 2, .tokens = 3, .features = 8}), 1);
  Sinusoidal encoding = test::value_of(make_sinusoidal(whisper_sinusoidal(8)));
  Positions places = ConsecutivePositions{0, 3};
  TokensView into = tokens_of(tensor);
  ConstTokensView from = into;
};

TEST_F(SinusoidalCalls, RefuseAnotherEncoding) {
  encoding.turns.pop_back();
  expect_refused({"one for each of 4 pairs; got 4 and 3"});
  encoding = test::value_of(make_sinusoidal(whisper_sinusoidal(9)));
  expect_refused({"features must be the dim of the encoding, 9; got 8"});
  encoding.spec.dim = largest;
  expect_refused({"dim must be in"});
}

// Which only positions between integers read.
TEST_F(SinusoidalCalls, RefuseFrequenciesOfNoBase) {
  const std::vector<double> between = {0.5, 1, 2.5};
  places = positions_of(between);
  for (const double inv_freq : {std::nan(""), 1e300, -0.5, 0.0}) {
    encoding.inv_freq[2] = inv_freq;
    expect_refused({"inv_freq must be that of make_sinusoidal, in (0, 1]; got "});
  }
}

TEST_F(SinusoidalCalls, RefusePositionsThatDoNotFit) {
  places = ConsecutivePositions{0, 4};
  expect_refused({"positions must be as many as the tokens, 3; got 4"});
  places = ConsecutivePositions{0, -1};
  expect_refused({"got -1"});
  places = ConsecutivePositions{largest - 1, 3};
  expect_refused({"positions must stay within int64"});
  const std::vector<double> bad = {0, std::nan(""), 1};
  places = positions_of(bad);
  expect_refused({"positions must be finite", "got nan", "token 1"});
  const std::vector<std::int64_t> many(9);
  places = positions_of(many, 3);
  expect_refused({"positions must have the batch of the tokens, 2, or 1; got 3"});
  places = TokenArray<std::int32_t>{.data = nullptr, .tokens = 3};
  expect_refused({"positions must point to data"});
  // A double of dst as the position of every token.
  places = TokenArray<double>{
      .data = static_cast<const double*>(into.data), .tokens = 3, .token_stride = 0};
  expect_refused({"dst and ", "positions must share no element"});
}

TEST_F(SinusoidalCalls, RefuseViewsThatAreNotWellFormed) {
  TokensView view = into;
  view.dtype = {};
  set_both(view);
  expect_refused({"dst: dtype must be f32, bf16, f16 or f64, got value 0"});
  view = tokens_of(tensor);
  view.extents.tokens = -3;
  set_both(view);
  expect_refused({"dst: extents must be >= 0", "tokens -3"});
  view = tokens_of(tensor);
  view.data = nullptr;
  set_both(view);
  expect_refused({"dst: data must not be null"});
  view = tokens_of(tensor);
  view.data = static_cast<std::byte*>(view.data) + 4;
  set_both(view);
  expect_refused({"aligned to its element size, 8 bytes; got an address 4 bytes off"});
  view = tokens_of(tensor);
  view.strides.batch = largest;
  set_both(view);
  expect_refused({"must span less than 2^62 bytes"});
  view = tokens_of(tensor);
  view.strides.token = 0;
  set_both(view);
  expect_refused({"elements of a destination must be distinct"});
}

TEST_F(SinusoidalCalls, RefuseSourcesThatDoNotFit) {
  const auto before = tensor.bytes();
  const auto add = [&](const ConstTokensView& src) {
    return add_sinusoidal(into, src, encoding, places);
  };
  ConstTokensView src = into;
  src.extents.batch = 1;
  EXPECT_TRUE(fails(add(src), invalid, {"same extents", "batch 2", "batch 1"}));
  src = into;
  src.dtype = DType::f32;
  EXPECT_TRUE(fails(add(src), invalid, {"same dtype, got f64 and f32"}));
  src = into;
  src.data = static_cast<const double*>(src.data) + 1;
  EXPECT_TRUE(fails(add(src), invalid, {"dst and src must share no element"}));
  for (const double scale : {std::nan(""), HUGE_VAL}) {
    EXPECT_TRUE(fails(add_sinusoidal(into, into, encoding, places, {scale}), invalid,
                      {"embedding_scale must be finite"}));
  }
  EXPECT_EQ(tensor.bytes(), before);
}

TEST_F(SinusoidalCalls, RefuseToShiftASineWithoutItsCosine) {
  Tensor odd(test::tokens_shape(DType::f32, {.tokens = 3, .features = 7}));
  const auto sinusoidal = test::value_of(make_sinusoidal(marian_sinusoidal(7)));
  EXPECT_TRUE(fails(shift_sinusoidal(tokens_of(odd), tokens_of(odd), sinusoidal, places), invalid,
                    {"dim must be even for a shift with spacing even, got 7"}));
}

// One feature has no second one to stride to, whatever its stride says.
TEST_F(SinusoidalCalls, TakeAnyStrideOfOneFeature) {
  Tensor one(test::tokens_shape(DType::f32, {.tokens = 3, .features = 1}));
  encoding = test::value_of(make_sinusoidal(transformer_sinusoidal(1)));
  into = tokens_of(one);
  into.strides.feature = largest;
  TokensView same = into;
  same.strides.feature = std::numeric_limits<std::int64_t>::min();
  test::require(add_sinusoidal(into, same, encoding, places));
  EXPECT_EQ(one.at({.token = 1}, 0), static_cast<float>(std::sin(1.0)));
}

TEST_F(SinusoidalCalls, DoNothingForNoTokens) {
  into = {.data = nullptr, .dtype = DType::bf16, .extents = {.batch = 5, .features = 8}};
  places = ConsecutivePositions{0, 0};
  EXPECT_TRUE(fill_sinusoidal(into, encoding, places).ok());
  into.extents = {.batch = 0, .tokens = 3, .features = 8};
  places = ConsecutivePositions{0, 3};
  EXPECT_TRUE(add_sinusoidal(into, into, encoding, places).ok());
}

}  // namespace
}  // namespace rotary
