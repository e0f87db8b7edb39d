# SPDX-License-Identifier: Apache-2.0
"""PyTorch: the fused operation, and eager softmax(q k^T + bias) v with all scores in memory.

Eager scales q and adds the bias in place. Models rarely do so, but eager operations allow nothing
faster. Encodings are computed as in models. RoPE: rotate_half of q and k. Prepared bias: [heads,
tokens, tokens]. ALiBi's broadcast: a row for the keys, since the query's share cancels in the
softmax. T5, recomputed: buckets and embedding in each call, as in T5's first layer.
"""

import math

import torch

from attention_work import BUCKETS, MAX_DISTANCE
from runner import Called, heads_first
from torch_peer import float32_angles, half_rows, rotate_half

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


class Attention(Called):
    """Calls attention() on contiguous [1, heads, tokens, head_dim]."""

    def __init__(self, work, form, threads):
        torch.set_num_threads(threads)
        self.work, self.encoding, self.how = work, form.encoding, form.how
        self.q, self.k, self.v = (
            torch.from_numpy(heads_first(each)).to(DTYPES[form.dtype])[None]
            for each in (work.q, work.k, work.v))

    @torch.inference_mode()
    def call(self):
        return self.attention()

    def result(self):
        return heads_first(self.call()[0].float().numpy())


class Fused(Attention):
    """scaled_dot_product_attention: causal for a prefill, over all keys in a decode step."""

    def attention(self):
        shape = self.work.shape
        return torch.nn.functional.scaled_dot_product_attention(
            self.q, self.k, self.v, is_causal=not shape.is_decode(),
            enable_gqa=shape.heads != shape.key_heads)


class Eager(Attention):
    """Needs as many queries as keys, and as many key heads as query heads."""

    def __init__(self, work, form, threads):
        super().__init__(work, form, threads)
        self.q, self.k, self.v = self.q[0], self.k[0], self.v[0]
        tokens = work.shape.keys
        kind = self.encoding if self.how == "prepared" else "none"
        self.bias = torch.from_numpy(work.full_bias(kind, "f4"))
        if self.how == "broadcast":
            slopes = torch.from_numpy(work.slopes).float()
            self.row = slopes[:, None, None] * torch.arange(tokens).float()
        if self.encoding == "rope":
            self.cos, self.sin = half_rows(float32_angles(work, tokens))
        self.table = torch.from_numpy(work.t5_table)

    def recomputed(self):
        """T5's compute_bias: returns [heads, tokens, tokens] from the buckets of all pairs."""
        places = torch.arange(self.work.shape.keys)
        past = -torch.min(places[None, :] - places[:, None], torch.zeros_like(places[:, None]))
        exact = BUCKETS // 2
        large = exact + (torch.log(past.float() / exact) / math.log(MAX_DISTANCE / exact)
                         * (BUCKETS - exact)).to(torch.long)
        large = torch.min(large, torch.full_like(large, BUCKETS - 1))
        buckets = torch.where(past < exact, past, large)
        return torch.nn.functional.embedding(buckets, self.table).permute(2, 0, 1)

    def attention(self):
        q, k = self.q, self.k
        if self.encoding == "rope":
            q, k = (x * self.cos + rotate_half(x) * self.sin for x in (q, k))
        scores = torch.bmm(q * self.work.scale, k.transpose(1, 2))
        if self.how == "broadcast":
            scores += self.row
        if self.how == "recomputed":
            scores += self.recomputed()
        scores += self.bias
        return torch.bmm(torch.softmax(scores, dim=-1), self.v)[None]

    def held_bytes(self):
        """Counts the prepared bias, the scores and their softmax."""
        scores = 4 * self.work.heads * self.work.shape.keys**2
        return self.bias.numel() * 4 + 2 * scores

    def free(self):
        self.bias = None
