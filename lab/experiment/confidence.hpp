// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rotary::lab {

// A 95 % confidence interval.
struct Interval {
  double low = 0;
  double high = 0;
};

}  // namespace rotary::lab
