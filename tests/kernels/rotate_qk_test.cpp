// SPDX-License-Identifier: Apache-2.0
// rotate_qk: q and k of one step in one call, with different numbers of heads.
#include <gtest/gtest.h>

#include "rotary/rotate.hpp"
#include "support/cases.hpp"
#include "support/oracle.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::Tensor;

constexpr ConsecutivePositions positions{.first = 4095, .tokens = 3};
constexpr HeadWindow window{
    .head_dim = 64, .rotary_dim = 64, .first_feature = 0, .pairing = Pairing::half};

Extents extents_with(std::int64_t heads) {
  return {.batch = 2, .tokens = 3, .heads = heads, .features = 64};
}

TEST(RotateQk, RotatesBothAsRotateWould) {
  for (const DType dtype : test::all_dtypes) {
    const Rotations rotations =
        test::rotations_of(test::frequencies_of(window, 1.25), positions, test::rows_for(dtype));
    for (const Direction direction : test::all_directions) {
      Tensor q = test::random_tensor({.dtype = dtype, .extents = extents_with(9)}, 15);
      Tensor k = test::random_tensor({.dtype = dtype, .extents = extents_with(3)}, 16);
      Tensor q_alone = q;
      Tensor k_alone = k;
      const RotateOptions options{.direction = direction};
      test::require(rotate(q_alone.view(), q_alone.view(), rotations, options));
      test::require(rotate(k_alone.view(), k_alone.view(), rotations, options));
      Tensor q_out({dtype, q.extents(), test::Layout::bhtd});
      Tensor k_out({dtype, k.extents(), test::Layout::padded});
      test::require(
          rotate_qk_into({q_out.view(), q.view()}, {k_out.view(), k.view()}, rotations, options));
      EXPECT_EQ(q_out.all_bits(), q_alone.all_bits());
      EXPECT_EQ(k_out.all_bits(), k_alone.all_bits());
      Tensor k_in_place = k;
      const HeadsView in_place = k_in_place.view();
      q_out = Tensor({dtype, q.extents()});
      test::require(
          rotate_qk_into({q_out.view(), q.view()}, {in_place, in_place}, rotations, options));
      EXPECT_EQ(q_out.all_bits(), q_alone.all_bits());
      EXPECT_EQ(k_in_place.bytes(), k_alone.bytes());
      test::require(rotate_qk(q.view(), k.view(), rotations, options));
      EXPECT_EQ(q.bytes(), q_alone.bytes());
      EXPECT_EQ(k.bytes(), k_alone.bytes());
    }
  }
}

TEST(RotateQk, WorksInsideAFusedBuffer) {
  const Frequencies frequencies = test::frequencies_of(window);
  constexpr std::int64_t q_heads = 4;
  constexpr std::int64_t k_heads = 2;
  constexpr std::int64_t token = (q_heads + 2 * k_heads) * 64;  // q, k, v of one token
  std::vector<float> buffer(static_cast<std::size_t>(2 * 3 * token));
  test::Random random(17);
  for (float& value : buffer) value = random.activation();
  const std::vector<float> before = buffer;
  const Strides strides{.batch = 3 * token, .token = token, .head = 64};
  const HeadsView q{buffer.data(), DType::f32, extents_with(q_heads), strides};
  const HeadsView k{buffer.data() + q_heads * 64, DType::f32, extents_with(k_heads), strides};
  test::require(rotate_qk(q, k, test::rotations_of(frequencies, positions)));

  ConstHeadsView q_before = q;
  q_before.data = before.data();
  ConstHeadsView k_before = k;
  k_before.data = before.data() + q_heads * 64;
  const test::Oracle oracle(frequencies, positions);
  EXPECT_TRUE(oracle.accepts(q, q_before, Direction::forward));
  EXPECT_TRUE(oracle.accepts(k, k_before, Direction::forward));
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    const bool is_v = i % token >= (q_heads + k_heads) * 64;
    if (!is_v) continue;
    ASSERT_EQ(buffer[i], before[i]);
  }
}

}  // namespace
}  // namespace rotary
