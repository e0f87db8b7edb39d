// SPDX-License-Identifier: Apache-2.0
// The exact pair is computed in long double. Its error, about 2^-63 hypot(pair), is far below the
// contract's unit: 2^-53 hypot(pair) for f64, 2^-24 hypot(pair) for the other dtypes.
#include "support/oracle.hpp"

#include "check/views.hpp"

namespace rotary::test {

testing::AssertionResult Oracle::accepts(const ConstHeadsView& dst, const ConstHeadsView& src,
                                         Direction direction) const {
  const HeadWindow& window = frequencies_.window;
  const check::Rotated by{.dtype = dst.dtype,
                          .direction = direction,
                          .attention_factor = frequencies_.attention_factor,
                          .by_xpos = frequencies_.xpos.has_value()};
  testing::AssertionResult result = testing::AssertionSuccess();
  const auto compare = [&](const reference::RotatedHead& head) {
    if (!result) return;
    const auto& [batch, token, of_heads] = head.index;
    const std::string fault = check::rotated_fault(
        window, {head.input, head.exact, check::head_at(dst, head.index)}, by,
        [&](std::int64_t pair) {
          return reference::bounding_position(positions_, head.index, frequencies_.axes,
                                              static_cast<std::size_t>(pair));
        });
    if (fault.empty()) return;
    result = testing::AssertionFailure()
             << "batch " << batch << " token " << token << " head " << of_heads << " " << fault;
  };
  reference::for_each_rotated_head(
      src, rows_,
      {.window = window, .attention_factor = by.attention_factor, .direction = direction}, compare);
  return result;
}

}  // namespace rotary::test
