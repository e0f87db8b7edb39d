// SPDX-License-Identifier: Apache-2.0
#include "rotary/tensor_view.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "reference/angle.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "support/random.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

const Error some_error{.code = ErrorCode::malformed_input,
                       .message = "depth must be <= 64, got 65"};

TEST(Status, IsSuccessUnlessGivenAnError) {
  const Status success;
  EXPECT_TRUE(success.ok());
  EXPECT_TRUE(success);
  const Status failure = some_error;
  EXPECT_FALSE(failure.ok());
  EXPECT_FALSE(failure);
  EXPECT_EQ(failure.error(), some_error);
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<std::string> value = std::string("yes");
  ASSERT_TRUE(value);
  EXPECT_EQ(*value, "yes");
  EXPECT_EQ(value->size(), 3U);
  const Result<std::string> failure = some_error;
  ASSERT_FALSE(failure);
  EXPECT_EQ(failure.error().message, some_error.message);
}

constexpr Extents extents{.batch = 2, .tokens = 3, .heads = 5, .features = 7};

TEST(TensorView, ContiguousStridesFollowTheOrderOfAxes) {
  EXPECT_EQ(strides_bthd(extents),
            (Strides{.batch = 3 * 5 * 7, .token = 5 * 7, .head = 7, .feature = 1}));
  EXPECT_EQ(strides_bhtd(extents),
            (Strides{.batch = 3 * 5 * 7, .token = 7, .head = 3 * 7, .feature = 1}));
}

TEST(TensorView, EachTypeHasItsSize) {
  EXPECT_EQ(size_in_bytes(DType::f32), 4);
  EXPECT_EQ(size_in_bytes(DType::bf16), 2);
  EXPECT_EQ(size_in_bytes(DType::f16), 2);
  EXPECT_EQ(size_in_bytes(DType::f64), 8);
  EXPECT_EQ(size_in_bytes(static_cast<DType>(0)), 0);
}

TEST(TensorView, TypesHaveNames) {
  EXPECT_EQ(to_string(DType::f32), "f32");
  EXPECT_EQ(to_string(DType::bf16), "bf16");
  EXPECT_EQ(to_string(DType::f16), "f16");
  EXPECT_EQ(to_string(DType::f64), "f64");
  EXPECT_EQ(to_string(static_cast<DType>(5)), "unknown");
}

TEST(Positions, SpansGiveContiguousPositions) {
  const std::vector<std::int32_t> six(6);
  const auto one_row = positions_of(std::span(six));
  EXPECT_EQ(one_row.data, six.data());
  EXPECT_EQ(one_row.batch, 1);
  EXPECT_EQ(one_row.tokens, 6);
  EXPECT_EQ(one_row.token_stride, 1);
  const auto three_rows = positions_of(std::span(six), 3);
  EXPECT_EQ(three_rows.batch, 3);
  EXPECT_EQ(three_rows.tokens, 2);
  EXPECT_EQ(three_rows.batch_stride, 2);
}

// turns is inv_freq / 2 pi modulo 1, rounded to a unit of 2^-64. So the angle of one step is off by
// at most 2 pi 2^-65.
TEST(Frequencies, TurnsAreWithinHalfAUnit) {
  test::Random random(25);
  std::vector<double> list = {0,         1,      0x1.921fb54442d18p+2, 0x1.fffffffffffffp+39,
                              0x1p-1074, 0x1p-61};
  while (list.size() < 200) {
    list.push_back(std::ldexp(1 + random.unit(), static_cast<int>(random.integer(-70, 38))));
  }
  const auto dim = static_cast<std::int64_t>(2 * list.size());
  const HeadWindow window{
      .head_dim = dim, .rotary_dim = dim, .first_feature = 0, .pairing = Pairing::half};
  const auto got = test::value_of(make_frequencies(window, list, 1));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto exact = reference::cos_sin(1, list[i]);
    const long double turn = static_cast<long double>(static_cast<std::int64_t>(got.turns[i])) *
                             0x1p-64L * 2 * std::numbers::pi_v<long double>;
    // sin(a - b) of the two angles is their distance, to first order.
    const long double distance = std::sin(turn) * exact.cos - std::cos(turn) * exact.sin;
    ASSERT_LE(std::abs(distance), std::numbers::pi_v<long double> * 0x1p-64L + 0x1p-62L)
        << std::hexfloat << list[i];
  }
}

}  // namespace
}  // namespace rotary
