#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Derives the polynomial of src/kernels/attend/exp2_polynomial.hpp.

2^f = 1 + f P(f) for |f| <= 1/2. P is the Chebyshev interpolant of (2^f - 1) / f, close to the best
polynomial, with coefficients rounded to float32. Also prints the largest relative error of
1 + f P(f) as a power of two.

Needs mpmath (Debian: python3-mpmath). Run: tools/coefficients/exp2_polynomial.py
"""

import struct

import mpmath as mp

mp.mp.prec = 200
DEGREE = 5


def quotient(f):
    return mp.log(2) if f == 0 else (mp.power(2, f) - 1) / f


def float32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


coefficients = [float32(c) for c in mp.chebyfit(quotient, [-0.5, 0.5], DEGREE + 1)]
worst = mp.mpf(0)
for step in range(-2000, 2001):
    f = mp.mpf(step) / 4000
    value = 1 + f * mp.polyval([mp.mpf(c) for c in coefficients], f)
    worst = max(worst, abs(value / mp.power(2, f) - 1))
print(f"// degree {DEGREE}, relative error at most 2^{mp.nstr(mp.log(worst, 2), 4)}")
for power, coefficient in enumerate(reversed(coefficients)):
    print(f"    {coefficient.hex()}F,  // f^{power}")
