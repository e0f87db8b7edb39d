# SPDX-License-Identifier: Apache-2.0
"""How far numbers of a golden file are from those made again: bits, ulp, and a stated bound."""

import dataclasses

import numpy as np

# Two float32 powers, quotients and blends of torch, each within 4 ulp of the truth.
FREQUENCY_BOUND = 2.0**-21
# One step of a number in [1, 2): the largest relative step of the type.
STEP = {"float32": 2.0**-23, "bfloat16": 2.0**-7, "float16": 2.0**-10}


@dataclasses.dataclass
class Numbers:
    """What a golden file holds under a name, what was made again, and how far they may differ."""

    name: str
    wanted: np.ndarray
    got: np.ndarray
    dtype: str  # float32, bfloat16, float16: of the numbers; float64 holds them here
    bound: np.ndarray  # absolute, one for each number


@dataclasses.dataclass
class Verdict:
    count: int = 0
    ulp: int = 0
    ulp_of: str = ""
    share: float = 0.0  # of the tolerance, at most
    changes: list = dataclasses.field(default_factory=list)

    @property
    def changed(self):
        return bool(self.changes)

    def text(self):
        if self.changed:
            return f"CHANGED: {self.changes[0]}" + more(len(self.changes) - 1)
        if self.ulp > 0:
            return (f"within tolerance, at most {self.ulp} ulp ({self.ulp_of}), "
                    f"{self.share:.2g} of what is allowed")
        return f"identical bits, {self.count} numbers"


def more(count):
    return f", and {count} more" if count > 0 else ""


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
    # A NaN is beyond every bound; the two zeros have other bits and no difference.
    beyond = ~(differences <= bounds) & (distances > 0)
    for index in map(tuple, np.argwhere(beyond)):
        place = f"{numbers.name}{list(map(int, index))}"
        verdict.changes.append(f"{place} must be {wanted[index]:.9g} ± {bounds[index]:.2g}, "
                               f"got {got[index]:.9g}")
    allowed = bounds > 0
    verdict.share = max([verdict.share, *(differences[allowed] / bounds[allowed])])


def ulp_distance(a, b, dtype):
    """How many numbers of the type lie from a to b; +0 and -0 are neighbours."""
    return np.abs(rank(a, dtype) - rank(b, dtype))


def rank(values, dtype):
    """The position of each number in the order of its type, as int64; -0 comes before +0."""
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
    """cos or sin of a float32 angle whose frequency two computations of torch agree on to
    FREQUENCY_BOUND, times the attention factor; and what is rounded afterwards."""
    return FREQUENCY_BOUND * factor + 4 * STEP["float32"] * factor * np.abs(position) * inv_freq


def rotated_bound(table, hypot, factor, dtype):
    """A component of a rotated pair of length hypot, from tables with the bound `table`.

    In half precision cos and sin may each fall one step to the other side (together √2 steps of
    the pair), and so may both products and their sum: fewer than 5 steps in all.
    """
    bound = table * hypot
    return bound if dtype == "float32" else bound + 5 * STEP[dtype] * factor * hypot
