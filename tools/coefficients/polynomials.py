#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Derives the polynomials of src/kernels/attend/exp2_polynomial.hpp and
src/kernels/turn_polynomials.hpp.

2^f = 1 + f P(f) for |f| <= 1/2, and for |r| <= 1/8 of a turn sin(2πr) = r S(r²), cos(2πr) = C(r²).
Each polynomial is the Chebyshev interpolant, close to the best one. The coefficients of P are
rounded to float32, the others to double. Also prints the largest errors as powers of two.

Needs mpmath (Debian: python3-mpmath). Run: tools/coefficients/polynomials.py
"""

import struct

import mpmath as mp

mp.mp.prec = 300
TURNS = (mp.mpf(0), mp.mpf(1) / 64)  # r²


def float32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def report(name, function, interval, degree, rounded, weight):
    """weight: factor on the error at a point."""
    coefficients = [rounded(c) for c in mp.chebyfit(function, interval, degree + 1)]
    low, high = interval
    worst = mp.mpf(0)
    for step in range(4001):
        t = low + (high - low) * step / 4000
        worst = max(worst, abs(weight(t) * (mp.polyval(coefficients, t) - function(t))))
    print(f"// {name}: degree {degree}, error at most 2^{mp.nstr(mp.log(worst, 2), 4)}")
    for power, coefficient in enumerate(reversed(coefficients)):
        print(f"    {coefficient.hex()},  // power {power}")


def sine_over_turn(t):
    r = mp.sqrt(t)
    return 2 * mp.pi if r == 0 else mp.sin(2 * mp.pi * r) / r


report("P, error relative to 2^f", lambda f: (mp.power(2, f) - 1) / f if f else mp.log(2),
       (mp.mpf(-1) / 2, mp.mpf(1) / 2), 5, float32, lambda f: f / mp.power(2, f))
report("S in r^2, error of r S", sine_over_turn, TURNS, 6, float, mp.sqrt)
report("C in r^2", lambda t: mp.cos(2 * mp.pi * mp.sqrt(t)), TURNS, 7, float, lambda t: 1)
