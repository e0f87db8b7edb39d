// SPDX-License-Identifier: Apache-2.0
#include "properties/planted.hpp"

#include <cmath>

#include "reference/frequencies.hpp"
#include "support/oracle.hpp"

namespace rotary::test {
namespace {

struct Turn {
  double cos = 1;  // each with its factor
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

}  // namespace

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

}  // namespace rotary::test
