// SPDX-License-Identifier: Apache-2.0
// The comparison itself. The exact pair is in long double, so its own error (2^-63) is far below
// the unit of 2^-24 hypot(pair) in which the contract is stated.
#include "support/oracle.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <ios>
#include <limits>

#include "rotary/numeric_contract.hpp"

namespace rotary::test {
namespace {

using reference::element;
using reference::HeadIndex;
using reference::RotatedHead;

struct PairError {
  HeadWindow window;
  std::int64_t pair = 0;
  double units = 0;
};

// The worse component's error in units of 2^-24 hypot(exact pair).
double error_units(const ConstHeadsView& dst, const RotatedHead& head, const PairError& at) {
  const auto [first, second] = features_of_pair(at.window, at.pair);
  const long double exact_first = head.exact[static_cast<std::size_t>(first)];
  const long double exact_second = head.exact[static_cast<std::size_t>(second)];
  const long double first_error = std::abs(element(dst, head.index, first) - exact_first);
  const long double second_error = std::abs(element(dst, head.index, second) - exact_second);
  const long double error = std::isnan(first_error) || std::isnan(second_error)
                                ? std::numeric_limits<long double>::infinity()
                                : std::max(first_error, second_error);
  if (error == 0) return 0;
  return static_cast<double>(error / (0x1p-24L * std::hypot(exact_first, exact_second)));
}

void for_each_pair_error(const ConstHeadsView& dst, const RotatedHead& head,
                         const HeadWindow& window, const std::function<void(PairError)>& visit) {
  for (std::int64_t pair = 0; pair < window.pairs(); ++pair) {
    PairError at{.window = window, .pair = pair};
    at.units = error_units(dst, head, at);
    visit(at);
  }
}

testing::AssertionResult passes_others(const ConstHeadsView& dst, const ConstHeadsView& src,
                                       const HeadIndex& index, const HeadWindow& window) {
  for (std::int64_t f = 0; f < window.head_dim; ++f) {
    if (turns(window, f)) continue;
    if (std::bit_cast<std::uint32_t>(element(dst, index, f)) !=
        std::bit_cast<std::uint32_t>(element(src, index, f))) {
      return testing::AssertionFailure() << "feature " << f << " should pass unchanged";
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace

std::pair<std::int64_t, std::int64_t> features_of_pair(const HeadWindow& window,
                                                       std::int64_t pair) noexcept {
  const std::int64_t begin = window.first_feature;
  if (window.pairing.get() == Pairing::half) return {begin + pair, begin + window.pairs() + pair};
  return {begin + 2 * pair, begin + 2 * pair + 1};
}

bool turns(const HeadWindow& window, std::int64_t feature) noexcept {
  return feature >= window.first_feature && feature < window.first_feature + window.rotary_dim;
}

testing::AssertionResult Oracle::accepts(const ConstHeadsView& dst, const ConstHeadsView& src,
                                         Direction direction) const {
  const HeadWindow& window = frequencies_.window;
  const double factor = frequencies_.attention_factor;
  testing::AssertionResult result = testing::AssertionSuccess();
  const auto compare = [&](const RotatedHead& head) {
    if (!result) return;
    const std::int64_t position =
        reference::position_at(positions_, head.index.batch, head.index.token);
    const double bound = dst.dtype == DType::bf16
                             ? rotate_bf16_error_bound(direction, factor, position)
                             : rotate_error_bound(direction, factor, position);
    for_each_pair_error(dst, head, window, [&](const PairError& at) {
      if (!result || at.units <= bound) return;
      const auto [first, second] = features_of_pair(window, at.pair);
      result = testing::AssertionFailure()
               << at.units << " units where the bound is " << bound << ": batch "
               << head.index.batch << " token " << head.index.token << " head " << head.index.head
               << " pair " << at.pair << " position " << position << std::hexfloat << " inv_freq "
               << frequencies_.inv_freq[static_cast<std::size_t>(at.pair)] << " A " << factor
               << " input (" << element(src, head.index, first) << ", "
               << element(src, head.index, second) << ") got (" << element(dst, head.index, first)
               << ", " << element(dst, head.index, second) << ")";
    });
    if (result) result = passes_others(dst, src, head.index, window);
  };
  for_each_rotated_head(
      src, rows_, {.window = window, .attention_factor = factor, .direction = direction}, compare);
  return result;
}

double Oracle::worst_units(const ConstHeadsView& dst, const ConstHeadsView& src,
                           Direction direction) const {
  double worst = 0;
  const auto compare = [&](const RotatedHead& head) {
    for_each_pair_error(dst, head, frequencies_.window,
                        [&](const PairError& at) { worst = std::max(worst, at.units); });
  };
  for_each_rotated_head(src, rows_,
                        {.window = frequencies_.window,
                         .attention_factor = frequencies_.attention_factor,
                         .direction = direction},
                        compare);
  return worst;
}

}  // namespace rotary::test
