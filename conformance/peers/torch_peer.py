# SPDX-License-Identifier: Apache-2.0
"""PyTorch: Transformers' rotate_half, eager and compiled; complex numbers as in Meta's Llama."""

import torch

from runner import Called
from verify import Recipe


def tensor_of(array, dtype):
    """The array's memory, not copied, as a tensor [1, tokens, heads, head_dim]."""
    if dtype == "bf16":
        return torch.from_numpy(array.view("int16")).view(torch.bfloat16).unsqueeze(0)
    return torch.from_numpy(array).unsqueeze(0)


def float32_angles(work, tokens, first=0):
    """[tokens, head_dim / 2], with each step in float32."""
    exponents = torch.arange(0, work.head_dim, 2).float() / work.head_dim
    inv_freq = 1.0 / (work.base**exponents)
    return torch.outer(torch.arange(first, first + tokens).float(), inv_freq)


def half_rows(angles):
    """cos and sin [tokens, head_dim], the same in both halves."""
    twice = torch.cat((angles, angles), dim=-1)
    return twice.cos(), twice.sin()


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


class Eager(Called):
    heads_axis = 2  # of the results

    def __init__(self, work, threads):
        torch.set_num_threads(threads)
        self.work = work
        self.q, self.k = tensor_of(work.q, work.dtype), tensor_of(work.k, work.dtype)

    @torch.inference_mode()
    def nanoseconds(self, calls):
        return super().nanoseconds(calls)

    @torch.inference_mode()
    def result(self):
        self.work.fill()
        results = [each.movedim(self.heads_axis, 2)[0].contiguous() for each in self.call()]
        if self.work.dtype == "bf16":
            return [each.view(torch.int16).numpy().view("uint16") for each in results]
        return [each.numpy() for each in results]


class RotateHalf(Eager):
    """x cos + rotate_half(x) sin on [batch, heads, tokens, head_dim] views of the projections."""

    heads_axis = 1
    recipe = Recipe("float32", 3)

    def __init__(self, work, threads):
        super().__init__(work, threads)
        self.q, self.k = self.q.transpose(1, 2), self.k.transpose(1, 2)
        self.cos, self.sin = (each[None, None].to(self.q.dtype) for each in half_rows(
            float32_angles(work, work.tokens, work.first)))

    @staticmethod
    def turned(q, k, cos, sin):
        return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin

    def call(self):
        return self.turned(self.q, self.k, self.cos, self.sin)


class CompiledRotateHalf(RotateHalf):
    def __init__(self, work, threads):
        super().__init__(work, threads)
        self.turned = torch.compile(self.turned, dynamic=False)


class Complex(Eager):
    """Multiplies neighbours, as complex64 numbers, by unit numbers, and casts back."""

    recipe = Recipe("float32", 1)

    def __init__(self, work, threads):
        super().__init__(work, threads)
        angles = float32_angles(work, work.tokens, work.first)
        self.rows_of_step = torch.polar(torch.ones_like(angles), angles)[None, :, None]

    def rotated_one(self, x):
        pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * self.rows_of_step).flatten(-2).type_as(x)

    def call(self):
        return self.rotated_one(self.q), self.rotated_one(self.k)
