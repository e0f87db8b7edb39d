// SPDX-License-Identifier: Apache-2.0
// cos and sin by MPFR: the product of 64 and 53 bits is formed exactly, MPFR's functions are
// correctly rounded, and 256 bits leave the second rounding, to long double, nothing to disturb.
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

}  // namespace

CosSin cos_sin(std::int64_t position, double inv_freq) {
  Real angle;
  Real cos;
  Real sin;
  mpfr_set_sj(angle.get(), position, MPFR_RNDN);
  mpfr_mul_d(angle.get(), angle.get(), inv_freq, MPFR_RNDN);
  mpfr_sin_cos(sin.get(), cos.get(), angle.get(), MPFR_RNDN);
  return {.cos = cos.rounded(), .sin = sin.rounded()};
}

}  // namespace rotary::reference
