// SPDX-License-Identifier: Apache-2.0
// Rotations that round after each operation have the bits of reference/recipes in every layout,
// direction and split.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "reference/recipes.hpp"
#include "rotary/rotary.hpp"
#include "rotary/rotate.hpp"
#include "support/cases.hpp"
#include "support/executors.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::HeadIndex;
using test::Layout;
using test::Tensor;
using test::value_of;

constexpr Extents extents{.batch = 2, .tokens = 67, .heads = 3, .features = 150};

RotarySpec spec_of(Pairing pairing, Rounding rounding, double attention_factor = 1) {
  return {.head_dim = 150,
          .rotary_dim = 138,
          .first_feature = 5,
          .base = 10000.0,
          .pairing = pairing,
          .scaling = YarnScaling{.factor = 2,
                                 .original_context_tokens = 4096,
                                 .attention_factor = attention_factor},
          .numerics = Numerics::transformers,
          .rounding = rounding};
}

Rotations rotations_of(const RotarySpec& spec, DType dtype) {
  return value_of(make_rotations(value_of(make_frequencies(spec)),
                                 ConsecutivePositions{.first = 1000, .tokens = extents.tokens},
                                 {.tensors = dtype}));
}

reference::RecipeRow row_of(const Rotations& rotations, std::int64_t token) {
  const auto cos = rotations.cos(0, token);
  const auto sin = rotations.sin(0, token);
  return {.cos = {cos.begin(), cos.end()}, .sin = {sin.begin(), sin.end()}};
}

Tensor expected(const Tensor& src, const Rotations& rotations, Direction direction) {
  Tensor result({.dtype = src.view().dtype, .extents = src.extents()});
  Extents heads = src.extents();
  heads.features = 1;
  test::for_each_element(heads, [&](const HeadIndex& index, std::int64_t) {
    std::vector<float> head;
    for (std::int64_t f = 0; f < src.extents().features; ++f) {
      head.push_back(static_cast<float>(src.at(index, f)));
    }
    const auto rotated = reference::rotate_rounding_every_step(
        head, rotations.window(), row_of(rotations, index.token), src.view().dtype, direction);
    for (std::size_t f = 0; f < rotated.size(); ++f) {
      result.set(index, static_cast<std::int64_t>(f), rotated[f]);
    }
  });
  return result;
}

// Visits both 16-bit types, all pairings, and both modes that round after each operation.
template <class Visit>
void for_each_case(Visit visit) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const Pairing pairing : all_pairings) {
      for (const Rounding rounding : {Rounding::every_step, Rounding::double_angle}) {
        SCOPED_TRACE(test::describe(dtype, pairing, Direction::forward));
        SCOPED_TRACE(to_string(rounding));
        visit(dtype, pairing, rounding);
      }
    }
  }
}

TEST(RotateEveryStep, HasTheBitsOfTheReference) {
  for_each_case([](DType dtype, Pairing pairing, Rounding rounding) {
    const Rotations rotations = rotations_of(spec_of(pairing, rounding, 1.375), dtype);
    Tensor src({.dtype = dtype, .extents = extents});
    test::Random random(21);
    for (const auto fill : {test::fill, test::fill_with_any_magnitude}) {
      fill(src, random);
      for (const Direction direction : {Direction::forward, Direction::transpose}) {
        Tensor dst({.dtype = dtype, .extents = extents});
        test::require(rotate(dst.view(), src.view(), rotations, {.direction = direction}));
        ASSERT_EQ(dst.all_bits(), expected(src, rotations, direction).all_bits());
        ASSERT_TRUE(dst.guards_intact());
      }
    }
  });
}

TEST(RotateEveryStep, HasTheSameBitsInPlaceInPartsAndInEveryLayout) {
  for_each_case([](DType dtype, Pairing pairing, Rounding rounding) {
    const Rotations rotations = rotations_of(spec_of(pairing, rounding), dtype);
    const Tensor src = test::random_tensor({.dtype = dtype, .extents = extents}, 22);
    const auto wanted = expected(src, rotations, Direction::forward).all_bits();
    for (const Layout layout : test::all_layouts) {
      SCOPED_TRACE(to_string(layout));
      Tensor tensor = moved_to(layout, src);
      test::require(rotate(tensor.view(), tensor.view(), rotations));
      ASSERT_EQ(tensor.all_bits(), wanted);
      ASSERT_TRUE(tensor.guards_intact());
    }
    Tensor dst({.dtype = dtype, .extents = extents});
    test::CountingExecutor executor(test::run_backwards, 4);
    test::require(rotate(dst.view(), src.view(), rotations, {.executor = executor.executor()}));
    ASSERT_EQ(dst.all_bits(), wanted);
    Tensor inverse = src;
    Tensor transpose = src;
    test::require(rotate(inverse.view(), src.view(), rotations, {.direction = Direction::inverse}));
    test::require(
        rotate(transpose.view(), src.view(), rotations, {.direction = Direction::transpose}));
    ASSERT_EQ(inverse.all_bits(), transpose.all_bits());
  });
}

std::vector<std::uint64_t> rotated_bits(const Rotations& rotations, const Tensor& src) {
  Tensor dst({.dtype = src.view().dtype, .extents = src.extents()});
  test::require(rotate(dst.view(), src.view(), rotations));
  return dst.all_bits();
}

TEST(RotateEveryStep, AffectsOnly16BitTypes) {
  const Tensor src = test::random_tensor({.dtype = DType::f32, .extents = extents}, 25);
  const auto bits = [&](Rounding rounding) {
    return rotated_bits(rotations_of(spec_of(Pairing::half, rounding), DType::f32), src);
  };
  EXPECT_EQ(bits(Rounding::every_step), bits(Rounding::result));
  EXPECT_EQ(bits(Rounding::table), bits(Rounding::result));
}

TEST(RotateEveryStep, RoundingTableRoundsRowsLikeEveryStepButNotProducts) {
  const Tensor src = test::random_tensor({.dtype = DType::bf16, .extents = extents}, 26);
  const Rotations every_step =
      rotations_of(spec_of(Pairing::half, Rounding::every_step), DType::bf16);
  const Rotations table = rotations_of(spec_of(Pairing::half, Rounding::table), DType::bf16);
  for (std::int64_t t = 0; t < extents.tokens; ++t) {
    ASSERT_EQ(row_of(table, t).cos, row_of(every_step, t).cos);
  }
  const auto exact = rotated_bits(table, src);
  EXPECT_NE(exact, rotated_bits(every_step, src));
  // A CosSinView of the rounded rows gives the bits of Rounding::table.
  const CosSinView view{.cos = table.cos(0, 0).data(),
                        .sin = table.sin(0, 0).data(),
                        .dtype = DType::f32,
                        .tokens = extents.tokens,
                        .token_stride = 2 * table.lane_stride()};
  EXPECT_EQ(exact, rotated_bits(value_of(make_rotations(table.window(), view)), src));
}

constexpr ConsecutivePositions positions{.first = 4095, .tokens = 3};
constexpr HeadWindow window{
    .head_dim = 64, .rotary_dim = 64, .first_feature = 0, .pairing = Pairing::half};

Extents extents_with(std::int64_t heads) {
  return {.batch = 2, .tokens = 3, .heads = heads, .features = 64};
}

TEST(RotateQk, EqualsTwoCallsOfRotate) {
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

}  // namespace
}  // namespace rotary
