# SPDX-License-Identifier: Apache-2.0
"""Rotation by its definition, in NumPy and float64, for tests to compare with."""

import numpy as np


def inv_freq(head_dim, base):
    return base ** (-np.arange(0, head_dim, 2) / head_dim)


def rotate_half(x, positions, frequencies, factor=1.0):
    """Rotates pairs (i, i + d/2) of x [..., tokens, features]."""
    half = len(frequencies)
    turned = x[..., :half].astype(np.float64) + 1j * x[..., half:2 * half].astype(np.float64)
    turned *= factor * np.exp(1j * np.asarray(positions, np.float64)[..., None] * frequencies)
    return np.concatenate((turned.real, turned.imag, x[..., 2 * half:].astype(np.float64)), -1)


def rotate_interleaved(x, positions, frequencies, factor=1.0):
    """Rotates pairs (2i, 2i + 1) of x [..., tokens, features]."""
    turned = x[..., 0::2].astype(np.float64) + 1j * x[..., 1::2].astype(np.float64)
    turned *= factor * np.exp(1j * np.asarray(positions, np.float64)[..., None] * frequencies)
    return np.stack((turned.real, turned.imag), -1).reshape(x.shape)


def numbers(*shape, seed=1, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)
