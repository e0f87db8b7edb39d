# SPDX-License-Identifier: Apache-2.0
"""Random queries and keys in the shape of Llama 3 8B, and parts of their exact rotation."""

import numpy as np

NUMPY = {"f32": np.float32, "bf16": np.uint16, "f16": np.float16}  # bf16: its bits
CACHE_LINE = 64


class Workload:
    query_heads, key_heads, head_dim = 32, 8, 128
    first = 1000  # position of the first token

    def __init__(self, dtype, pairing, tokens, base=500000.0):
        self.dtype, self.pairing, self.tokens, self.base = dtype, pairing, tokens, base
        random = np.random.default_rng(tokens)
        self.start = []
        for heads in (self.query_heads, self.key_heads):
            normal = random.standard_normal((tokens, heads, self.head_dim), np.float32)
            self.start.append(encoded(normal, dtype))
        self.q, self.q_out = aligned_like(self.start[0]), aligned_like(self.start[0])
        self.k, self.k_out = aligned_like(self.start[1]), aligned_like(self.start[1])
        self.fill()

    def fill(self):
        """Restores the inputs and clears the outputs."""
        self.q[...], self.k[...] = self.start
        self.q_out[...], self.k_out[...] = 0, 0

    def sample(self):
        """Returns the tokens to verify: all if few, else 64 from the first to the last."""
        return np.unique(np.linspace(0, self.tokens - 1, 64).round().astype(int))

    def __str__(self):
        return f"{self.dtype} {self.pairing}, tokens: {self.tokens}"


def aligned_like(array):
    room = np.empty(array.nbytes + CACHE_LINE, np.uint8)
    skip = -room.ctypes.data % CACHE_LINE
    return room[skip:skip + array.nbytes].view(array.dtype).reshape(array.shape)


def encoded(values, dtype):
    return bfloat16_bits(values) if dtype == "bf16" else values.astype(NUMPY[dtype])


def decoded(array, dtype):
    return (of_bfloat16_bits(array) if dtype == "bf16" else array).astype(np.float64)


def bfloat16_bits(values):
    """The bits of float32 values, truncated, since inputs need no exact rounding."""
    return (np.ascontiguousarray(values).view(np.uint32) >> 16).astype(np.uint16)


def of_bfloat16_bits(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def inv_freq(head_dim, base):
    return base ** (-np.arange(0, head_dim, 2) / head_dim)


def pair_features(head_dim, pairing):
    pairs = np.arange(head_dim // 2)
    if pairing == "half":
        return pairs, pairs + head_dim // 2
    return 2 * pairs, 2 * pairs + 1
