// SPDX-License-Identifier: Apache-2.0
// The properties detect bugs: each planted bug is rejected by the properties named for it, and the
// same code without a bug by none.
#include "properties/planted.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "properties/properties.hpp"
#include "support/random.hpp"

namespace rotary::test {
namespace {

std::vector<Sample> samples() {
  Random random(36);
  std::vector<Sample> made;
  for (int i = 0; i < 40; ++i) {
    made.push_back(make_sample({.pairs = random.integer(2, 20),
                                .features_before = random.integer(0, 3),
                                .features_after = random.integer(0, 3),
                                .pairing = all_pairings[static_cast<std::size_t>(i) % 3],
                                .attention_factor = i % 4 == 0 ? 1.0 : 1.25,
                                .position = random.integer(-1000, 1000),
                                .other_position = random.integer(-1000, 1000),
                                .shift = random.integer(1, 1000),
                                .seed = random.bits()}));
  }
  return made;
}

// Names of the properties that reject at least one sample.
std::vector<std::string_view> rejected_by(Bug bug) {
  static const std::vector<Sample> made = samples();
  std::vector<std::string_view> names;
  for (const Property& property : all_properties) {
    const bool rejects = std::any_of(made.begin(), made.end(), [&](const Sample& sample) {
      return property.broken(planted(bug), sample).has_value();
    });
    if (rejects) names.push_back(property.name);
  }
  return names;
}

void expect_rejected(Bug bug, const std::vector<std::string_view>& by) {
  const auto names = rejected_by(bug);
  for (const std::string_view name : by) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end())
        << name << " accepts planted bug " << static_cast<int>(bug);
  }
}

TEST(PlantedBugs, NoneIsAcceptedByAll) { EXPECT_TRUE(rejected_by(Bug::none).empty()); }

TEST(PlantedBugs, WrongSignOfOneSin) {
  expect_rejected(Bug::one_sin_with_the_wrong_sign,
                  {"keeps_norm", "depends_on_distance_alone", "composes", "inverse_undoes",
                   "transpose_is_adjoint", "agrees_with_reference"});
}

TEST(PlantedBugs, LastPairSwapped) {
  expect_rejected(Bug::last_pair_swapped, {"keeps_norm", "depends_on_distance_alone", "composes",
                                           "inverse_undoes", "agrees_with_reference"});
}

TEST(PlantedBugs, KeyOnePositionLate) {
  expect_rejected(Bug::key_one_position_late, {"depends_on_distance_alone"});
}

TEST(PlantedBugs, AttentionFactorMissingOrOnCosOnly) {
  expect_rejected(Bug::attention_factor_missing,
                  {"keeps_norm", "depends_on_distance_alone", "composes", "agrees_with_reference"});
  expect_rejected(Bug::attention_factor_on_cos_only,
                  {"keeps_norm", "depends_on_distance_alone", "composes", "agrees_with_reference"});
}

TEST(PlantedBugs, HalfWhereInterleavedWasMeant) {
  expect_rejected(Bug::half_where_interleaved_was_meant,
                  {"half_is_permuted_interleaved", "agrees_with_reference"});
}

TEST(PlantedBugs, OrderKeptWhereItShouldChange) {
  expect_rejected(Bug::order_kept_where_it_should_change,
                  {"to_half_is_interleaved_then_permuted", "agrees_with_reference"});
}

TEST(PlantedBugs, WrongDirections) {
  expect_rejected(Bug::inverse_keeps_the_factor, {"inverse_undoes"});
  expect_rejected(Bug::transpose_is_forward, {"transpose_is_adjoint"});
}

// A rotation by consistently wrong angles is still a rotation: only the reference can tell.
TEST(PlantedBugs, WrongAngles) {
  for (const Bug bug :
       {Bug::turns_backwards, Bug::exponent_i_over_d, Bug::frequency_of_the_next_pair}) {
    EXPECT_EQ(rejected_by(bug), std::vector<std::string_view>{"agrees_with_reference"});
  }
}

}  // namespace
}  // namespace rotary::test
