// SPDX-License-Identifier: Apache-2.0
// cos and sin by MPFR: the product of 64 (or 53) and 53 bits is exact, MPFR's functions are
// correctly rounded, and with 256 bits the second rounding, to long double, changes no result.
#include "reference/angle.hpp"

#define MPFR_USE_INTMAX_T
#include <mpfr.h>

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

// cos and sin of position * inv_freq; position is overwritten.
CosSin cos_sin_of_product(Real& position, double inv_freq) {
  Real cos;
  Real sin;
  mpfr_mul_d(position.get(), position.get(), inv_freq, MPFR_RNDN);
  mpfr_sin_cos(sin.get(), cos.get(), position.get(), MPFR_RNDN);
  return {.cos = cos.rounded(), .sin = sin.rounded()};
}

}  // namespace

CosSin cos_sin(std::int64_t position, double inv_freq) {
  Real angle;
  mpfr_set_sj(angle.get(), position, MPFR_RNDN);
  return cos_sin_of_product(angle, inv_freq);
}

CosSin cos_sin(std::same_as<double> auto position, double inv_freq) {
  Real angle;
  mpfr_set_d(angle.get(), position, MPFR_RNDN);
  return cos_sin_of_product(angle, inv_freq);
}
template CosSin cos_sin(double position, double inv_freq);

// Exact products, and sums as far as 256 bits hold them: errors below 2^-140.
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

// Two exact products of 64 and 53 bits. The larger is below 2^103, so in 256 bits their difference
// has an error below 2^-150.
CosSin cos_sin_between(const Angle& from, const Angle& to) {
  Real cos;
  Real sin;
  Real start;
  Real end;
  mpfr_set_ld(start.get(), from.position, MPFR_RNDN);
  mpfr_mul_d(start.get(), start.get(), from.inv_freq, MPFR_RNDN);
  mpfr_set_ld(end.get(), to.position, MPFR_RNDN);
  mpfr_mul_d(end.get(), end.get(), to.inv_freq, MPFR_RNDN);
  mpfr_sub(end.get(), end.get(), start.get(), MPFR_RNDN);
  mpfr_sin_cos(sin.get(), cos.get(), end.get(), MPFR_RNDN);
  return {.cos = cos.rounded(), .sin = sin.rounded()};
}

}  // namespace rotary::reference
