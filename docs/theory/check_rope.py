#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks each step of docs/theory/rope.md with numbers: one line for each step, exit 1 on any miss.

Prints the step, its title, the largest deviation and ok or WRONG. Deviations are relative to the
lengths of the vectors. Two ways to compute a result differ by roundings. Positions are at most 1024
and frequencies at most 1, so an angle is off by at most 2^-43. The three angles of a score, at m, n
and n - m, are off by 3.5e-13 in total. Sums of 64 products add 64 * 2^-53 = 7e-15. TOLERANCE is
larger than this total, and smaller than the effect of any mistake listed in rope.md.
"""

import sys

import numpy as np

TOLERANCE = 1e-12
FARTHEST = 1024  # positions are within [-FARTHEST, FARTHEST]
DIM = 64
BASE = 10000.0

random = np.random.default_rng(2104)
STEPS = []  # (title, check); check() returns the largest deviation of its step
QUOTED = []  # numbers that rope.md prints


def step(title):
    def register(check):
        STEPS.append((title, check))
        return check

    return register


def quoted(value, text):
    """How far value is from a number of rope.md, beyond the rounding to its digits."""
    QUOTED.append(text)
    digits = len(text.partition(".")[2])
    return max(0.0, abs(value - float(text.replace(",", ""))) - 0.5 * 10.0**-digits)


def positions(count):
    return random.integers(-FARTHEST, FARTHEST + 1, count)


def spread(values):
    return float(np.max(np.abs(values)))


def shortfall(difference, least):
    """For results that must differ: how far `difference` is below `least`."""
    return max(0.0, least - difference)


# ---- RoPE, as the steps below use it -------------------------------------------------------------


def frequencies(dim=DIM, base=BASE):
    return base ** (-2.0 * np.arange(dim // 2) / dim)


def as_complex(vector):
    """Adjacent features as one complex number for each pair."""
    return vector[0::2] + 1j * vector[1::2]


def score(first, second):
    """The inner product of two vectors of pairs, written as complex numbers."""
    return float(np.sum(np.real(first * np.conj(second))))


def progression(position, theta):
    return position * theta


def rotation(position, theta):
    """The block-diagonal matrix R of one position."""
    matrix = np.zeros((2 * len(theta), 2 * len(theta)))
    for pair, angle in enumerate(progression(position, theta)):
        block = slice(2 * pair, 2 * pair + 2)
        matrix[block, block] = [
            [np.cos(angle), -np.sin(angle)],
            [np.sin(angle), np.cos(angle)],
        ]
    return matrix


def interleaved_partner(vector):
    partner = np.empty_like(vector)
    partner[0::2], partner[1::2] = -vector[1::2], vector[0::2]
    return partner


def half_partner(vector):
    half = len(vector) // 2
    return np.concatenate([-vector[half:], vector[:half]])


def rotate_interleaved(vector, position, theta):
    angle = np.repeat(progression(position, theta), 2)
    return vector * np.cos(angle) + interleaved_partner(vector) * np.sin(angle)


def rotate_half(vector, position, theta):
    angle = np.tile(progression(position, theta), 2)
    return vector * np.cos(angle) + half_partner(vector) * np.sin(angle)


def projected_score(w_q, w_k, relative):
    """The matrix between x_m and x_n in the score, for relative = R of n - m."""
    return w_q.T @ relative @ w_k


def solutions(equations):
    """An orthonormal basis, as columns, of the solutions of the linear equations."""
    _, singular, vectors = np.linalg.svd(np.array(equations))
    rank = int(np.sum(singular > 1e-9 * singular[0]))
    return vectors[rank:].T


def outside(basis, allowed):
    """How far a basis is outside the span of the columns of `allowed`."""
    span, _ = np.linalg.qr(allowed)
    return spread(basis - span @ (span.T @ basis))


# ---- The steps -----------------------------------------------------------------------------------


@step("An inner product is the real part of a complex product")
def inner_product():
    q, k = random.normal(size=(2, DIM))
    return abs(q @ k - score(as_complex(q), as_complex(k))) / DIM


@step("Lengths and angles separate")
def polar():
    f_q, f_k = random.normal(size=(2, 100)) + 1j * random.normal(size=(2, 100))
    product = f_q * np.conj(f_k)
    lengths = np.abs(f_q) * np.abs(f_k)
    angles = np.angle(f_q) - np.angle(f_k)
    return spread(product - lengths * np.exp(1j * angles))


@step("m = n fixes the lengths up to one growth rate")
def lengths():
    """Solves a(m) + b(n) = c(n - m) for a = ln R_q, b = ln R_k and c = ln R_g."""
    count = 8
    equations = []
    for m in range(count):
        for n in range(count):
            row = np.zeros(4 * count - 1)
            row[m], row[count + n], row[3 * count - 1 + n - m] = 1, 1, -1
            equations.append(row)
    free = solutions(equations)[: 2 * count]
    here, zero = np.arange(count), np.zeros(count)
    allowed = np.array(
        [
            np.concatenate([zero + 1, zero]),  # |q|
            np.concatenate([zero, zero + 1]),  # |k|
            np.concatenate([-here, here]),  # rho: keys grow as queries shrink
        ]
    ).T
    one_function = np.hstack([np.eye(count), -np.eye(count)]) @ free
    return max(
        abs(free.shape[1] - 3),
        outside(free, allowed),
        abs(solutions(one_function).shape[1] - 1),  # f_q = f_k leaves no growth
    )


@step("m = n makes the angle a function of the position alone")
def angles():
    """Solves for angle(vector, m): angle(key, m) - angle(query, m) is the same for every m."""
    count = 6

    def at(vector, m):
        return vector * count + m

    equations = []
    for query in (0, 1):
        for key in (2, 3):
            for m in range(1, count):
                row = np.zeros(4 * count)
                row[at(key, m)], row[at(query, m)] = 1, -1
                row[at(key, 0)], row[at(query, 0)] = -1, 1
                equations.append(row)
    free = solutions(equations).T.reshape(-1, 4, count)
    turned = free - free[:, :, :1]  # the position's share of each vector's angle
    return max(abs(len(free) - (4 + count - 1)), spread(turned - turned[:, :1, :]))


@step("n = m + 1 makes it an arithmetic progression")
def arithmetic():
    """Solves for phi(m): phi(m + 1) - phi(m) is the same for every m."""
    count = 12
    equations = np.diff(np.eye(count), n=2, axis=0)
    free = solutions(equations)
    allowed = np.array([np.arange(count), np.ones(count)]).T  # theta and gamma
    return max(abs(free.shape[1] - 2), outside(free, allowed))


@step("The solution is a rotation")
def solution():
    x, w = random.normal(size=2), random.normal(size=(2, 2))
    worst = 0.0
    for m in positions(50):
        theta = random.uniform(0, 1, 1)
        turned = as_complex(w @ x) * np.exp(1j * progression(m, theta))
        worst = max(worst, spread(as_complex(rotation(m, theta) @ w @ x) - turned))
    return worst / np.linalg.norm(w @ x)


@step("The score depends on n − m alone")
def relative():
    w_q, w_k = random.normal(size=(2, DIM, DIM))
    x_m, x_n = random.normal(size=(2, DIM))
    theta = frequencies()
    scale = np.linalg.norm(w_q @ x_m) * np.linalg.norm(w_k @ x_n)
    worst = 0.0
    for m, n in positions((20, 2)) // 2:
        left = (rotation(m, theta) @ w_q @ x_m) @ (rotation(n, theta) @ w_k @ x_n)
        matrix = x_m @ projected_score(w_q, w_k, rotation(n - m, theta)) @ x_n
        turn = np.exp(1j * progression(m - n, theta))
        complex_form = score(as_complex(w_q @ x_m) * turn, as_complex(w_k @ x_n))
        worst = max(worst, abs(left - matrix), abs(left - complex_form))
    return worst / scale


@step("d features are d/2 planes, each with its own frequency")
def block_diagonal():
    theta = frequencies()
    worst = 0.0
    for m, n in positions((20, 2)) // 2:
        r_m, r_n = rotation(m, theta), rotation(n, theta)
        worst = max(worst, spread(r_m.T @ r_m - np.eye(DIM)))
        worst = max(worst, spread(r_m.T @ r_n - rotation(n - m, theta)))
    return worst


@step("Element by element, interleaved")
def elements_interleaved():
    x, theta = random.normal(size=DIM), frequencies()
    return max(
        spread(rotate_interleaved(x, m, theta) - rotation(m, theta) @ x) / np.linalg.norm(x)
        for m in positions(20)
    )


@step("Element by element, half")
def elements_half():
    q, k = random.normal(size=(2, DIM))
    theta = frequencies()
    order = np.concatenate([np.arange(0, DIM, 2), np.arange(1, DIM, 2)])
    m, n = positions(2)
    permuted = spread(rotate_half(q[order], m, theta) - rotate_interleaved(q, m, theta)[order])
    same = rotate_half(q[order], m, theta) @ rotate_half(k[order], n, theta)
    other = rotate_interleaved(q, m, theta) @ rotate_interleaved(k, n, theta)
    mixed = spread(rotate_half(q, m, theta) - rotate_interleaved(q, m, theta))
    return max(
        permuted / np.linalg.norm(q),
        abs(same - other) / (np.linalg.norm(q) * np.linalg.norm(k)),
        shortfall(mixed, 0.1),
    )


@step("Lengths stay; a factor A multiplies scores by its square")
def norms():
    q, k = random.normal(size=(2, DIM))
    theta, factor = frequencies(), 1.2772588722239782  # YaRN's 0.1 ln(16) + 1
    m, n = positions(2)
    r_m, r_n = rotation(m, theta), rotation(n, theta)
    forward = factor * r_m
    plain = (r_m @ q) @ (r_n @ k)
    return max(
        abs(np.linalg.norm(r_m @ q) / np.linalg.norm(q) - 1),
        abs((forward @ q) @ (factor * r_n @ k) - factor**2 * plain) / (DIM * factor**2),
        spread(r_m.T / factor @ forward - np.eye(DIM)),  # inverse
        spread(forward.T - factor * r_m.T),  # transpose: the backward pass
        quoted(factor**2, "1.6314"),
    )


@step("The frequencies, from 1 down to base^(−1 + 2/d)")
def spectrum():
    theta = frequencies(128)
    ratio = theta[1:] / theta[:-1]
    return max(
        abs(theta[0] - 1),
        abs(theta[-1] * BASE ** (1 - 2 / 128) - 1),
        spread(ratio / ratio[0] - 1),
        quoted(theta[-1] * 1e4, "1.1548"),
        quoted(2 * np.pi / theta[-1], "54,410"),
        quoted(2 * np.pi * BASE ** (63 / 128), "585"),  # if i/d replaces 2i/d
        quoted(2 * np.pi * BASE ** (126 / 4096), "8.3"),  # if 4096 replaces d
    )


@step("Summation by parts bounds the score")
def decay_bound():
    worst = 0.0
    for distance in positions(50):
        q, k = random.normal(size=(2, DIM))
        h = np.append(as_complex(q) * np.conj(as_complex(k)), 0)
        sums = np.cumsum(np.exp(1j * progression(distance, frequencies())))  # S_1 ... S_{d/2}
        direct = np.sum(h[:-1] * np.exp(1j * progression(distance, frequencies())))
        by_parts = -np.sum(sums * np.diff(h))
        bound = np.max(np.abs(np.diff(h))) * np.sum(np.abs(sums))
        scale = np.linalg.norm(q) * np.linalg.norm(k)
        worst = max(worst, abs(direct - by_parts) / scale, (abs(direct) - bound) / scale)
    return worst


def bound_curve(distance):
    """B(r): the mean of |S_1| ... |S_64| for d = 128, RoFormer's figure 2."""
    return float(np.mean(np.abs(np.cumsum(np.exp(1j * distance * frequencies(128))))))


@step("The bound falls, with ripples, and not to 0")
def curve():
    return max(
        quoted(bound_curve(0), "32.5"),
        quoted(bound_curve(8), "19.817"),
        quoted(bound_curve(50), "12.629"),
        quoted(bound_curve(51), "13.218"),
        quoted(bound_curve(256), "6.543"),
        quoted(bound_curve(100000), "6.89"),
        shortfall(bound_curve(51) - bound_curve(50), 0.5),  # it rises again
    )


def same_vector_score(base):
    """Mean over pairs of cos(r theta), r = 0 … 20000: the score of q = k with equal pairs."""
    return np.cos(np.outer(np.arange(20001), frequencies(128, base))).mean(axis=1)


@step("A bound is not a law: equal, unrelated and chosen keys")
def not_a_law():
    theta = frequencies()
    q = random.normal(size=DIM)
    m, n = positions(2)
    chosen = rotation(m - n, theta) @ q  # the key whose score is largest at n
    largest = (rotation(m, theta) @ q) @ (rotation(n, theta) @ chosen)
    equal = same_vector_score(BASE)[:1001]
    return max(
        # The mean of score^2 over unrelated normal q and k is the sum of R's squared entries, d.
        max(abs(np.sum(rotation(r, theta) ** 2) / DIM - 1) for r in positions(20)),
        abs(largest / (q @ q) - 1),
        quoted(equal[1000], "0.159"),
        quoted(np.max(equal[1:] - np.minimum.accumulate(equal)[:-1]), "0.254"),
    )


@step("What base does")
def base():
    slow, fast = frequencies(128, 500000.0), frequencies(128)
    return max(
        abs(slow[0] - fast[0]),
        spread(np.maximum(0, np.diff(slow / fast))),  # every later pair is slowed more
        quoted(2 * np.pi / slow[-1], "2,559,196"),
        quoted(np.argmax(same_vector_score(BASE) < 0), "1,707"),
        quoted(np.argmax(same_vector_score(500000.0) < 0), "18,438"),
    )


@step("A worked example")
def example():
    x = np.array([0.5, -1.0, 1.5, 2.0])
    interleaved = rotate_interleaved(x, 3, frequencies(4))
    half = rotate_half(x, 3, frequencies(4))
    printed = zip(
        np.concatenate([interleaved, half]),
        ["-0.353876", "1.060553", "1.439334", "2.044093"]
        + ["-0.706676", "-1.059541", "-1.414429", "1.969105"],
    )
    return max(quoted(value, text) for value, text in printed)


def results():
    """(number, title, deviation) of each step."""
    for number, (title, check) in enumerate(STEPS, 1):
        yield number, title, float(check())


def main():
    wrong = 0
    for number, title, deviation in results():
        ok = deviation <= TOLERANCE
        wrong += not ok
        print(f"{number:2}  {title:64}  {deviation:8.1e}  {'ok' if ok else 'WRONG'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
