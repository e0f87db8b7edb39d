# SPDX-License-Identifier: Apache-2.0
"""Compares rows of each attention with the definition in float64.

The bounds use u = 2^-24, d features, n visible keys, and s = scale |q| |k|.

A score is a float32 sum of d products of rotated and scaled factors, plus a bias. Its error is at
most (d + 16) u (s + |bias|). verify.py derives the errors of angles. An angle's error changes a
score by that error times scale times hypot(pair of q) hypot(pair of k). Rounding queries and keys
adds two roundings of s. Each feature of an 8-bit key is off by 1/254 of the key's largest feature.
This changes a score by at most scale times that error times the sum of |q|. Queries in 8 bits add
the same with q and k exchanged. The definition uses a float16 bias (ggml's mask; for ALiBi its
distance) as it is, because contestants compute with it. A bias by the key's position is as large as
the last key's, and its rounding adds 4 u times that.

If a score is off by delta, a weight is off by e^delta - 1, and the result by that times |v - out|.
Sums of n weights and values add 2 (n + 16) u of their magnitude. Rounding values or weights adds
one rounding each. 8-bit values add 1/254 of the largest. A bfloat16 result adds 2^-8 of itself.
"""

import dataclasses

import numpy as np

from verify import UNIT, Recipe, angle_bound
from workload import inv_freq

U = 2.0**-24
STEP_OF_8_BITS = 1 / 254  # half of 1/127 of the largest feature


@dataclasses.dataclass(frozen=True)
class Accuracy:
    angles: str = "exact"  # of rope: exact, float32 or ggml
    cache: str = "f32"  # or int8: k and v in 8 bits; or q8_0 (ggml): k in q8_0 and v in f16
    operands: str = "f32"  # q, k, weights and v rounded to bf16 or f16 before the products
    result: str = "f32"  # or bf16
    mask: str = "f32"  # or f16: the numbers added to scores
    offset: str = "pair"  # ALiBi's bias: pair (by distance) or absolute (by key)


def largest_error(runner, work, encoding, accuracy):
    """The largest error as a fraction of the bound, over all numbers of the sampled queries."""
    result = runner.result().reshape(work.q.shape)
    worst = [row_error(result[query, head], (query, head), work, (encoding, accuracy))
             for query in work.sample() for head in range(work.heads)]
    return float(np.max(worst))  # a NaN is the maximum


def row_error(got, place, work, recipe):
    query, head = place
    encoding, accuracy = recipe
    last = work.position(query)
    kv_head = head * work.shape.key_heads // work.heads
    q, k, v = (each.astype(np.float64) for each in (
        work.q[query:query + 1, head:head + 1], work.k[:last + 1, kv_head:kv_head + 1],
        work.v[:last + 1, kv_head]))
    angle_error = 0.0
    if encoding == "rope":
        angle_error = moved_by_angles(q, k, last, (work, accuracy))
        q, k = work.turned(q, [last]), work.turned(k, np.arange(last + 1))
    q, k = q[0, 0], k[:, 0]
    bias = bias_of(work, (last, head), encoding, accuracy.mask)
    sizes = work.scale * np.linalg.norm(q) * np.linalg.norm(k, axis=1)
    scores = work.scale * (k @ q) + bias
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    expected = weights @ v
    delta = (work.head_dim + 16) * U * (sizes + np.abs(bias)) + angle_error
    delta += 2 * UNIT[accuracy.operands] * sizes + of_cache(q, k, work.scale, accuracy.cache)
    if accuracy.offset == "absolute":
        delta += 4 * U * work.slopes[head] * work.shape.keys
    bound = (weights * np.expm1(delta)) @ (np.abs(v) + np.abs(expected))
    rounded = 2 * UNIT[accuracy.operands] + (UNIT["f16"] if accuracy.cache == "q8_0" else 0)
    bound += (2 * (last + 17) * U + rounded) * (weights @ np.abs(v))
    if accuracy.cache == "int8":
        bound += STEP_OF_8_BITS * (weights @ np.max(np.abs(v), axis=1))
    bound += UNIT[accuracy.result] * np.abs(expected)
    return np.max(np.abs(got - expected) / bound)


def of_cache(q, k, scale, cache):
    """How far 8 bits may change each key's score."""
    if cache == "f32":
        return 0.0
    of_k = STEP_OF_8_BITS * np.max(np.abs(k), axis=1) * np.sum(np.abs(q))
    if cache == "int8":
        return scale * of_k
    return scale * (of_k + STEP_OF_8_BITS * np.max(np.abs(q)) * np.sum(np.abs(k), axis=1))


def bias_of(work, place, encoding, mask):
    last, head = place
    bias = work.distance_bias(encoding)[head, last::-1]
    if mask == "f32":
        return bias
    if encoding == "alibi":
        return -work.slopes[head] * np.arange(last, -1, -1).astype("f2").astype(np.float64)
    return bias.astype("f2").astype(np.float64)


def moved_by_angles(q, k, position, work_and_accuracy):
    """How far the angles may change each key's score."""
    work, accuracy = work_and_accuracy
    half = work.head_dim // 2
    relative = (angle_bound(Recipe(accuracy.angles, 1), work.head_dim)
                * inv_freq(work.head_dim, work.base))
    positions = np.arange(position + 1)[:, None] + position
    sizes = np.hypot(q[0, 0, :half], q[0, 0, half:]) * np.hypot(k[:, 0, :half], k[:, 0, half:])
    return work.scale * np.sum(positions * relative * sizes, axis=1)
