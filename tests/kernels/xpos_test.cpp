// SPDX-License-Identifier: Apache-2.0
// xPos: rows and rotated tensors within their bounds, scores that fade and depend on the distance
// alone, and the undoing of a map that is not a rotation.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "rotary/numeric_contract.hpp"
#include "support/cases.hpp"
#include "support/oracle.hpp"
#include "support/random.hpp"
#include "support/result.hpp"
#include "support/rows.hpp"

namespace rotary {
namespace {

using test::Tensor;

constexpr std::array all_roles = {Role::query, Role::key};

Frequencies frequencies_of(const HeadWindow& window, const Xpos& xpos, double factor = 1) {
  Frequencies frequencies = test::frequencies_of(window, factor);
  frequencies.xpos = xpos;
  return frequencies;
}

HeadWindow window_of(std::int64_t pairs, Pairing pairing = Pairing::interleaved) {
  return {.head_dim = 2 * pairs, .rotary_dim = 2 * pairs, .first_feature = 0, .pairing = pairing};
}

// Every row element against the reference, each within its published bound.
void expect_rows_within_bound(const Frequencies& frequencies, const Positions& positions,
                              Role role) {
  const reference::XposRole xpos{.xpos = *frequencies.xpos, .role = role};
  const reference::AngleRows exact(positions, frequencies.inv_freq, xpos);
  const double factor = frequencies.attention_factor;
  const auto pairs = frequencies.window.pairs();
  for (const RowDType dtype : test::all_row_dtypes) {
    const Rotations rotations =
        test::value_of(make_rotations(frequencies, positions, {.rows = dtype, .role = role}));
    EXPECT_EQ(rotations.role(), role);
    for (std::int64_t t = 0; t < rotations.tokens(); ++t) {
      const long double position = reference::position_at(positions, 0, t);
      for (std::int64_t i = 0; i < pairs; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const long double scale =
            factor * reference::xpos_factor(xpos, {.pair = i, .pairs = pairs}, position);
        const auto expect = [&](double got, long double angle) {
          const long double wanted = factor * angle;
          const double bound = dtype == RowDType::f64
                                   ? xpos_row_f64_error_bound(static_cast<double>(scale), position)
                                   : xpos_row_error_bound(static_cast<double>(wanted),
                                                          static_cast<double>(scale), position);
          ASSERT_LE(std::abs(got - wanted), bound)
              << "pair " << i << " position " << static_cast<double>(position);
        };
        const reference::CosSin& angle = exact.at(0, t)[at];
        const bool wide = dtype == RowDType::f64;
        expect(wide ? rotations.cos<double>(0, t)[at] : double{rotations.cos(0, t)[at]}, angle.cos);
        expect(wide ? rotations.sin<double>(0, t)[at] : double{rotations.sin(0, t)[at]}, angle.sin);
      }
    }
  }
}

TEST(Xpos, RowsStayWithinTheBound) {
  const std::vector<double> positions = {0,     1,      2,   511,     512, 4096,
                                         16990, -16990, 0.5, -77.125, 1e-9};
  test::Random random(101);
  std::vector<std::int64_t> integers;
  for (int i = 0; i < 40; ++i) integers.push_back(random.integer(-16900, 16900));
  for (const Role role : all_roles) {
    for (const std::int64_t pairs : {1, 15, 16, 17, 64, 65, 130}) {
      const Frequencies frequencies = frequencies_of(window_of(pairs), {}, 1.25);
      expect_rows_within_bound(frequencies, positions_of(std::span(positions)), role);
      expect_rows_within_bound(frequencies, positions_of(std::span(integers)), role);
    }
  }
}

// The position is a large number, its distance from the center is not.
TEST(Xpos, RowsStayWithinTheBoundFarFromZero) {
  constexpr double center = 0x1p52;
  const std::vector<std::int64_t> positions = {(std::int64_t{1} << 52) - 16990,
                                               (std::int64_t{1} << 52) + 1,
                                               (std::int64_t{1} << 52) + 16990};
  for (const Role role : all_roles) {
    for (const double scale_base : {512.0, 1e4, 1e300}) {
      expect_rows_within_bound(
          frequencies_of(window_of(20), {.scale_base = scale_base, .center = center}),
          positions_of(std::span(positions)), role);
    }
  }
}

TEST(Xpos, RotatesWithinTheBound) {
  const std::vector<double> positions = {0, 5000, -5000, 0.5, 131.25, 12};
  const Positions given = positions_of(std::span(positions), 2);
  for (const Pairing pairing : all_pairings) {
    const HeadWindow window{
        .head_dim = 50, .rotary_dim = 42, .first_feature = 3, .pairing = pairing};
    for (const Role role : all_roles) {
      const Frequencies frequencies = frequencies_of(window, {.center = 3}, 1.25);
      const test::Oracle oracle(frequencies, given, role);
      for (const DType dtype : test::all_dtypes) {
        const Rotations rotations = test::value_of(
            make_rotations(frequencies, given, {.rows = test::rows_for(dtype), .role = role}));
        for (const Direction direction : {Direction::forward, Direction::transpose}) {
          SCOPED_TRACE(test::describe(dtype, pairing, direction));
          const Tensor src = test::random_tensor(
              {.dtype = dtype, .extents = {.batch = 2, .tokens = 3, .heads = 2, .features = 50}},
              102);
          Tensor dst = src;
          test::require(rotate(dst.view(), src.view(), rotations, {.direction = direction}));
          EXPECT_TRUE(oracle.accepts(dst.view(), src.view(), direction));
          Tensor in_place = src;
          test::require(
              rotate(in_place.view(), in_place.view(), rotations, {.direction = direction}));
          EXPECT_EQ(in_place.bytes(), dst.bytes());
        }
      }
    }
  }
}

// A row depends on its position alone, in every kind of positions.
TEST(Xpos, RowsAreTheSameBitsHoweverTheyAreAskedFor) {
  const Frequencies frequencies = frequencies_of(window_of(70), {.center = 10});
  const std::vector<double> doubles = {40, 41, 42, 43};
  const std::vector<std::int32_t> integers = {40, 41, 42, 43};
  for (const Role role : all_roles) {
    const auto bits = [&](const Positions& positions) {
      return test::all_row_bits(
          test::value_of(make_rotations(frequencies, positions, {.role = role})));
    };
    const auto wanted = bits(ConsecutivePositions{.first = 40, .tokens = 4});
    EXPECT_EQ(bits(positions_of(std::span(doubles))), wanted);
    EXPECT_EQ(bits(positions_of(std::span(integers))), wanted);
    EXPECT_EQ(bits(positions_of(std::span(integers), 2)), wanted);
  }
}

// q at position m and k at n, each rotated by its own rows.
class Scores {
 public:
  explicit Scores(std::uint64_t seed)
      : q_(test::random_tensor({.dtype = DType::f64, .extents = one_head}, seed)),
        k_(test::random_tensor({.dtype = DType::f64, .extents = one_head}, seed + 1)) {}

  [[nodiscard]] double score(std::int64_t m, const Xpos& of_q, std::int64_t n,
                             const Xpos& of_k) const {
    const Tensor q = rotated(q_, m, of_q, Role::query);
    const Tensor k = rotated(k_, n, of_k, Role::key);
    double sum = 0;
    for (std::int64_t f = 0; f < one_head.features; ++f) sum += q.at({}, f) * k.at({}, f);
    return sum;
  }
  [[nodiscard]] double score(std::int64_t m, std::int64_t n, double center) const {
    return score(m, {.center = center}, n, {.center = center});
  }

 private:
  static constexpr Extents one_head{.tokens = 1, .heads = 1, .features = 64};

  static Tensor rotated(const Tensor& head, std::int64_t position, const Xpos& xpos, Role role) {
    Tensor result = head;
    const Rotations rotations = test::value_of(make_rotations(
        frequencies_of(window_of(32), xpos), ConsecutivePositions{.first = position, .tokens = 1},
        {.rows = RowDType::f64, .role = role}));
    test::require(rotate(result.view(), head.view(), rotations));
    return result;
  }

  Tensor q_;
  Tensor k_;
};

// With any common center the factors of query and key cancel except for the distance. Activations
// are below 4, so 64 products of 16 at most; each of the factors here is below 2^5.
TEST(Xpos, ScoresDependOnTheDistanceAlone) {
  const Scores scores(103);
  constexpr double tolerance = 64 * 16 * 0x1p-40;
  for (const std::int64_t distance : {-300, -1, 0, 1, 7, 300}) {
    const double wanted = scores.score(distance, 0, 0);
    for (const std::int64_t shift : {1, 64, 1000, -1000}) {
      EXPECT_NEAR(scores.score(distance + shift, shift, 0), wanted, tolerance);
      EXPECT_NEAR(scores.score(distance + shift, shift, 500.5), wanted, tolerance);
    }
  }
}

// Scores are wrong if cached keys were made around another center.
TEST(Xpos, ScoresOfTwoCentersAreOthers) {
  const Scores scores(104);
  const double wanted = scores.score(100, 90, 0);
  EXPECT_GT(std::abs(scores.score(100, {.center = 0}, 90, {.center = 64}) - wanted), 1e-3);
}

// The score of a vector with itself, a pair at a time positive at the distance 0.
TEST(Xpos, FactorsOfQueryAndKeyCancelAtTheSamePosition) {
  const Frequencies frequencies = frequencies_of(window_of(32), {});
  const ConsecutivePositions there{.first = 3000, .tokens = 1};
  const auto rows = [&](Role role) {
    return test::value_of(
        make_rotations(frequencies, there, {.rows = RowDType::f64, .role = role}));
  };
  const Rotations q = rows(Role::query);
  const Rotations k = rows(Role::key);
  for (std::size_t i = 0; i < 32; ++i) {
    const double product = q.cos<double>(0, 0)[i] * k.cos<double>(0, 0)[i] +
                           q.sin<double>(0, 0)[i] * k.sin<double>(0, 0)[i];
    EXPECT_NEAR(product, 1, 0x1p-44);
    EXPECT_LT(std::hypot(q.cos<double>(0, 0)[i], q.sin<double>(0, 0)[i]), 1);
  }
}

// (A s R)^-1 = R^T / (A s): the transpose by the other role's rows, over A^2.
TEST(Xpos, TheOtherRolesTransposeUndoesARotation) {
  constexpr double factor = 1.25;
  const ConsecutivePositions positions{.first = -700, .tokens = 5};
  for (const Pairing pairing : all_pairings) {
    const Frequencies frequencies = frequencies_of(window_of(32, pairing), {}, factor);
    const Tensor src = test::random_tensor(
        {.dtype = DType::f64, .extents = {.tokens = 5, .heads = 2, .features = 64}}, 105);
    for (const Role role : all_roles) {
      const auto rows = [&](Role of) {
        return test::value_of(
            make_rotations(frequencies, positions, {.rows = RowDType::f64, .role = of}));
      };
      Tensor turned = src;
      test::require(rotate(turned.view(), turned.view(), rows(role)));
      test::require(rotate(turned.view(), turned.view(),
                           rows(role == Role::query ? Role::key : Role::query),
                           {.direction = Direction::transpose}));
      test::for_each_element(src.extents(), [&](const test::HeadIndex& index, std::int64_t f) {
        ASSERT_NEAR(turned.at(index, f) / (factor * factor), src.at(index, f), 0x1p-38);
      });
    }
  }
}

TEST(Xpos, KeysOfAnotherCenterDoNotFit) {
  const Frequencies one = frequencies_of(window_of(4), {.center = 1});
  EXPECT_TRUE(rotate_alike(one, frequencies_of(window_of(4), {.center = 1})));
  EXPECT_FALSE(rotate_alike(one, frequencies_of(window_of(4), {.center = 2})));
  EXPECT_FALSE(rotate_alike(one, test::frequencies_of(window_of(4))));
}

TEST(Xpos, RemakeKeepsTheRole) {
  const Frequencies frequencies = frequencies_of(window_of(16), {});
  Rotations rotations = test::value_of(make_rotations(
      frequencies, ConsecutivePositions{.first = 0, .tokens = 8}, {.role = Role::key}));
  const ConsecutivePositions later{.first = 2000, .tokens = 3};
  test::require(remake_rotations(rotations, frequencies, later));
  EXPECT_EQ(rotations.role(), Role::key);
  EXPECT_EQ(
      test::all_row_bits(rotations),
      test::all_row_bits(test::value_of(make_rotations(frequencies, later, {.role = Role::key}))));
  EXPECT_NE(test::all_row_bits(rotations), test::all_row_bits(test::value_of(make_rotations(
                                               frequencies, later, {.role = Role::query}))));
}

}  // namespace
}  // namespace rotary
