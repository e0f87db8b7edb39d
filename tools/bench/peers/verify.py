# SPDX-License-Identifier: Apache-2.0
"""What each implementation computed against the definition in float64.

The bounds follow from where a recipe rounds. They are relative to hypot(pair): a rotation keeps it,
and |x cos| + |y sin| <= hypot.

Angles, relative, u = 2^-24. float32 (torch, and what ONNX Runtime is given): pow is within one unit
in the last place, 2 u; its reciprocal and the product with the position are rounded, u each: 4 u.
ggml makes each angle from the last: pair i carries i products, u each, with a factor whose pow is
within 2 u: 3 i u. MLX takes the exponential of an exponent that is rounded three times and is at
most ln(base) in magnitude, which is below 14: 3 * 14 u + 4 u. Exact angles (rotary): none.

float32 arithmetic: cos and sin within one unit in the last place of a float32, 2 u; two products, a
sum: below 8 u = 2^-21, with room for second orders.

Roundings to the dtype of q and k, v = 2^-8 for bf16 and 2^-11 for f16: one of the result, or,
where cos and sin, products and sum are each rounded, (1 + v)^3 - 1. In f16 each can also be off by
half of the smallest subnormal number, 2^-25.

A chain of n rotations is n times as far off; the factor (1 + bound)^n covers what later ones make
of the difference.
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
    roundings: int  # to the dtype of q and k: 1 of the result, 3 of every step


@dataclasses.dataclass(frozen=True)
class Verdict:
    worst: float  # |difference| / bound, of the worst element
    error: float  # largest |difference| / hypot(pair)

    def passed(self):
        return self.worst <= 1  # not for NaN


def angle_bound(recipe, head_dim):
    """Relative, of each pair."""
    pair = np.arange(head_dim // 2)
    return {"exact": 0 * pair, "float32": 4 * U + 0 * pair, "ggml": 3 * U * pair,
            "mlx": 46 * U + 0 * pair}[recipe.angles]


def verdict_on(runner, recipe, work):
    """runner.result() is q and k after runner.chain rotations of work.start."""
    verdicts = [verdict_on_tensor(result, start, (recipe, runner.chain), work)
                for result, start in zip(runner.result(), work.start)]
    # A NaN is the worst of all.
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
