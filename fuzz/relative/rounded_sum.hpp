// SPDX-License-Identifier: Apache-2.0
// A sum of products that a call computes in double and rounds once, compared with long double.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "fuzz/check.hpp"
#include "fuzz/elements.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::fuzz {

class RoundedSum {
 public:
  explicit RoundedSum(double first) { add(first); }

  void add(long double term) {
    value_ += term;
    size_ += std::abs(term);
    ++terms_;
  }
  void add_product(long double a, long double b) { add(a * b); }

  [[nodiscard]] long double value() const { return value_; }
  [[nodiscard]] long double size() const { return size_; }
  // Each product and each sum is rounded once. Grouped sums are rounded a few more times.
  [[nodiscard]] double error() const {
    return static_cast<double>((static_cast<long double>(terms_) + 4) * 0x1p-53L * size_);
  }

 private:
  long double value_ = 0;
  long double size_ = 0;
  std::int64_t terms_ = 0;
};

// Skips numbers that overflow, are 0, or are so small that products underflow.
inline void check_sum(const RoundedSum& sum, DType dtype, const std::byte* element) {
  const long double most = dtype == DType::f16   ? f16_overflow * 0.99
                           : dtype == DType::f64 ? 0x1p1000L
                                                 : 0x1p127L;
  if (!(sum.size() < most) || sum.size() < 0x1p-900L) return;
  const double bound = stored_element_error(dtype, static_cast<double>(sum.value()), sum.error());
  if (!(std::abs(value_at(dtype, element) - sum.value()) <= bound)) {
    fail("a sum of products must be within its roundings");
  }
}

}  // namespace rotary::fuzz
