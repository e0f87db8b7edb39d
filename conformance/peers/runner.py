# SPDX-License-Identifier: Apache-2.0
"""A contestant called from Python: prepared once and run repeatedly."""

import time

import numpy as np

LAYERS, FEW_TOKENS = 32, 64


class Called:
    """A call from Python. Subclasses add call() and result(). result() returns q and k after one
    call, or attention's [queries, heads, head_dim]."""

    place, rows = "out_of_place", "prepared"
    chain = 1  # rotations in each call

    def nanoseconds(self, calls):
        """Returns wall-clock time, since some peers compute on their own threads."""
        start = time.perf_counter_ns()
        for _ in range(calls):
            self.call()
        return (time.perf_counter_ns() - start) / self.chain

    def held_bytes(self):
        """Bytes besides q, k, v and the result: workspace, biases and masks; None if unknown."""
        return None

    def free(self):
        """Frees memory that Python does not."""


def chain_of(work):
    return LAYERS if work.tokens <= FEW_TOKENS else 1


def heads_first(x):
    """Swaps [tokens, heads, head_dim] and [heads, tokens, head_dim] in memory."""
    return np.ascontiguousarray(x.swapaxes(0, 1))
