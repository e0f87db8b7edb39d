// SPDX-License-Identifier: Apache-2.0
// factor = ((arange(0, d, 2) + 0.4 d) / (1.4 d))^((position - center) / scale_base). Queries are
// multiplied by it, keys are divided by it.
#include "reference/xpos.hpp"

#include <cmath>

namespace rotary::reference {

long double xpos_factor(const XposRole& of, const PairOf& pair, long double position) {
  const auto d = static_cast<long double>(2 * pair.pairs);
  const long double scale = (2 * static_cast<long double>(pair.pair) + 0.4L * d) / (1.4L * d);
  const long double power = (position - of.xpos.center) / of.xpos.scale_base;
  const long double factor = std::pow(scale, power);
  return of.role == Role::query ? factor : 1 / factor;
}

}  // namespace rotary::reference
