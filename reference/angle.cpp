// SPDX-License-Identifier: Apache-2.0
// MPFR rounds cos and sin correctly to 64 bits more than a long double. Products of a position (at
// most 113 bits) and a frequency (53 bits) are exact. The second rounding gives the nearest one.
#include "reference/angle.hpp"

#include <mpfr.h>

#include <array>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

namespace rotary::reference {
namespace {

constexpr mpfr_prec_t result_bits = std::numeric_limits<long double>::digits + 64;

class Real {
 public:
  explicit Real(mpfr_prec_t bits = 256) { mpfr_init2(value_, bits); }
  ~Real() { mpfr_clear(value_); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;

  [[nodiscard]] mpfr_ptr get() { return value_; }
  [[nodiscard]] long double rounded() const { return mpfr_get_ld(value_, MPFR_RNDN); }

 private:
  mpfr_t value_;
};

// Sums are rounded to 256 bits, so their errors are below 2^-140.
CosSin computed(std::span<const Angle> angles) {
  Real cos(result_bits);
  Real sin(result_bits);
  Real sum;
  mpfr_set_zero(sum.get(), 1);
  for (const Angle& angle : angles) {
    Real product;
    mpfr_set_ld(product.get(), angle.position, MPFR_RNDN);
    mpfr_mul_d(product.get(), product.get(), angle.inv_freq, MPFR_RNDN);
    mpfr_add(sum.get(), sum.get(), product.get(), MPFR_RNDN);
  }
  mpfr_sin_cos(sin.get(), cos.get(), sum.get(), MPFR_RNDN);
  return {.cos = cos.rounded(), .sin = sin.rounded()};
}

struct Known {
  Angle angle;
  CosSin result;
};

}  // namespace

CosSin cos_sin(long double position, double inv_freq) {
  return cos_sin_of_sum(std::array{Angle{position, inv_freq}});
}

CosSin cos_sin_between(const Angle& from, const Angle& to) {
  return cos_sin_of_sum(std::array{to, Angle{from.position, -from.inv_freq}});
}

CosSin cos_sin_of_sum(std::span<const Angle> angles) {
  if (angles.size() != 1) return computed(angles);
  const Angle& angle = angles.front();
  if (angle.position * angle.inv_freq == 0) return computed(angles);  // zeros keep their sign
  // Remembers results: tests repeat angles, and MPFR takes microseconds for each.
  static thread_local std::vector<Known> recent(1 << 14);
  const std::size_t hash =
      std::hash<long double>()(angle.position) * 31 + std::hash<double>()(angle.inv_freq);
  Known& known = recent[hash % recent.size()];
  if (known.angle.position != angle.position || known.angle.inv_freq != angle.inv_freq)
    known = {.angle = angle, .result = computed(angles)};
  return known.result;
}

}  // namespace rotary::reference
