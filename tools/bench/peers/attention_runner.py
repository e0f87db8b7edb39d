# SPDX-License-Identifier: Apache-2.0
"""What every contestant of attention is: one call, made once and run again and again."""

import numpy as np


class Runner:
    """Beside these it has run(), and result(), [queries, heads, head_dim] of one call."""

    def held_bytes(self):
        """Beside q, k, v and the result: what it works in, biases and masks; None: not known."""
        return None

    def free(self):
        """What Python does not free."""


def heads_first(x):
    """[tokens, heads, head_dim] and [heads, tokens, head_dim]: each from the other, in memory."""
    return np.ascontiguousarray(x.swapaxes(0, 1))
