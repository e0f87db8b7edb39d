# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/formula_biases.json: relative biases that are formulas of the distance and a
head's numbers, with 50 digits by mpmath, and gradients by numerical differentiation.

    formula_biases.py > tests/golden/formula_biases.json

A new encoding is one function and one row of FORMULAS.
"""

import json
import random

from mpmath import diff, exp, fabs, log, mp, mpf

mp.dps = 50
HEADS = 3
TOKENS = 7


def kerple_log(distance, p, a):
    """Chi et al. 2022, the logarithmic kernel."""
    return -p[0] * log(1 + a[0] * fabs(distance))


def kerple_power(distance, a, p):
    """Chi et al. 2022, the power kernel."""
    return -a[0] * fabs(distance) ** p[0] if distance else mpf(0)


def tisa(distance, a, b, c):
    """Wennberg & Henter 2021, equation 5."""
    return sum(height * exp(-fabs(width) * (distance - centre) ** 2)
               for height, width, centre in zip(a, b, c))


# (formula of key - query and one head's lists, the lists' names, their length and its name, their
# ranges)
FORMULAS = {
    "kerple_log": (kerple_log, ("p", "a"), 1, None, ((0.1, 2), (0.1, 1))),
    "kerple_power": (kerple_power, ("a", "p"), 1, None, ((0.1, 1), (0.1, 2))),
    "tisa": (tisa, ("a", "b", "c"), 3, "kernels", ((-1, 1), (-0.5, 0.5), (-4, 4))),
}


def case_of(name):
    formula, names, units, unit_name, ranges = FORMULAS[name]
    source = random.Random(name)
    lists = [[source.uniform(*of) for _ in range(HEADS * units)] for of in ranges]
    d = [source.uniform(-1, 1) for _ in range(HEADS * TOKENS * TOKENS)]

    def bias(head, distance, numbers):
        own = [values[head * units:(head + 1) * units] for values in numbers]
        return formula(mpf(distance), *own)

    exact = [[mpf(value) for value in values] for values in lists]
    pairs = [(query, key) for query in range(TOKENS) for key in range(TOKENS)]
    values = [bias(head, key - query, exact) for head in range(HEADS) for query, key in pairs]
    gradient = []
    for which, of in enumerate(exact):
        for index, at in enumerate(of):
            head = index // units

            def total(number, which=which, index=index, head=head):
                moved = [list(each) for each in exact]
                moved[which][index] = number
                return sum(mpf(d[(head * TOKENS + query) * TOKENS + key])
                           * bias(head, key - query, moved) for query, key in pairs)

            gradient.append(diff(total, at))
    settings = {unit_name: units} if unit_name else {}
    return {"heads": HEADS, "tokens": TOKENS, **settings, **dict(zip(names, lists)),
            "bias": [float(value) for value in values], "d": d,
            "gradient": [float(value) for value in gradient]}


def main():
    print(json.dumps({
        "name": "formula_biases",
        "produced_by": "conformance/golden/formula_biases.py, mpmath with 50 digits",
        "note": "[heads][queries][keys] from position 0; gradients of the sum of d times the bias",
        **{name: case_of(name) for name in FORMULAS}}))


if __name__ == "__main__":
    main()
