// SPDX-License-Identifier: Apache-2.0
#include "reference/forms.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "reference/frequencies.hpp"
#include "support/random.hpp"

namespace rotary::reference {
namespace {

std::vector<CosSin> angles_at(std::int64_t position, std::int64_t pairs) {
  std::vector<CosSin> angles;
  for (std::int64_t i = 0; i < pairs; ++i) {
    angles.push_back(
        cos_sin(position, std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(pairs))));
  }
  return angles;
}

std::vector<long double> random_head(std::int64_t features, std::uint64_t seed) {
  test::Random random(seed);
  std::vector<long double> head(static_cast<std::size_t>(features));
  for (long double& value : head) value = random.activation();
  return head;
}

void expect_near(const std::vector<long double>& got, const std::vector<long double>& wanted,
                 long double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_LE(std::abs(got[i] - wanted[i]), tolerance) << "feature " << i;
  }
}

struct Window {
  std::int64_t head_dim;
  std::int64_t rotary_dim;
  std::int64_t first_feature;
};
constexpr std::array windows = {Window{2, 2, 0},  Window{4, 4, 0},  Window{16, 16, 0},
                                Window{13, 6, 0}, Window{13, 6, 7}, Window{128, 64, 3}};

template <class Visit>
void for_each_window_and_direction(Visit visit) {
  for (const Window& size : windows) {
    for (const Pairing pairing : all_pairings) {
      const HeadWindow window{.head_dim = size.head_dim,
                              .rotary_dim = size.rotary_dim,
                              .first_feature = size.first_feature,
                              .pairing = pairing};
      for (const Direction direction :
           {Direction::forward, Direction::inverse, Direction::transpose}) {
        SCOPED_TRACE("rotary_dim " + std::to_string(size.rotary_dim) + " direction " +
                     std::to_string(static_cast<int>(direction)));
        visit(window, direction);
      }
    }
  }
}

TEST(Forms, AgreeWithEachOther) {
  for_each_window_and_direction([](const HeadWindow& window, Direction direction) {
    const auto angles = angles_at(123457, window.pairs());
    const HeadRotation rotation{.angles = angles, .attention_factor = 1.25, .direction = direction};
    const auto x = random_head(window.head_dim, 30);
    const auto by_matrix = rotate_by_matrix(x, window, rotation);
    expect_near(rotate_by_complex_numbers(x, window, rotation), by_matrix, 0x1p-58L);
    expect_near(rotate_by_elements(x, window, rotation), by_matrix, 0x1p-58L);
  });
}

TEST(Forms, LeaveFeaturesOutsideTheWindowAlone) {
  const HeadWindow window{
      .head_dim = 9, .rotary_dim = 4, .first_feature = 3, .pairing = Pairing::half};
  const auto angles = angles_at(5, 2);
  const auto x = random_head(9, 31);
  for (const auto form : {rotate_by_matrix, rotate_by_complex_numbers, rotate_by_elements}) {
    const auto y = form(x, window, {.angles = angles, .attention_factor = 3});
    for (const std::size_t f : {0U, 1U, 2U, 7U, 8U}) EXPECT_EQ(y[f], x[f]);
    for (const std::size_t f : {3U, 4U, 5U, 6U}) EXPECT_NE(y[f], x[f]);
  }
}

TEST(Forms, RotateByElementsMatchesTheWorkedExample) {
  const std::vector<long double> x = {0.5, -1, 1.5, 2};
  const auto angles = angles_at(3, 2);
  const HeadRotation rotation{.angles = angles};
  const HeadWindow neighbours{
      .head_dim = 4, .rotary_dim = 4, .first_feature = 0, .pairing = Pairing::interleaved};
  const HeadWindow halves{
      .head_dim = 4, .rotary_dim = 4, .first_feature = 0, .pairing = Pairing::half};
  const HeadWindow to_halves{
      .head_dim = 4, .rotary_dim = 4, .first_feature = 0, .pairing = Pairing::interleaved_to_half};
  expect_near(rotate_by_elements(x, to_halves, rotation),
              {-0.353876L, 1.439334L, 1.060553L, 2.044093L}, 5e-7L);
  expect_near(rotate_by_elements(x, neighbours, rotation),
              {-0.353876L, 1.060553L, 1.439334L, 2.044093L}, 5e-7L);
  expect_near(rotate_by_elements(x, halves, rotation),
              {-0.706676L, -1.059541L, -1.414429L, 1.969105L}, 5e-7L);
}

TEST(Forms, InverseUndoesForwardAndTransposeIsItsAdjoint) {
  for_each_window_and_direction([](const HeadWindow& window, Direction) {
    const auto angles = angles_at(-77, window.pairs());
    HeadRotation rotation{.angles = angles, .attention_factor = 0.7L};
    const auto x = random_head(window.head_dim, 32);
    const auto y = random_head(window.head_dim, 33);
    const auto turned = rotate_by_matrix(x, window, rotation);
    rotation.direction = Direction::inverse;
    expect_near(rotate_by_matrix(turned, window, rotation), x, 0x1p-58L);
    rotation.direction = Direction::transpose;
    const auto pulled_back = rotate_by_matrix(y, window, rotation);
    long double left = 0;
    long double right = 0;
    for (std::size_t f = 0; f < x.size(); ++f) {
      left += turned[f] * y[f];
      right += x[f] * pulled_back[f];
    }
    EXPECT_LE(std::abs(left - right), 0x1p-50L);
  });
}

// With the widely copied exponent i/d instead of 2i/d, the last frequency would be 0.1.
TEST(ReferenceFrequencies, AgreeWithFourFeaturesByHand) {
  const RotarySpec spec{.head_dim = 4, .base = 10000.0, .pairing = Pairing::interleaved};
  expect_near(frequencies(spec).inv_freq, {1, 0.01L}, 0x1p-60L);
}

}  // namespace
}  // namespace rotary::reference
