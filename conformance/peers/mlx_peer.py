# SPDX-License-Identifier: Apache-2.0
"""MLX's fast.rope on its single-threaded CPU device, which computes cos and sin in each call."""

import mlx.core as mx
import numpy as np

from runner import Called, chain_of, heads_first
from verify import Recipe


class FastRope(Called):
    rows = "in_each_call"
    recipe = Recipe("mlx", 3)

    def __init__(self, work, _threads):
        mx.set_default_device(mx.cpu)
        self.work, self.base = work, work.base
        self.chain = chain_of(work)
        self.inputs = [self.array_of(each) for each in (work.q, work.k)]

    def array_of(self, x):
        """[1, heads, tokens, head_dim]."""
        array = mx.array(x[None])
        if self.work.dtype == "bf16":
            array = array.view(mx.bfloat16)
        array = mx.contiguous(array.transpose(0, 2, 1, 3))
        mx.eval(array)
        return array

    def call(self):
        work, results = self.work, []
        for x in self.inputs:
            for _ in range(self.chain):
                x = mx.fast.rope(x, work.head_dim, traditional=work.pairing == "interleaved",
                                 base=self.base, scale=1.0, offset=work.first)
            results.append(x)
        mx.eval(*results)
        return results

    def result(self):
        self.work.fill()
        self.inputs = [self.array_of(each) for each in (self.work.q, self.work.k)]
        return [self.numbers_of(each) for each in self.call()]

    def numbers_of(self, x):
        if self.work.dtype == "bf16":
            x = x.view(mx.uint16)
        return heads_first(np.array(x)[0])
