#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Derives the polynomials of src/kernels/turn_polynomials.hpp.

sin(2πr) = r S(r²) and cos(2πr) = C(r²) for |r| <= 1/8 of a turn. Each polynomial is the Chebyshev
interpolant on r² in [0, 1/64], close to the best one, with coefficients rounded to double. Also
prints the largest errors as powers of two.

Needs mpmath (Debian: python3-mpmath). Run: tools/coefficients/turn_polynomials.py
"""

import mpmath as mp

mp.mp.prec = 300
INTERVAL = [mp.mpf(0), mp.mpf(1) / 64]


def sine_over_turn(t):
    r = mp.sqrt(t)
    return 2 * mp.pi if r == 0 else mp.sin(2 * mp.pi * r) / r


def cosine(t):
    return mp.cos(2 * mp.pi * mp.sqrt(t))


def report(name, function, degree, weight):
    coefficients = [float(c) for c in mp.chebyfit(function, INTERVAL, degree + 1)]
    worst = mp.mpf(0)
    for step in range(4001):
        t = INTERVAL[1] * step / 4000
        value = mp.polyval([mp.mpf(c) for c in coefficients], t)
        worst = max(worst, weight(t) * abs(value - function(t)))
    print(f"// {name}: degree {degree} in r^2, error at most 2^{mp.nstr(mp.log(worst, 2), 4)}")
    for power, coefficient in enumerate(reversed(coefficients)):
        print(f"    {coefficient.hex()},  // r^{2 * power}")


report("S", sine_over_turn, 6, mp.sqrt)
report("C", cosine, 7, lambda t: 1)
