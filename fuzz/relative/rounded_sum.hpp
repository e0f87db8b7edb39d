// SPDX-License-Identifier: Apache-2.0
// The long double value of a sum that a call computes in double, and the numbers for its bound.
#pragma once

#include <cmath>
#include <cstdint>

namespace rotary::fuzz {

struct RoundedSum {
  long double value = 0;
  long double size = 0;  // the sum of the terms' magnitudes
  std::int64_t terms = 0;

  explicit RoundedSum(double first) { add(first); }

  void add(long double term) {
    value += term;
    size += std::abs(term);
    ++terms;
  }
  void add_product(long double a, long double b) { add(a * b); }
};

}  // namespace rotary::fuzz
