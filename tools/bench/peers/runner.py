# SPDX-License-Identifier: Apache-2.0
"""What contestants are: one call, made once and run again and again."""

import time

import numpy as np

LAYERS, FEW_TOKENS = 32, 64


class Called:
    """A rotation that Python calls: beside these it has call(), and result(), q and k of one."""

    place, rows = "out_of_place", "prepared"
    chain = 1  # rotations in each call

    def nanoseconds(self, calls):
        start = time.perf_counter_ns()
        for _ in range(calls):
            self.call()
        return (time.perf_counter_ns() - start) / self.chain

    def free(self):
        """What Python does not free."""


class Runner:
    """Of attention: beside these it has run(), and result(), [queries, heads, head_dim] of one."""

    def held_bytes(self):
        """Beside q, k, v and the result: what it works in, biases and masks; None: not known."""
        return None

    def free(self):
        """What Python does not free."""


def chain_of(work):
    return LAYERS if work.tokens <= FEW_TOKENS else 1


def heads_first(x):
    """[tokens, heads, head_dim] and [heads, tokens, head_dim]: each from the other, in memory."""
    return np.ascontiguousarray(x.swapaxes(0, 1))
