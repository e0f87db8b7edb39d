// SPDX-License-Identifier: Apache-2.0
// cos and sin by MPFR. The product of 64 (or 53) and 53 bits is exact, and MPFR rounds correctly;
// with 256 bits, the second rounding to long double changes no result.
#include "reference/angle.hpp"

#include <mpfr.h>

#include <array>

namespace rotary::reference {
namespace {

constexpr mpfr_prec_t result_bits = 256;

class Real {
 public:
  Real() { mpfr_init2(value_, result_bits); }
  ~Real() { mpfr_clear(value_); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;

  [[nodiscard]] mpfr_ptr get() { return value_; }
  [[nodiscard]] long double rounded() const { return mpfr_get_ld(value_, MPFR_RNDN); }

 private:
  mpfr_t value_;
};

}  // namespace

CosSin cos_sin(long double position, double inv_freq) {
  return cos_sin_of_sum(std::array{Angle{position, inv_freq}});
}

CosSin cos_sin_between(const Angle& from, const Angle& to) {
  return cos_sin_of_sum(std::array{to, Angle{from.position, -from.inv_freq}});
}

// Products are exact. Sums are rounded to 256 bits, so errors are below 2^-140.
CosSin cos_sin_of_sum(std::span<const Angle> angles) {
  Real cos;
  Real sin;
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

}  // namespace rotary::reference
