# SPDX-License-Identifier: Apache-2.0
"""Compares each implementation with the definition in float64.

Bounds follow from where a Recipe rounds. They are relative to hypot(pair): a rotation keeps it, and
|x cos| + |y sin| does not exceed it.

Relative errors of angles, with u = 2^-24. float32 (torch, and ONNX Runtime's input): 4 u. pow is
within one ulp, 2 u; its reciprocal and the product with the position add u each. ggml computes each
angle from the previous one: 3 i u for pair i. Each of i products adds u, and 2 u from its factor, a
pow. MLX exponentiates a number that is rounded three times and at most ln(base) < 14 in
magnitude: 3 * 14 u + 4 u. Exact angles (rotary): 0.

Errors of float32 arithmetic: cos and sin are within one ulp, 2 u. With two products and a sum the
error is below 8 u = 2^-21, including second orders.

Roundings to q's and k's dtype, v = 2^-8 for bf16 and 2^-11 for f16: one for the result, or
(1 + v)^3 - 1 if cos and sin, products and sum are each rounded. In f16 each rounding may also be
off by half the smallest subnormal, 2^-25.

A chain of n rotations has n times the error; (1 + bound)^n covers second orders.
"""

import dataclasses

import numpy as np

from workload import decoded, inv_freq, pair_features

U = 2.0**-24
UNIT = {"f32": 0.0, "bf16": 2.0**-8, "f16": 2.0**-11}
SMALLEST = {"f32": 0.0, "bf16": 0.0, "f16": 2.0**-25}


@dataclasses.dataclass(frozen=True)
class Recipe:
    angles: str  # exact, float32, ggml or mlx
    roundings: int  # to the dtype of q and k: 1 (the result) or 3 (every step)


@dataclasses.dataclass(frozen=True)
class Verdict:
    worst: float  # |difference| / bound, of the worst element
    error: float  # the largest |difference| / hypot(pair)

    def passed(self):
        return self.worst <= 1  # false for NaN


def angle_bound(recipe, head_dim):
    """Returns the relative bound for each pair."""
    pair = np.arange(head_dim // 2)
    return {"exact": 0 * pair, "float32": 4 * U + 0 * pair, "ggml": 3 * U * pair,
            "mlx": 46 * U + 0 * pair}[recipe.angles]


def verdict_on(runner, recipe, work):
    """Checks runner.result(), which is q and k after runner.chain rotations of work.start."""
    verdicts = [verdict_on_tensor(result, start, (recipe, runner.chain), work)
                for result, start in zip(runner.result(), work.start)]
    # A NaN is the maximum.
    worst = np.max([verdict.worst for verdict in verdicts])
    return Verdict(float(worst), float(np.max([verdict.error for verdict in verdicts])))


def verdict_on_tensor(result, start, recipe_and_chain, work):
    recipe, chain = recipe_and_chain
    tokens = work.sample()
    x_features, y_features = pair_features(work.head_dim, work.pairing)
    before = decoded(start[tokens], work.dtype)
    got = decoded(result[tokens], work.dtype)
    angles = np.outer(work.first + tokens, inv_freq(work.head_dim, work.base))[:, None, :]
    pairs = before[..., x_features] + 1j * before[..., y_features]
    expected = pairs * np.exp(1j * chain * angles)
    difference = np.maximum(np.abs(got[..., x_features] - expected.real),
                            np.abs(got[..., y_features] - expected.imag))
    bound = element_bound(recipe, angles, chain, work) * np.abs(pairs)
    bound += recipe.roundings * chain * SMALLEST[work.dtype]
    size = np.maximum(np.abs(pairs), np.finfo(np.float64).tiny)
    return Verdict(np.max(difference / bound), np.max(difference / size))


def element_bound(recipe, angles, chain, work):
    once = 8 * U + angles * angle_bound(recipe, work.head_dim)
    once = once + (1 + UNIT[work.dtype]) ** recipe.roundings - 1
    return chain * once * (1 + once) ** chain
