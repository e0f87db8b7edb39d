// SPDX-License-Identifier: Apache-2.0
// In HunYuan-VL and V-JEPA 2 the two features of a pair may have different angles. Compares with
// their formulas in long double. Also tests errors.
#include "reference/two_angles.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "reference/tensor.hpp"
#include "rotary/position_maps.hpp"
#include "support/cases.hpp"
#include "support/random.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"
#include "support/tensor.hpp"

namespace rotary {
namespace {

using reference::FeatureSource;
using test::Tensor;

// [at most 4 axes][2 batch rows][3 tokens].
constexpr std::array<double, 24> places = {0,     1,  2.5, -3,     4096, 0.1, 7,   131071,
                                           -0.25, 9,  10,  0x1p40, 3,    2,   1,   8,
                                           55,    60, 0.5, -0.5,   6,    17,  400, 12};

struct Model {
  TwoAngles angles;
  std::vector<FeatureSource> sources;
  double base;
};

std::vector<Model> models() {
  std::vector<Model> all;
  for (const auto& [dim, sections] :
       {std::pair<std::int64_t, std::vector<std::int64_t>>{128, {16, 16, 16, 16}},
        {16, {2, 3, 1, 2}},
        {518, {259}}}) {
    all.push_back({test::value_of(hunyuan_vl_two_angles(dim, 10000, sections)),
                   reference::hunyuan_vl_features(dim, sections), 10000});
  }
  for (const std::int64_t dim : {6, 64, 80, 1031})
    all.push_back({test::value_of(vjepa2_two_angles(dim)), reference::vjepa2_features(dim), 10000});
  return all;
}

double unit_of(DType dtype, double value) {
  const int bits = dtype == DType::f32    ? 24
                   : dtype == DType::bf16 ? 8
                   : dtype == DType::f16  ? 11
                                          : 53;
  const double least = dtype == DType::f16 ? 0x1p-24 : 0;
  return std::max(std::ldexp(std::abs(value), -bits), least);
}

struct Turned {
  const Model& model;
  Positions positions;
  const Tensor& src;
  const Tensor& dst;
};

// Checks one head against the documented bound, 2^-49 for each of two products.
void check_head(const Turned& of, const test::HeadIndex& at, DType dtype) {
  const TwoAngles& angles = of.model.angles;
  std::vector<reference::CosSin> row;
  double farthest = 0;
  for (std::size_t f = 0; f < of.model.sources.size(); ++f) {
    const auto place =
        reference::position_at(of.positions, at.batch, at.token, of.model.sources[f].axis);
    const std::array angle = {reference::Angle{place, angles.of_features.inv_freq[f]}};
    row.push_back(reference::cos_sin_of_sum(angle));
    farthest = std::max(farthest, std::abs(static_cast<double>(place)));
  }
  std::vector<long double> head;
  long double most = 0;
  for (std::int64_t f = 0; f < angles.window.head_dim; ++f) {
    head.push_back(of.src.at(at, f));
    most = std::max(most, std::abs(head.back()));
  }
  reference::turn_by_two_angles(head, angles.window, row);
  for (std::int64_t f = 0; f < angles.window.head_dim; ++f) {
    const auto exact = static_cast<double>(head[static_cast<std::size_t>(f)]);
    const double bound = unit_of(dtype, exact) +
                         2 * static_cast<double>(most) * (6.3 * farthest * 0x1p-65 + 0x1p-49);
    ASSERT_NEAR(of.dst.at(at, f), exact, bound) << f << " of " << angles.window.head_dim;
  }
}

TEST(TwoAngles, FrequenciesFollowTheirFormulas) {
  for (const Model& model : models()) {
    const std::vector<double>& inv_freq = model.angles.of_features.inv_freq;
    ASSERT_EQ(inv_freq.size(), model.sources.size());
    for (std::size_t f = 0; f < inv_freq.size(); ++f) {
      const auto exact = std::pow(static_cast<long double>(model.base), model.sources[f].exponent);
      // The rounded exponent costs ln(10000) = 9.2 times 2^-53, and the power itself 2^-52.
      EXPECT_NEAR(inv_freq[f], static_cast<double>(exact), (9.2 + 2) * 0x1p-53 * inv_freq[f]);
      if (model.angles.of_features.axes.count == 1) continue;
      EXPECT_EQ(model.angles.of_features.axes.of_pair[f], model.sources[f].axis);
    }
  }
}

TEST(TwoAngles, RotateWithinTheBound) {
  test::Random random(3);
  for (const Model& model : models()) {
    const std::int64_t axes = model.angles.of_features.axes.count;
    const auto used = static_cast<std::size_t>(6 * axes);
    const Positions positions = positions_of(std::span(places).first(used), 2, axes);
    const TwoAngleRows rows = test::value_of(make_two_angle_rows(model.angles, positions));
    std::size_t layout = 0;
    for (const DType dtype : test::all_dtypes) {
      const Extents extents{
          .batch = 2, .tokens = 3, .heads = 2, .features = model.angles.window.head_dim};
      Tensor src({.dtype = dtype,
                  .extents = extents,
                  .layout = test::all_layouts[layout++ % test::all_layouts.size()]});
      test::fill(src, random);
      Tensor dst({.dtype = dtype,
                  .extents = extents,
                  .layout = test::all_layouts[(layout + 3) % test::all_layouts.size()]});
      test::require(apply_two_angles(dst.view(), src.view(), rows));
      ASSERT_TRUE(dst.guards_intact());
      for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t t = 0; t < 3; ++t)
          check_head({model, positions, src, dst}, {.batch = b, .token = t, .head = 1}, dtype);
      Tensor in_place = src;
      test::require(apply_two_angles(in_place.view(), in_place.view(), rows));
      EXPECT_EQ(in_place.all_bits(), dst.all_bits());
    }
  }
}

// HunYuan-VL's text has one coordinate for all axes, so the result is that of rotate().
TEST(TwoAngles, EqualRotateForOneCoordinate) {
  const TwoAngles angles = test::value_of(hunyuan_vl_two_angles(16, 10000, {2, 2, 2, 2}));
  const Positions text = ConsecutivePositions{.first = 70, .tokens = 5};
  const TwoAngleRows rows = test::value_of(make_two_angle_rows(angles, text));
  const Frequencies plain =
      test::value_of(make_frequencies({.head_dim = 16, .base = 10000.0, .pairing = Pairing::half}));
  const Rotations rotations = test::value_of(make_rotations(plain, text, {.rows = RowDType::f64}));
  test::Random random(5);
  Tensor q({.dtype = DType::f64, .extents = {1, 5, 2, 16}});
  test::fill(q, random);
  Tensor turned = q;
  Tensor rotated = q;
  test::require(apply_two_angles(turned.view(), q.view(), rows));
  test::require(rotate(rotated.view(), q.view(), rotations));
  test::for_each_element(q.extents(), [&](const test::HeadIndex& at, std::int64_t f) {
    EXPECT_NEAR(turned.at(at, f), rotated.at(at, f), 0x1p-50);
  });
}

TEST(TwoAngles, InvalidArgumentsAreRefused) {
  test::refused(vjepa2_two_angles(5), {"head_dim must be from 6 to 2^30, got 5"});
  test::refused(vjepa2_two_angles(std::numeric_limits<std::int64_t>::max()), {"head_dim"});
  test::refused(hunyuan_vl_two_angles(16, 1, {8}), {"base must be > 1 and finite, got 1"});
  for (const std::vector<std::int64_t>& sections :
       {std::vector<std::int64_t>{},
        {4, 3},
        {4, 5},
        {8, 0},
        {-1, 9},
        std::vector<std::int64_t>(9, 1),
        {std::numeric_limits<std::int64_t>::max(), 2}}) {
    test::refused(hunyuan_vl_two_angles(16, 10000, sections), {"sections must", "for head_dim 16"});
  }
  test::refused(hunyuan_vl_two_angles(-2, 10000, {-1}), {"sections must"});
  const HeadWindow window{.head_dim = 8, .rotary_dim = 4, .pairing = Pairing::half};
  test::refused(make_two_angles(window, {1, 1}, {}), {"one entry for each of the 4", "got 2"});
  HeadWindow bad = window;
  bad.first_feature = 5;
  test::refused(make_two_angles(bad, {1, 1, 1, 1}, {}), {"got 4 from feature 5 of 8"});
  bad = window;
  bad.pairing = Pairing::interleaved_to_half;
  test::refused(make_two_angles(bad, {1, 1, 1, 1}, {}), {"half or interleaved in 1 block"});
  test::refused(make_two_angles(window, {1, 1, 1, 1}, {.count = 2}), {"dense"});
  test::refused(make_two_angles(window, {1, 1, 1, 1}, {.count = 2, .of_pair = {0, 1, 2, 0}}),
                {"axes"});
  test::refused(make_two_angles(window, {1, 1, std::nan(""), 1}, {}), {"inv_freq"});
}

struct TwoAnglesCall {
  TwoAngles angles = test::value_of(vjepa2_two_angles(6));
  std::array<std::int64_t, 6> place = {1, 2, 3, 4, 5, 6};
  TwoAngleRows rows =
      test::value_of(make_two_angle_rows(angles, positions_of(std::span(place), 1, 3)));
  Tensor x = test::random_tensor({.extents = {1, 2, 1, 6}}, 1);
  HeadsView dst = x.view();

  [[nodiscard]] auto written() const { return x.bytes(); }
  [[nodiscard]] Status run() const { return apply_two_angles(dst, x.view(), rows); }
};

using TwoAnglesErrors = test::Refusals<TwoAnglesCall>;

TEST_F(TwoAnglesErrors, InvalidViewsAreRefusedBeforeAnyWrite) {
  accept(c);
  refuse(c.dst.extents.features = 5, {"dst: the view must have 6 features, 2 tokens"});
  refuse(c.dst.strides.token = 0, {"dst", "distinct"});
  refuse(c.dst.data = nullptr, {"dst", "null"});
  refuse(c.dst.dtype = DType::bf16, {"the same dtype and extents, got bf16"});
  test::refused(make_two_angle_rows(c.angles, positions_of(std::span(c.place), 1, 2)),
                {"1 axis, or 3", "got 2"});
}

}  // namespace
}  // namespace rotary
