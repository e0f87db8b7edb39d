// SPDX-License-Identifier: Apache-2.0
// How far two right computations of inv_freq in double may be apart, relative. It is the
// conditioning of the formulas: a pow inherits the rounding of its exponent times ln(base), and a
// blend of theta and theta / factor magnifies what rounding does to its weight by factor.
#pragma once

#include <algorithm>
#include <cmath>
#include <variant>

#include "rotary/rotary_spec.hpp"

namespace rotary::test {

struct BlendMagnification {
  double operator()(const YarnScaling& rule) const { return std::max(1.0, rule.factor); }
  double operator()(const Llama3Scaling& rule) const { return std::max(1.0, rule.factor); }
  template <class Rule>
  double operator()(const Rule& /*unblended*/) const {
    return 0;
  }
};

[[nodiscard]] inline double frequency_tolerance(const RotarySpec& spec) {
  const double blend = std::visit(BlendMagnification{}, spec.scaling);
  return (4 + std::log(spec.base.get()) + 4 * blend) * 0x1p-52;
}

}  // namespace rotary::test
