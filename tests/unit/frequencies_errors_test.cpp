// SPDX-License-Identifier: Apache-2.0
// Breaks each requirement in rotary_spec.hpp and frequencies.hpp once, except for scaling rules.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "rotary/frequencies.hpp"
#include "support/refusals.hpp"

namespace rotary {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

RotarySpec spec_with(double base, const Scaling& scaling) {
  return {.head_dim = 64, .base = base, .pairing = Pairing::half, .scaling = scaling};
}

void expect_refused(const RotarySpec& spec, test::Parts parts) {
  test::refused(make_frequencies(spec), parts);
  test::refused(validate(spec), parts);
}

TEST(FrequenciesErrors, InvalidBasesAreRefused) {
  for (const double base : {nan, infinity, -infinity, 1.0, 0.5, 0.0, -10000.0}) {
    expect_refused(spec_with(base, NoScaling{}), {"base", "finite and > 1", "got"});
  }
  expect_refused(spec_with(nan, NoScaling{}), {"nan"});
  expect_refused(spec_with(0.5, NoScaling{}), {"0.5"});
}

TEST(FrequenciesErrors, AnUnknownSenseIsRefused) {
  RotarySpec spec = spec_with(10000, NoScaling{});
  spec.sense = static_cast<Sense>(3);
  expect_refused(spec, {"sense must be positive or negative", "got value 3"});
}

TEST(FrequenciesErrors, InvalidExplicitListsAreRefused) {
  const HeadWindow good{.head_dim = 4, .rotary_dim = 4, .pairing = Pairing::half};
  const auto with = [&](const std::vector<double>& list, double factor = 1) {
    return make_frequencies(good, list, factor);
  };
  test::refused(with({1}), {"one", "each pair", "2", "got 1"});
  test::refused(with({1, 1, 1}), {"2", "got 3"});
  test::refused(with({}), {"2", "got 0"});
  for (const double bad : {nan, infinity, -infinity, -0x1p40, 0x1p40})
    test::refused(with({1, bad}), {"inv_freq", "got"});
  for (const double bad : {nan, infinity, -infinity, -1.0, 0.0, 0x1p-21, 0x1p21})
    test::refused(with({1, 1}, bad), {"attention_factor", "got"});
  const HeadWindow odd{.head_dim = 4, .rotary_dim = 3, .pairing = Pairing::half};
  test::refused(make_frequencies(odd, {1}, 1), {"rotary_dim must be even", "got 3"});
  const HeadWindow outside{
      .head_dim = 4, .rotary_dim = 4, .first_feature = 2, .pairing = Pairing::half};
  test::refused(make_frequencies(outside, {1, 1}, 1), {"rotary_dim", "got 4"});
}

// A linear factor of 1e-300 makes the first frequency 1e300, which is above 2^40.
TEST(FrequenciesErrors, FrequenciesOutsideTheLegalRangeAreRefused) {
  expect_refused(spec_with(10000, LinearScaling{.factor = 1e-300}),
                 {"inv_freq must be in (-2^40, 2^40)", "got", "for pair 0"});
}

}  // namespace
}  // namespace rotary
