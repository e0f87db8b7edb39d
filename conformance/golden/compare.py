# SPDX-License-Identifier: Apache-2.0
"""Compares a golden file's numbers with new ones: in bits, in ulp, and against a stated bound."""

import dataclasses

import numpy as np

# Both sides compute powers, quotients and blends in float32, each within 4 ulp.
FREQUENCY_BOUND = 2.0**-21
# The distance of neighbouring numbers in [1, 2): the type's largest relative step.
STEP = {"float32": 2.0**-23, "bfloat16": 2.0**-7, "float16": 2.0**-10}


@dataclasses.dataclass
class Numbers:
    """Named numbers of a golden file, the new numbers, and how far they may differ."""

    name: str
    wanted: np.ndarray
    got: np.ndarray
    dtype: str  # the numbers' type: float64, float32, bfloat16 or float16; all held in float64
    bound: np.ndarray  # absolute, one for each number


@dataclasses.dataclass
class Verdict:
    count: int = 0
    ulp: int = 0
    ulp_of: str = ""
    share: float = 0.0  # largest share of the tolerance
    changes: list = dataclasses.field(default_factory=list)

    def text(self):
        if self.changes:
            more = f", and {len(self.changes) - 1} more" if len(self.changes) > 1 else ""
            return f"CHANGED: {self.changes[0]}{more}"
        if self.ulp > 0:
            return (f"within tolerance, at most {self.ulp} ulp ({self.ulp_of}), "
                    f"{self.share:.2g} of what is allowed")
        return f"identical bits, {self.count} numbers"


def judge(all_numbers):
    verdict = Verdict()
    for numbers in all_numbers:
        judge_one(numbers, verdict)
    return verdict


def judge_one(numbers, verdict):
    wanted, got = np.asarray(numbers.wanted, float), np.asarray(numbers.got, float)
    if wanted.shape != got.shape:
        verdict.changes.append(f"{numbers.name} must have shape {wanted.shape}, got {got.shape}")
        return
    verdict.count += wanted.size
    distances = ulp_distance(wanted, got, numbers.dtype)
    if distances.size and distances.max() > verdict.ulp:
        verdict.ulp, verdict.ulp_of = int(distances.max()), numbers.name
    bounds = np.broadcast_to(numbers.bound, wanted.shape)
    differences = np.abs(wanted - got)
    # A NaN exceeds every bound; +0 and -0 differ in bits only.
    beyond = ~(differences <= bounds) & (distances > 0)
    for index in map(tuple, np.argwhere(beyond)):
        place = f"{numbers.name}{list(map(int, index))}"
        verdict.changes.append(f"{place} must be {wanted[index]:.9g} ± {bounds[index]:.2g}, "
                               f"got {got[index]:.9g}")
    allowed = bounds > 0
    verdict.share = max([verdict.share, *(differences[allowed] / bounds[allowed])])


def ulp_distance(a, b, dtype):
    """Returns how many numbers of the type separate a and b; +0 and -0 are neighbours."""
    return np.abs(rank(a, dtype) - rank(b, dtype))


def rank(values, dtype):
    """Each number's rank in its type, as int64; -0 comes before +0."""
    if dtype == "float64":
        bits, width = np.asarray(values, np.float64).view(np.int64), 63
    elif dtype == "float16":
        bits, width = np.asarray(values, np.float16).view(np.int16).astype(np.int64), 15
    else:
        bits, width = np.asarray(values, np.float32).view(np.int32).astype(np.int64), 31
        if dtype == "bfloat16":
            bits, width = bits >> 16, 15
    negative = bits < 0
    return np.where(negative, -1 - (bits & (2**width - 1)), bits)


def table_bound(position, inv_freq, factor):
    """Returns the bound for cos or sin of a float32 angle, times the attention factor.
    Frequencies agree within FREQUENCY_BOUND. Includes later rounding."""
    return FREQUENCY_BOUND * factor + 4 * STEP["float32"] * factor * np.abs(position) * inv_freq


def rotated_bound(table, hypot, factor, dtype):
    """Returns the bound for a component of a rotated pair of length hypot, if tables have the bound
    `table`.

    In half precision cos and sin may each be rounded differently (together √2 steps of the pair),
    and so may both products and their sum: fewer than 5 steps in all.
    """
    bound = table * hypot
    return bound if dtype == "float32" else bound + 5 * STEP[dtype] * factor * hypot
