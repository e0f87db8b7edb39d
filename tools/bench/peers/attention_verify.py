# SPDX-License-Identifier: Apache-2.0
"""Rows of each attention against the definition in float64.

The bound, u = 2^-24, d features, n keys seen. A score is a sum of d products and a bias in float32,
of factors that were turned and scaled: off by (d + 16) u (s + |bias|), s = scale |q| |k|. Angles in
float32, or made each from the last, are off as verify.py derives, and move a score by that times
scale times hypot(pair of q) hypot(pair of k). A cache and queries in float16 move it by 2 * 2^-11
s. A bias in float16 (ggml's mask; of ALiBi the distance in it) is part of the recipe: the
definition is given the same. One by the key's position is as large as the last key's, and so is its
rounding, u of that each of the 4 times that it is rounded. A weight is then off by e^delta - 1, and
the result by that times |v - out|; sums of n weights and values by 2 (n + 16) u of their magnitude;
values in float16 by 2^-11 of theirs.
"""

import dataclasses

import numpy as np

from verify import Recipe, angle_bound

U = 2.0**-24
HALF = 2.0**-11


@dataclasses.dataclass(frozen=True)
class Accuracy:
    angles: str = "exact"  # of rope: exact, float32 or ggml
    cache: str = "f32"  # or f16: k and v, and q where it meets k
    mask: str = "f32"  # or f16: what is added to a score
    offset: str = "pair"  # of ALiBi's bias: of each pair, or absolute, by the key's position


def largest_error(runner, work, encoding, accuracy):
    """As a fraction of the bound, over all heads and features of the sampled queries."""
    result = runner.result().reshape(work.tokens, work.heads, work.head_dim)
    worst = [row_error(result[query, head], (query, head), work, (encoding, accuracy))
             for query in work.sample() for head in range(work.heads)]
    return float(np.max(worst))  # a NaN is the worst of all


def row_error(got, place, work, recipe):
    query, head = place
    encoding, accuracy = recipe
    q, k, v = (each.astype(np.float64) for each in (
        work.q[query:query + 1, head:head + 1], work.k[:query + 1, head:head + 1],
        work.v[:query + 1, head]))
    angle_error = 0.0
    if encoding == "rope":
        angle_error = moved_by_angles(q, k, query, (work, accuracy))
        q, k = work.turned(q, [query]), work.turned(k, np.arange(query + 1))
    q, k = q[0, 0], k[:, 0]
    bias = bias_of(work, (query, head), encoding, accuracy.mask)
    sizes = work.scale * np.linalg.norm(q) * np.linalg.norm(k, axis=1)
    scores = work.scale * (k @ q) + bias
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    expected = weights @ v
    half = 2 * HALF if accuracy.cache == "f16" else 0
    delta = (work.head_dim + 16) * U * (sizes + np.abs(bias)) + half * sizes + angle_error
    if accuracy.offset == "absolute":
        delta += 4 * U * work.slopes[head] * work.tokens
    bound = (weights * np.expm1(delta)) @ (np.abs(v) + np.abs(expected))
    bound += (2 * (query + 17) * U + half / 2) * (weights @ np.abs(v))
    return np.max(np.abs(got - expected) / bound)


def bias_of(work, place, encoding, mask):
    query, head = place
    bias = work.distance_bias(encoding)[head, query::-1]
    if mask == "f32":
        return bias
    if encoding == "alibi":
        return -work.slopes[head] * np.arange(query, -1, -1).astype("f2").astype(np.float64)
    return bias.astype("f2").astype(np.float64)


def moved_by_angles(q, k, query, work_and_accuracy):
    """Of the score of each key."""
    work, accuracy = work_and_accuracy
    half = work.head_dim // 2
    inv_freq = work.base ** (-np.arange(0, work.head_dim, 2) / work.head_dim)
    relative = angle_bound(Recipe(accuracy.angles, 1), work.head_dim) * inv_freq
    positions = np.arange(query + 1)[:, None] + query
    sizes = np.hypot(q[0, 0, :half], q[0, 0, half:]) * np.hypot(k[:, 0, :half], k[:, 0, half:])
    return work.scale * np.sum(positions * relative * sizes, axis=1)
