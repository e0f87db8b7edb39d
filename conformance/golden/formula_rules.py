# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/formula_rules.json: inv_freq of scaling rules that are formulas of the pair,
with 50 digits by mpmath, for some specs each.

    formula_rules.py > tests/golden/formula_rules.json

A new rule is one function and one row of FORMULAS.
"""

import json

from mpmath import cos, linspace, mp, mpf, pi, power

mp.dps = 50


def thetas(pairs, base):
    """Su et al. 2021, section 3.2.2."""
    return [power(mpf(base), -mpf(pair) / pairs) for pair in range(pairs)]


def linear(pairs, base, factor):
    """Chen et al. 2023, equation 4."""
    return [theta / factor for theta in thetas(pairs, base)]


def ntk(pairs, base, alpha):
    """bloc97 2023."""
    return thetas(pairs, mpf(base) * power(mpf(alpha), mpf(pairs) / (pairs - 1)))


def mixed_ntk(pairs, base, factor, mixed_b):
    """Su Jianlin 2023, kexue.fm/archives/9706."""
    return [theta / power(mpf(factor), power(mpf(pair + 1) / pairs, mpf(mixed_b)))
            for pair, theta in enumerate(thetas(pairs, base))]


def clipped(pairs, base, clipped_pairs):
    """arXiv 2602.05258, the cosine edge."""
    kept = [mpf(1)] * (pairs - clipped_pairs)
    kept += [(1 + cos(t)) / 2 for t in linspace(0, pi, clipped_pairs)]
    return [theta * part for theta, part in zip(thetas(pairs, base), kept)]


def retnet(pairs, base):
    """Sun et al. 2023, torchscale: 1 / base^linspace(0, 1, d/2)."""
    return [power(mpf(base), -exponent) for exponent in linspace(0, 1, pairs)]


def pixel(pairs, base, max_freq):
    """rotary-embedding-torch: linspace(1, max_freq / 2, dim // 2) * pi, whatever the base."""
    return [pi * turns for turns in linspace(1, mpf(max_freq) / 2, pairs)]


# (formula, parameters of its cases)
FORMULAS = {
    "linear": (linear, [{"factor": 8}, {"factor": 2.5}]),
    "ntk": (ntk, [{"alpha": 8}, {"alpha": 1000}]),
    "mixed_ntk": (mixed_ntk, [{"factor": 16, "mixed_b": 0.625}, {"factor": 4, "mixed_b": 0}]),
    "clipped": (clipped, [{"clipped_pairs": 2}, {"clipped_pairs": 20}]),
    "retnet": (retnet, [{}]),
    "pixel": (pixel, [{"max_freq": 10}, {"max_freq": 256.5}]),
}


def cases():
    for name, (formula, parameters) in FORMULAS.items():
        for given in parameters:
            for head_dim, base in ((64, 10000), (128, 500000)):
                numbers = formula(head_dim // 2, base, **given)
                yield {"spec": {"head_dim": head_dim, "base": base, "pairing": "half",
                                "scaling": {"rope_type": name, **given}},
                       "inv_freq": [float(number) for number in numbers]}


def main():
    lines = ",\n".join(json.dumps(case) for case in cases())
    print('{"name": "formula_rules", "produced_by": "conformance/golden/formula_rules.py, '
          'mpmath with 50 digits", "cases": [\n' + lines + "]}")


if __name__ == "__main__":
    main()
