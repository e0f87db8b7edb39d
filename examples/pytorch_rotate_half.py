#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rotary embedding in PyTorch with rotate_half, and how its most widely copied mistake fails.

The mistake is one line. It shapes cos and sin as [1, S, 1, D], for queries [B, S, H, D], but the
queries are [B, H, S, D]. Broadcasting aligns axes from the right, so the axis of positions meets
the axis of heads. Three things can happen, and only the first is an error: see show_mistake().

Run: pytorch_rotate_half.py [tests/golden/llama_half_split.json]. The file has queries that
Transformers' Llama rotated. Without PyTorch, NumPy runs the same lines with the same broadcasting.
NumPy checks arithmetic and shapes, but not that PyTorch accepts every line.
"""

import json
import math
import sys

try:
    import torch as xp

    concatenate = xp.cat
except ImportError:
    import numpy as xp

    concatenate = xp.concatenate

BASE = 10000.0


def make_rows(positions, head_dim):
    """cos and sin, [S, D]. Angles are in float64: in float32 they are off by up to 0.004 at
    position 131071, and bfloat16 cannot distinguish positions beyond 256."""
    two_i = xp.arange(0, head_dim, 2, dtype=xp.float64)  # pairs i = 0, 1, …
    inv_freq = BASE ** (-two_i / head_dim)
    angles = xp.asarray(positions, dtype=xp.float64)[:, None] * inv_freq  # [S, D/2]
    angles = concatenate((angles, angles), -1)  # features j and j + D/2 are a pair
    return xp.cos(angles), xp.sin(angles)


def rotate_half(x):
    """(x1, x2) -> (-x2, x1), for weights with pairs (j, j + D/2). Adjacent pairs (2j, 2j + 1) need
    another function."""
    half = x.shape[-1] // 2
    return concatenate((-x[..., half:], x[..., :half]), -1)


def apply_rotary(x, cos, sin, layout):
    """x [B, H, S, D] with layout "bhsd", or [B, S, H, D] with "bshd"; cos and sin [S, D]."""
    shape = (x.shape[layout.index("s")], x.shape[layout.index("d")])
    if tuple(cos.shape) != shape:  # broadcasting would accept some wrong shapes
        raise ValueError(f"cos must be [S, D] = {shape}, got {tuple(cos.shape)}")
    if layout == "bshd":
        cos, sin = cos[:, None, :], sin[:, None, :]  # [S, 1, D]: one row for all heads of a token
    cos, sin = xp.asarray(cos, dtype=x.dtype), xp.asarray(sin, dtype=x.dtype)
    return x * cos + rotate_half(x) * sin


def apply_rotary_wrong(x, cos, sin):
    """x [B, H, S, D] with the mistake; [None, None, :, :] would be right."""
    cos, sin = cos[None, :, None, :], sin[None, :, None, :]  # [1, S, 1, D]
    return x * cos + rotate_half(x) * sin


def show_mistake():
    try:
        apply_rotary_wrong(numbers(4, 8, 128, 64), *make_rows(range(128), 64))
        raise SystemExit("8 heads and 128 positions must not broadcast")
    except (RuntimeError, ValueError):  # PyTorch raises RuntimeError, NumPy ValueError
        print("H = 8, S = 128: an error, 8 and 128 do not broadcast")

    # As many heads as tokens: every token of head h is rotated by position h. No error, right norm.
    x, rows = numbers(2, 4, 4, 64), make_rows(range(4), 64)
    by_head = apply_rotary(x, *rows, "bshd")  # the same memory, read as [B, S, H, D]
    require(largest(apply_rotary_wrong(x, *rows) - by_head) < 1e-6, "head h is at position h")
    require(largest(by_head - apply_rotary(x, *rows, "bhsd")) > 0.1, "that must be wrong")
    print("H = 4, S = 4: no error, and head h is rotated by position h")

    # One head (multi-query attention): the result repeats the head, rotated by each position.
    shape = tuple(apply_rotary_wrong(numbers(2, 1, 4, 64), *rows).shape)
    require(shape == (2, 4, 4, 64), f"one head must be repeated, got {shape}")
    print("H = 1, S = 4: no error, and (2, 1, 4, 64) became", shape)


def check_corrected():
    # Position 3 by hand: 3 and 0.03 radians.
    x = xp.asarray([0.5, -1.0, 1.5, 2.0], dtype=xp.float64).reshape(1, 1, 1, 4)
    rotated = apply_rotary(x, *make_rows([3], 4), "bhsd").reshape(4)
    known = xp.asarray([-0.706676, -1.059541, -1.414429, 1.969105], dtype=xp.float64)
    require(largest(rotated - known) < 1e-6, f"the example by hand, got {rotated}")
    print("position 3:", ", ".join(f"{value:.6f}" for value in rotated))

    # Compares float32 with complex numbers in float64: x1 + i x2 times exp(i angle).
    x, positions = numbers(2, 3, 5, 64), [0, 1, 7, 1000, 131071]
    bhsd = apply_rotary(x, *make_rows(positions, 64), "bhsd")
    bshd = apply_rotary(x.swapaxes(1, 2), *make_rows(positions, 64), "bshd")
    require(largest(bhsd - bshd.swapaxes(1, 2)) == 0, "both layouts give the same")
    angles = [[p * math.exp(-i / 32 * math.log(BASE)) for i in range(32)] for p in positions]
    exact = (x[..., :32] + 1j * x[..., 32:]) * xp.exp(1j * xp.asarray(angles, dtype=xp.float64))
    exact = concatenate((exact.real, exact.imag), -1)
    require(largest(bhsd - exact) < 1e-6, f"off by {largest(bhsd - exact)}")
    print("[B, H, S, D] and [B, S, H, D] agree, with complex numbers too")

    # The score depends on the distance of q and k, not on their positions.
    scores = []
    for start in (0, 1000, 131064):
        q = apply_rotary(x[:, :, :1], *make_rows([start + 7], 64), "bhsd")
        k = apply_rotary(x[:, :, 1:2], *make_rows([start], 64), "bhsd")
        scores.append((q * k).sum(-1))
    require(max(largest(score - scores[0]) for score in scores) < 1e-5, "scores must be equal")
    print("score 7 tokens apart:", ", ".join(f"{float(score[0, 0, 0]):.3f}" for score in scores))


def compare_with_golden(path):
    with open(path, encoding="utf-8") as file:
        golden = json.load(file)
    q, q_out = (
        xp.asarray(golden[key]["data"], dtype=xp.float32).reshape(golden[key]["shape"])
        for key in ("q", "q_out")
    )
    rotated = apply_rotary(q, *make_rows(golden["positions"], q.shape[-1]), "bhsd")
    for token, position in enumerate(golden["positions"]):
        difference = largest(rotated[:, :, token] - q_out[:, :, token])
        # Transformers rounds angles to float32, which is off by about position * 2^-24.
        require(difference < 1e-4 if position <= 1000 else difference < 0.02, f"at {position}")
        print(f"Transformers at position {position}: within {difference:.4f}")


def numbers(*shape):
    """Random float32 numbers in [-1, 1)."""
    return (xp.arange(math.prod(shape), dtype=xp.float32) * 37 % 61 / 32 - 1).reshape(shape)


def largest(x):
    return float(abs(x).max())


def require(condition, message):
    if not condition:
        raise SystemExit(message)


if __name__ == "__main__":
    print(f"{xp.__name__} {xp.__version__}", file=sys.stderr)
    show_mistake()
    check_corrected()
    for golden_file in sys.argv[1:]:
        compare_with_golden(golden_file)
