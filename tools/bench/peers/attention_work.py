# SPDX-License-Identifier: Apache-2.0
"""Queries, keys and values of one size, what each encoding adds, and the definition in float64."""

import math

import numpy as np

BUCKETS, MAX_DISTANCE = 32, 128


def t5_buckets(distances):
    """Of i - j >= 0, causal, as Transformers has it: logarithms in float32."""
    exact = BUCKETS // 2
    far = np.maximum(distances, 1).astype(np.float32) / np.float32(exact)
    scale = np.float32(math.log(MAX_DISTANCE / exact))
    large = exact + (np.log(far) / scale * np.float32(BUCKETS - exact)).astype(np.int64)
    return np.where(distances < exact, distances, np.minimum(large, BUCKETS - 1))


class AttentionWork:
    heads, head_dim, base = 8, 64, 10000.0

    def __init__(self, tokens):
        self.tokens = tokens
        random = np.random.default_rng(tokens)
        shape = (tokens, self.heads, self.head_dim)
        self.q, self.k, self.v = (random.standard_normal(shape, np.float32) for _ in range(3))
        self.t5_table = random.standard_normal((BUCKETS, self.heads), np.float32)
        self.slopes = 2.0 ** -np.arange(1, self.heads + 1)  # 8 heads: 2^(-8 h / 8)
        self.scale = self.head_dim**-0.5
        self.masks = {}

    def __str__(self):
        return f"{self.tokens} tokens"

    def distances(self, queries):
        """i - j of these queries and all keys; negative: not seen."""
        return np.asarray(queries)[:, None] - np.arange(self.tokens)[None, :]

    def distance_bias(self, encoding):
        """[heads, tokens]: what a key so far before its query is given."""
        past = np.arange(self.tokens)
        if encoding == "alibi":
            return -self.slopes[:, None] * past
        if encoding == "t5":
            return self.t5_table[t5_buckets(past)].T.astype(np.float64)
        return np.zeros((self.heads, self.tokens))

    def full_bias(self, encoding, dtype):
        """[1 or heads, tokens, tokens], -Inf after the query."""
        if encoding in ("none", "rope"):
            rows = np.zeros((1, self.tokens))
        else:
            rows = self.distance_bias(encoding)
        bias = np.empty((len(rows), self.tokens, self.tokens), dtype)
        for head, row in enumerate(rows.astype(dtype)):
            for query in range(self.tokens):
                bias[head, query, :query + 1] = row[query::-1]
                bias[head, query, query + 1:] = -np.inf
        return bias

    def ggml_mask(self, encoding):
        """float16; of ALiBi the distances, which ggml multiplies by the slopes. Shared."""
        kind = "none" if encoding == "rope" else encoding
        if kind not in self.masks:
            if kind == "alibi":
                mask = np.where(self.distances(range(self.tokens)) < 0, -np.inf,
                                -np.abs(self.distances(range(self.tokens)))).astype("f2")[None]
            else:
                mask = self.full_bias(kind, np.float16)
            self.masks[kind] = mask
        return self.masks[kind]

    def sample(self):
        """Queries that are verified: first ones, whose bounds are the narrowest, and the last."""
        wanted = {0, 1, 7, 63, 256, self.tokens // 2, self.tokens - 2, self.tokens - 1}
        return np.array(sorted(each for each in wanted if 0 <= each < self.tokens))

    def turned(self, x, positions):
        """Halves turned by position * base^(-2 i / d), in float64."""
        inv_freq = self.base ** (-np.arange(0, self.head_dim, 2) / self.head_dim)
        angles = np.outer(positions, inv_freq)[:, None, :]
        pairs = x[..., :self.head_dim // 2] + 1j * x[..., self.head_dim // 2:]
        pairs = pairs * np.exp(1j * angles)
        return np.concatenate([pairs.real, pairs.imag], axis=-1)
