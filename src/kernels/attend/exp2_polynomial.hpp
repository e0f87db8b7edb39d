// SPDX-License-Identifier: Apache-2.0
// 2^f = 1 + f P(f) for |f| <= 1/2; coefficients of rising powers of f. The relative error with
// rounded coefficients is at most 2^-26.7. Exactly 1 at 0. Derived by
// tools/coefficients/polynomials.py.
#pragma once

namespace rotary::kernels {

inline constexpr float exp2_coefficients[] = {
    0x1.62e43p-1F,    // f^0
    0x1.ebfbep-3F,    // f^1
    0x1.c6af6cp-5F,   // f^2
    0x1.3b2a54p-7F,   // f^3
    0x1.5f089p-10F,   // f^4
    0x1.44138ap-13F,  // f^5
};

}  // namespace rotary::kernels
