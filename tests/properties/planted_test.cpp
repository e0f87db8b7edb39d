// SPDX-License-Identifier: Apache-2.0
// Each planted bug breaks the properties named for it; the same code without a bug breaks none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "properties/properties.hpp"
#include "reference/frequencies.hpp"
#include "support/oracle.hpp"
#include "support/random.hpp"

namespace rotary::test {
namespace {

// Mistakes that others have shipped. Each is planted in a plain rotary embedding in double.
enum class Bug {
  none,
  one_sin_with_the_wrong_sign,
  turns_backwards,
  exponent_i_over_d,  // base^(-i/d) instead of base^(-2i/d)
  frequency_of_the_next_pair,
  last_pair_swapped,  // (-x_{d-1}, x_d) instead of (-x_d, x_{d-1})
  key_one_position_late,
  attention_factor_missing,
  attention_factor_on_cos_only,
  half_where_interleaved_was_meant,
  order_kept_where_it_should_change,  // interleaved instead of interleaved_to_half
  inverse_keeps_the_factor,           // A R^T instead of R^-1 / A
  transpose_is_forward,
};

struct Turn {
  double cos = 1;  // both include the attention factor
  double sin = 0;
};

double inv_freq_of(Bug bug, const RotarySpec& spec, std::int64_t pair) {
  const auto right = reference::frequencies(spec).inv_freq;
  if (bug == Bug::frequency_of_the_next_pair) {
    const std::size_t next = static_cast<std::size_t>(pair) + 1;
    return next < right.size() ? static_cast<double>(right[next]) : 0;
  }
  const auto frequency = static_cast<double>(right[static_cast<std::size_t>(pair)]);
  if (bug != Bug::exponent_i_over_d) return frequency;
  return frequency * std::pow(spec.base.get(),
                              static_cast<double>(pair) / static_cast<double>(*spec.rotary_dim));
}

Turn turn_of(Bug bug, const RotarySpec& spec, std::int64_t pair, const Request& request) {
  const bool is_late = bug == Bug::key_one_position_late && request.role == Role::key;
  const auto position = static_cast<double>(request.position + (is_late ? 1 : 0));
  double angle = position * inv_freq_of(bug, spec, pair);
  if (bug == Bug::turns_backwards) angle = -angle;
  const bool goes_forward =
      request.direction == Direction::forward ||
      (bug == Bug::transpose_is_forward && request.direction == Direction::transpose);
  if (!goes_forward) angle = -angle;

  auto factor = static_cast<double>(reference::frequencies(spec).attention_factor);
  if (bug == Bug::attention_factor_missing) factor = 1;
  if (request.direction == Direction::inverse && bug != Bug::inverse_keeps_the_factor) {
    factor = 1 / factor;
  }
  const double sin_factor = bug == Bug::attention_factor_on_cos_only ? 1 : factor;
  return {.cos = factor * std::cos(angle), .sin = sin_factor * std::sin(angle)};
}

Implementation planted(Bug bug) {
  return [bug](const RotarySpec& spec) -> RotateHead {
    HeadWindow window{.head_dim = spec.head_dim,
                      .rotary_dim = *spec.rotary_dim,
                      .first_feature = spec.first_feature,
                      .pairing = spec.pairing};
    if (bug == Bug::half_where_interleaved_was_meant) window.pairing = Pairing::half;
    const bool keeps_order = bug == Bug::order_kept_where_it_should_change;
    if (keeps_order && window.pairing.get() == Pairing::interleaved_to_half) {
      window.pairing = Pairing::interleaved;
    }
    return [bug, spec, window](const Request& request) {
      std::vector<float> head(request.head.begin(), request.head.end());
      for (std::int64_t i = 0; i < window.pairs(); ++i) {
        const auto [read_x, read_y] = features_read(window, request.direction, i);
        const double x0 = request.head[static_cast<std::size_t>(read_x)];
        const double y0 = request.head[static_cast<std::size_t>(read_y)];
        const auto [first, second] = features_written(window, request.direction, i);
        float& x = head[static_cast<std::size_t>(first)];
        float& y = head[static_cast<std::size_t>(second)];
        const Turn turn = turn_of(bug, spec, i, request);
        const bool swapped = bug == Bug::last_pair_swapped && i + 1 == window.pairs();
        const double sign = bug == Bug::one_sin_with_the_wrong_sign ? -1 : 1;
        x = static_cast<float>(x0 * turn.cos - (swapped ? x0 : y0) * turn.sin);
        y = static_cast<float>(y0 * turn.cos + sign * (swapped ? y0 : x0) * turn.sin);
      }
      return head;
    };
  };
}

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

// The properties that reject at least one sample.
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

TEST(PlantedBugs, CorrectCodeBreaksNoProperty) { EXPECT_TRUE(rejected_by(Bug::none).empty()); }

TEST(PlantedBugs, EachBreaksItsProperties) {
  struct Found {
    Bug bug;
    std::vector<std::string_view> by;
  };
  const std::vector<Found> all = {
      {Bug::one_sin_with_the_wrong_sign,
       {"keeps_norm", "depends_on_distance_alone", "composes", "inverse_undoes",
        "transpose_is_adjoint", "agrees_with_reference"}},
      {Bug::last_pair_swapped,
       {"keeps_norm", "depends_on_distance_alone", "composes", "inverse_undoes",
        "agrees_with_reference"}},
      {Bug::key_one_position_late, {"depends_on_distance_alone"}},
      {Bug::attention_factor_missing,
       {"keeps_norm", "depends_on_distance_alone", "composes", "agrees_with_reference"}},
      {Bug::attention_factor_on_cos_only,
       {"keeps_norm", "depends_on_distance_alone", "composes", "agrees_with_reference"}},
      {Bug::half_where_interleaved_was_meant,
       {"half_is_permuted_interleaved", "agrees_with_reference"}},
      {Bug::order_kept_where_it_should_change,
       {"to_half_is_interleaved_then_permuted", "agrees_with_reference"}},
      {Bug::inverse_keeps_the_factor, {"inverse_undoes"}},
      {Bug::transpose_is_forward, {"transpose_is_adjoint"}}};
  for (const auto& [bug, by] : all) {
    const auto names = rejected_by(bug);
    for (const std::string_view name : by) {
      EXPECT_NE(std::find(names.begin(), names.end(), name), names.end())
          << name << " accepts planted bug " << static_cast<int>(bug);
    }
  }
}

// Consistently wrong angles still rotate, so only the reference can tell.
TEST(PlantedBugs, WrongAnglesAreFoundByTheReferenceAlone) {
  for (const Bug bug :
       {Bug::turns_backwards, Bug::exponent_i_over_d, Bug::frequency_of_the_next_pair}) {
    EXPECT_EQ(rejected_by(bug), std::vector<std::string_view>{"agrees_with_reference"});
  }
}

}  // namespace
}  // namespace rotary::test
