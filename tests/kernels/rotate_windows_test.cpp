// SPDX-License-Identifier: Apache-2.0
// Every even rotary_dim up to two full unrolled steps of the widest vectors and beyond, so every
// length of tail, at several places in the head, for each token count and head count around one.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "rotary/rotate.hpp"
#include "support/cases.hpp"
#include "support/oracle.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::Layout;
using test::Tensor;

struct Case {
  HeadWindow window;
  DType dtype = DType::f32;
  Extents extents;
};

void expect_right(const Case& given, std::uint64_t seed) {
  const ConsecutivePositions positions{.first = 77, .tokens = given.extents.tokens};
  const Frequencies frequencies = test::frequencies_of(given.window);
  const Rotations rotations =
      test::rotations_of(frequencies, positions, test::rows_for(given.dtype));
  const test::Oracle oracle(frequencies, positions);
  const Tensor src = test::random_tensor({.dtype = given.dtype, .extents = given.extents}, seed);
  for (const Layout layout : {Layout::bthd, Layout::bhtd}) {
    SCOPED_TRACE(to_string(layout));
    const Tensor there = moved_to(layout, src);
    Tensor dst({.dtype = given.dtype, .extents = given.extents, .layout = layout});
    test::require(rotate(dst.view(), there.view(), rotations));
    ASSERT_TRUE(oracle.accepts(dst.view(), there.view(), Direction::forward));
    ASSERT_TRUE(dst.guards_intact());

    Tensor in_place = there;
    test::require(rotate(in_place.view(), in_place.view(), rotations));
    ASSERT_EQ(in_place.bytes(), dst.bytes());
  }
}

TEST(RotateWindows, EveryRotaryDim) {
  for (std::int64_t rotary_dim = 2; rotary_dim <= 2 * 64 + 2; rotary_dim += 2) {
    for (const Pairing pairing : all_pairings) {
      for (const DType dtype : test::all_dtypes) {
        SCOPED_TRACE(test::describe(dtype, pairing, Direction::forward) + " rotary_dim " +
                     std::to_string(rotary_dim));
        expect_right({.window = {.head_dim = rotary_dim,
                                 .rotary_dim = rotary_dim,
                                 .first_feature = 0,
                                 .pairing = pairing},
                      .dtype = dtype,
                      .extents = {.tokens = 3, .heads = 3, .features = rotary_dim}},
                     static_cast<std::uint64_t>(rotary_dim));
      }
    }
  }
}

TEST(RotateWindows, EveryFirstFeature) {
  constexpr std::int64_t head_dim = 45;
  for (const std::int64_t rotary_dim : {2, 12, 34}) {
    for (std::int64_t first = 0; first + rotary_dim <= head_dim; ++first) {
      for (const Pairing pairing : all_pairings) {
        for (const DType dtype : test::all_dtypes) {
          SCOPED_TRACE(test::describe(dtype, pairing, Direction::forward) + " rotary_dim " +
                       std::to_string(rotary_dim) + " first_feature " + std::to_string(first));
          expect_right({.window = {.head_dim = head_dim,
                                   .rotary_dim = rotary_dim,
                                   .first_feature = first,
                                   .pairing = pairing},
                        .dtype = dtype,
                        .extents = {.tokens = 2, .heads = 1, .features = head_dim}},
                       static_cast<std::uint64_t>(first));
        }
      }
    }
  }
}

TEST(RotateWindows, EveryTokenAndHeadCount) {
  for (const std::int64_t tokens : {1, 2, 3, 15, 16, 17, 33}) {
    for (const std::int64_t heads : {1, 2, 3, 7, 9}) {
      SCOPED_TRACE(std::to_string(tokens) + " tokens, " + std::to_string(heads) + " heads");
      expect_right({.window = {.head_dim = 10,
                               .rotary_dim = 8,
                               .first_feature = 1,
                               .pairing = Pairing::half},
                    .extents = {.batch = 2, .tokens = tokens, .heads = heads, .features = 10}},
                   6);
    }
  }
}

// DeepSeek's attention rotates the last 64 of 192 features of a query head; the rotated part of a
// key, shared by all heads, is a tensor of one head. A window at the end of the head and a view of
// the slice are equivalent.
TEST(RotateWindows, ATrailingWindowIsASliceOfItsOwn) {
  constexpr std::int64_t nope = 128;
  constexpr std::int64_t rope = 64;
  constexpr ConsecutivePositions positions{.first = 4000, .tokens = 5};
  for (const Pairing pairing : all_pairings) {
    const HeadWindow trailing{
        .head_dim = nope + rope, .rotary_dim = rope, .first_feature = nope, .pairing = pairing};
    const HeadWindow whole{
        .head_dim = rope, .rotary_dim = rope, .first_feature = 0, .pairing = pairing};
    for (const DType dtype : test::all_dtypes) {
      SCOPED_TRACE(test::describe(dtype, pairing, Direction::forward));
      const RowDType rows = test::rows_for(dtype);
      const Rotations of_slice = test::rotations_of(test::frequencies_of(whole), positions, rows);
      Tensor in_window = test::random_tensor(
          {.dtype = dtype, .extents = {.tokens = 5, .heads = 4, .features = nope + rope}}, 5);
      Tensor in_slice = in_window;
      test::require(rotate(in_window.view(), in_window.view(),
                           test::rotations_of(test::frequencies_of(trailing), positions, rows)));
      HeadsView slice = in_slice.view();
      slice.data = static_cast<std::byte*>(slice.data) + nope * size_in_bytes(dtype);
      slice.extents.features = rope;
      test::require(rotate(slice, slice, of_slice));
      ASSERT_EQ(in_slice.bytes(), in_window.bytes());

      // A key: one head, and the same rows.
      Tensor key = test::random_tensor(
          {.dtype = dtype, .extents = {.tokens = 5, .heads = 1, .features = rope}}, 6);
      Tensor query = test::random_tensor(
          {.dtype = dtype, .extents = {.tokens = 5, .heads = 4, .features = nope + rope}}, 5);
      Tensor key_alone = key;
      test::require(rotate(key_alone.view(), key_alone.view(), of_slice));
      HeadsView query_slice = query.view();
      query_slice.data = static_cast<std::byte*>(query_slice.data) + nope * size_in_bytes(dtype);
      query_slice.extents.features = rope;
      test::require(rotate_qk(query_slice, key.view(), of_slice));
      ASSERT_EQ(key.bytes(), key_alone.bytes());
      ASSERT_EQ(query.bytes(), in_window.bytes());
    }
  }
}

// Elements of any magnitude, extreme positions and factors: the bound is relative to the pair.
TEST(RotateWindows, AnyMagnitudeAtExtremePositions) {
  const std::vector<std::int64_t> far = {-1, 131071, (std::int64_t{1} << 31) + 5,
                                         -(std::int64_t{1} << 35), (std::int64_t{1} << 40) + 3};
  const Positions positions = positions_of(std::span(far));
  for (const Pairing pairing : all_pairings) {
    for (const double factor : {1.0, 1.3465735902799727, 0.3, 0x1p-20, 0x1p20}) {
      const HeadWindow window{
          .head_dim = 66, .rotary_dim = 66, .first_feature = 0, .pairing = pairing};
      const Frequencies frequencies = test::frequencies_of(window, factor);
      const test::Oracle oracle(frequencies, positions);
      for (const DType dtype : test::all_dtypes) {
        const Rotations rotations =
            test::rotations_of(frequencies, positions, test::rows_for(dtype));
        Tensor src({.dtype = dtype, .extents = {.tokens = 5, .heads = 9, .features = 66}});
        test::Random random(7);
        fill_with_any_magnitude(src, random);
        for (const Direction direction : test::all_directions) {
          SCOPED_TRACE(test::describe(dtype, pairing, direction));
          Tensor dst = src;
          test::require(rotate(dst.view(), src.view(), rotations, {.direction = direction}));
          ASSERT_TRUE(oracle.accepts(dst.view(), src.view(), direction));
        }
      }
    }
  }
}

// NaN and Inf stay in their own pair; features that do not turn are copied bit for bit, NaN
// included.

using test::HeadIndex;

constexpr Extents one_head{.tokens = 1, .heads = 1, .features = 42};
constexpr HeadIndex only{};
constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor rotated(const Tensor& src, Pairing pairing, std::int64_t position) {
  const HeadWindow window{.head_dim = 42, .rotary_dim = 38, .first_feature = 2, .pairing = pairing};
  Tensor dst({.dtype = src.view().dtype, .extents = one_head});
  test::require(rotate(dst.view(), src.view(),
                       test::rotations_of(test::frequencies_of(window),
                                          ConsecutivePositions{.first = position, .tokens = 1},
                                          test::rows_for(src.view().dtype))));
  return dst;
}

// The bits of the largest finite number: one below Inf.
std::uint64_t largest_bits(DType dtype) {
  Tensor tensor({.dtype = dtype, .extents = {.tokens = 1, .heads = 1, .features = 1}});
  tensor.set(only, 0, infinity);
  return tensor.bits_at(only, 0) - 1;
}

// Puts value into one feature of one pair and returns the rotated head.
template <class Visit>
void for_each_poisoned_feature(double value, Visit visit) {
  for (const Pairing pairing : all_pairings) {
    const HeadWindow window{
        .head_dim = 42, .rotary_dim = 38, .first_feature = 2, .pairing = pairing};
    for (const DType dtype : test::all_dtypes) {
      const Tensor clean = test::random_tensor({.dtype = dtype, .extents = one_head}, 8);
      const Tensor expected = rotated(clean, pairing, 1);
      for (std::int64_t pair = 0; pair < window.pairs(); ++pair) {
        const auto [x, y] = test::features_read(window, Direction::forward, pair);
        const auto [first, second] = test::features_written(window, Direction::forward, pair);
        for (const std::int64_t poisoned : {x, y}) {
          SCOPED_TRACE(test::describe(dtype, pairing, Direction::forward) + " feature " +
                       std::to_string(poisoned));
          Tensor src = clean;
          src.set(only, poisoned, value);
          const Tensor dst = rotated(src, pairing, 1);
          visit(dst.at(only, first), dst.at(only, second), poisoned == x);
          for (std::int64_t f = 0; f < one_head.features; ++f) {
            if (f == first || f == second) continue;
            ASSERT_EQ(dst.bits_at(only, f), expected.bits_at(only, f)) << "feature " << f;
          }
        }
      }
    }
  }
}

TEST(RotateSpecialValues, NanStaysInItsPair) {
  for_each_poisoned_feature(std::numeric_limits<double>::quiet_NaN(),
                            [](double first, double second, bool) {
                              EXPECT_TRUE(std::isnan(first));
                              EXPECT_TRUE(std::isnan(second));
                            });
}

// At position 1 every angle lies in (0, pi/2): cos and sin are positive.
TEST(RotateSpecialValues, InfinityStaysInItsPairWithItsSign) {
  for (const double value : {infinity, -infinity}) {
    for_each_poisoned_feature(value, [value](double first, double second, bool is_first) {
      EXPECT_EQ(first, is_first ? value : -value);
      EXPECT_EQ(second, value);
    });
  }
}

TEST(RotateSpecialValues, OverflowIsInfinity) {
  for (const DType dtype : test::all_dtypes) {
    Tensor src = test::random_tensor({.dtype = dtype, .extents = one_head}, 9);
    src.set_bits(only, 2, largest_bits(dtype));
    src.set_bits(only, 3, largest_bits(dtype));
    const Tensor dst = rotated(src, Pairing::interleaved, 1);
    EXPECT_EQ(dst.at(only, 3), infinity) << to_string(dtype);  // largest * (sin 1 + cos 1)
  }
}

// Signalling NaNs, negative zero, subnormals: copied, not computed with.
TEST(RotateSpecialValues, OtherFeaturesPassBitForBit) {
  for (const DType dtype : test::all_dtypes) {
    for (const std::uint64_t upper :
         {0x7F81U, 0x7C01U, 0x7FF1U, 0xFFFFU, 0x8000U, 0x0001U, 0x7F80U, 0x7C00U, 0x8001U}) {
      const auto below = 8 * size_in_bytes(dtype) - 16;  // bits after the first 16
      const std::uint64_t bits = below == 0 ? upper : (upper << below) | 1U;
      for (const Pairing pairing : all_pairings) {
        Tensor src = test::random_tensor({.dtype = dtype, .extents = one_head}, 10);
        for (const std::int64_t f : {0, 1, 40, 41}) src.set_bits(only, f, bits);
        const Tensor dst = rotated(src, pairing, 12345);
        for (const std::int64_t f : {0, 1, 40, 41}) EXPECT_EQ(dst.bits_at(only, f), bits);
      }
    }
  }
}

// x cos(0) - y sin(0) is x itself, for every finite x and y.
TEST(RotateSpecialValues, PositionZeroChangesNothing) {
  for (const DType dtype : test::all_dtypes) {
    for (const Pairing pairing : test::order_keeping_pairings) {
      const Tensor src = test::random_tensor({.dtype = dtype, .extents = one_head}, 11);
      EXPECT_EQ(rotated(src, pairing, 0).all_bits(), src.all_bits());
    }
  }
}

}  // namespace
}  // namespace rotary
