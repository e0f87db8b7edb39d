#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rotates q and k in place inside a fused [batch, tokens, heads + 2 kv_heads, head_dim] projection,
following a model's config, and compares with complex numbers in float64.

Run: rotate_in_place.py [CONFIG], a config.json or a model card's name.
"""

import sys

import numpy as np
import rotary


def by_complex_numbers(x, positions, frequencies):
    """Pairing half by definition: pair (i, i + d/2) as a complex number times exp(i p inv_freq)."""
    pairs = frequencies.inv_freq.size
    turned = x[..., :pairs] + 1j * x[..., pairs:2 * pairs]
    turned *= np.exp(1j * positions[:, None, None] * frequencies.inv_freq)
    return np.concatenate((turned.real, turned.imag), -1) * frequencies.attention_factor


def main(config="llama-3.1-8b"):
    model = rotary.resolve(config)
    spec, frequencies = model.rotary[0].spec, model.frequencies(0)
    if spec.pairing != rotary.Pairing.HALF:
        raise SystemExit(f"this example is for pairing half, got {spec.pairing}")
    tokens, heads, kv_heads = 16, 8, 2
    positions = 1000 + 7 * np.arange(tokens)
    shape = (1, tokens, heads + 2 * kv_heads, spec.head_dim)
    qkv = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    before = qkv.copy()

    q, k = qkv[:, :, :heads], qkv[:, :, heads:heads + kv_heads]  # views, not copies
    frequencies.rotate(q, k, positions=positions, layout="bthd", inplace=True)

    expected = by_complex_numbers(before.astype(np.float64), positions, frequencies)
    turned = slice(heads + kv_heads)
    error = np.abs(qkv[:, :, turned] - expected[:, :, turned]).max()
    same = np.array_equal(qkv[:, :, heads + kv_heads:], before[:, :, heads + kv_heads:])
    print("q and k agree with complex numbers:", bool(error < 2e-6))
    print("v is unchanged:", same)


if __name__ == "__main__":
    main(*sys.argv[1:])
