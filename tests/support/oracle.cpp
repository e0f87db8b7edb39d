// SPDX-License-Identifier: Apache-2.0
// The exact pair is in long double. Its error (2^-63) is far below the contract's unit: 2^-24
// hypot(pair), for f64 2^-53 hypot(pair).
#include "support/oracle.hpp"

#include <bit>
#include <iomanip>
#include <ios>

#include "support/contract.hpp"

namespace rotary::test {
namespace {

using reference::element;
using reference::HeadIndex;
using reference::RotatedHead;

testing::AssertionResult passes_others(const ConstHeadsView& dst, const ConstHeadsView& src,
                                       const HeadIndex& index, const HeadWindow& window) {
  for (std::int64_t f = 0; f < window.head_dim; ++f) {
    if (turns(window, f)) continue;
    if (std::bit_cast<std::uint64_t>(element(dst, index, f)) !=
        std::bit_cast<std::uint64_t>(element(src, index, f))) {
      return testing::AssertionFailure() << "feature " << f << " should pass unchanged";
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace

testing::AssertionResult Oracle::accepts(const ConstHeadsView& dst, const ConstHeadsView& src,
                                         Direction direction) const {
  const HeadWindow& window = frequencies_.window;
  const double factor = frequencies_.attention_factor;
  testing::AssertionResult result = testing::AssertionSuccess();
  const auto compare = [&](const RotatedHead& head) {
    if (!result) return;
    Rotated by{.dtype = dst.dtype,
               .direction = direction,
               .attention_factor = factor,
               .by_xpos = frequencies_.xpos.has_value()};
    for (std::int64_t pair = 0; pair < window.pairs() && result; ++pair) {
      const long double position = by.position = reference::bounding_position(
          positions_, head.index, frequencies_.axes, static_cast<std::size_t>(pair));
      const auto [x, y] = features_read(window, direction, pair);
      const auto [first, second] = features_written(window, direction, pair);
      const PairError at =
          pair_error(by, {element(dst, head.index, first), element(dst, head.index, second)},
                     {head.exact[static_cast<std::size_t>(first)],
                      head.exact[static_cast<std::size_t>(second)]});
      if (at.units <= at.bound) continue;
      result =
          testing::AssertionFailure()
          << at.units << " units where the bound is " << at.bound << ": batch " << head.index.batch
          << " token " << head.index.token << " head " << head.index.head << " pair " << pair
          << " position " << std::setprecision(21) << position << std::hexfloat << " inv_freq "
          << frequencies_.inv_freq[static_cast<std::size_t>(pair)] << " A " << factor << " input ("
          << element(src, head.index, x) << ", " << element(src, head.index, y) << ") got ("
          << element(dst, head.index, first) << ", " << element(dst, head.index, second) << ")";
    }
    if (result) result = passes_others(dst, src, head.index, window);
  };
  for_each_rotated_head(
      src, rows_, {.window = window, .attention_factor = factor, .direction = direction}, compare);
  return result;
}

}  // namespace rotary::test
