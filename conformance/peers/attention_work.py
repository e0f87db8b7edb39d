# SPDX-License-Identifier: Apache-2.0
"""Queries, keys and values of one call, the encodings' parts, and the float64 definition."""

import dataclasses
import math

import numpy as np

from workload import bfloat16_bits, inv_freq, of_bfloat16_bits

BUCKETS, MAX_DISTANCE = 32, 128


def t5_buckets(distances):
    """Buckets for causal i - j >= 0 as in Transformers, with float32 logarithms."""
    exact = BUCKETS // 2
    far = np.maximum(distances, 1).astype(np.float32) / np.float32(exact)
    scale = np.float32(math.log(MAX_DISTANCE / exact))
    large = exact + (np.log(far) / scale * np.float32(BUCKETS - exact)).astype(np.int64)
    return np.where(distances < exact, distances, np.minimum(large, BUCKETS - 1))


@dataclasses.dataclass(frozen=True)
class Shape:
    """Causal attention: key c is at position c, the last query at the last key's position."""

    queries: int
    keys: int
    heads: int = 8
    key_heads: int = 8
    head_dim: int = 64

    def is_decode(self):
        return self.queries == 1

    def __str__(self):
        work = f"1 query, {self.keys} keys" if self.is_decode() else f"{self.queries} tokens"
        return f"{work}, {grouping(self.heads, self.key_heads, self.head_dim)}"


def grouping(heads, key_heads, head_dim):
    return f"{heads}{'' if heads == key_heads else f' on {key_heads}'} × {head_dim}"


class AttentionWork:
    """q [queries, heads, head_dim], k and v [keys, key_heads, head_dim]. The float32 numbers are
    exact in bfloat16, so that contestants in either type start from the same numbers."""

    base = 10000.0

    def __init__(self, shape):
        self.shape = shape
        self.heads, self.head_dim = shape.heads, shape.head_dim
        random = np.random.default_rng(shape.keys)
        self.q, self.k, self.v = (
            of_bfloat16_bits(bfloat16_bits(
                random.standard_normal((tokens, heads, shape.head_dim), np.float32)))
            for tokens, heads in ((shape.queries, shape.heads), (shape.keys, shape.key_heads),
                                  (shape.keys, shape.key_heads)))
        self.t5_table = random.standard_normal((BUCKETS, self.heads), np.float32)
        self.slopes = 2.0 ** (-8 / self.heads * np.arange(1, self.heads + 1))
        self.scale = self.head_dim**-0.5
        self.masks = {}

    def position(self, query):
        return self.shape.keys - self.shape.queries + query

    def distances(self):
        """i - j of all queries and keys; negative means hidden."""
        return (self.position(np.arange(self.shape.queries))[:, None]
                - np.arange(self.shape.keys)[None, :])

    def distance_bias(self, encoding):
        """[heads, keys]: the bias by the key's distance before its query."""
        past = np.arange(self.shape.keys)
        if encoding == "alibi":
            return -self.slopes[:, None] * past
        if encoding == "t5":
            return self.t5_table[t5_buckets(past)].T.astype(np.float64)
        return np.zeros((self.heads, self.shape.keys))

    def full_bias(self, encoding, dtype):
        """[1 or heads, queries, keys], -Inf after the query."""
        if encoding in ("none", "rope"):
            rows = np.zeros((1, self.shape.keys))
        else:
            rows = self.distance_bias(encoding)
        bias = np.full((len(rows), self.shape.queries, self.shape.keys), -np.inf, dtype)
        for head, row in enumerate(rows.astype(dtype)):
            for query in range(self.shape.queries):
                last = self.position(query)
                bias[head, query, :last + 1] = row[last::-1]
        return bias

    def ggml_mask(self, encoding):
        """Returns a shared float16 mask; for ALiBi distances, which ggml multiplies by slopes."""
        kind = "none" if encoding == "rope" else encoding
        if kind not in self.masks:
            if kind == "alibi":
                past = self.distances()
                mask = np.where(past < 0, -np.inf, -np.abs(past)).astype("f2")[None]
            else:
                mask = self.full_bias(kind, np.float16)
            self.masks[kind] = mask
        return self.masks[kind]

    def sample(self):
        """Returns the queries to verify. The first have the narrowest bounds."""
        count = self.shape.queries
        wanted = {0, 1, 7, 63, 256, count // 2, count - 2, count - 1}
        return np.array(sorted(each for each in wanted if 0 <= each < count))

    def turned(self, x, positions):
        """Rotates halves by position * base^(-2 i / d), in float64."""
        angles = np.outer(positions, inv_freq(self.head_dim, self.base))[:, None, :]
        pairs = x[..., :self.head_dim // 2] + 1j * x[..., self.head_dim // 2:]
        pairs = pairs * np.exp(1j * angles)
        return np.concatenate([pairs.real, pairs.imag], axis=-1)
