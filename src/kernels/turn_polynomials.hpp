// SPDX-License-Identifier: Apache-2.0
// cos(2πr) = C(r²) and sin(2πr) = r S(r²) for |r| <= 1/8 of a turn; coefficients of rising powers
// of r². Errors with rounded coefficients: 2^-55.1 in S (r times that in the sine), 2^-55.9 in C.
// Derived by tools/coefficients/polynomials.py.
#pragma once

#include <cstddef>

namespace rotary::kernels {

inline constexpr double sine_coefficients[] = {
    0x1.921fb54442d18p+2,   // r^0
    -0x1.4abbce625be41p+5,  // r^2
    0x1.466bc677587f8p+6,   // r^4
    -0x1.32d2cce2e5b19p+6,  // r^6
    0x1.50782fda12d96p+5,   // r^8
    -0x1.e30071afc3e59p+3,  // r^10
    0x1.e3f38399551bfp+1,   // r^12
};

inline constexpr double cosine_coefficients[] = {
    0x1.0000000000000p+0,   // r^0
    -0x1.3bd3cc9be45dep+4,  // r^2
    0x1.03c1f081b5aacp+6,   // r^4
    -0x1.55d3c7e3c90f8p+6,  // r^6
    0x1.e1f5068355e15p+5,   // r^8
    -0x1.a6d1ec7906c20p+4,  // r^10
    0x1.f9cc41140bb60p+2,   // r^12
    -0x1.b264ba152378ap+0,  // r^14
};

// The polynomials for r in units of 2^-64 turn. Multiplies each coefficient by a power of two,
// which is exact, so r needs no scaling.
template <std::size_t Count>
struct Coefficients {
  double values[Count];
};

template <std::size_t Count>
constexpr Coefficients<Count> of_units(const double (&of_turns)[Count], double unit) {
  Coefficients<Count> scaled{};
  for (std::size_t power = 0; power < Count; ++power) {
    scaled.values[power] = of_turns[power] * unit;
    unit *= 0x1p-128;
  }
  return scaled;
}
inline constexpr auto sine_of_units = of_units(sine_coefficients, 0x1p-64);
inline constexpr auto cosine_of_units = of_units(cosine_coefficients, 1);

}  // namespace rotary::kernels
