#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rotates NumPy queries and keys by a model's config.json through the C ABI, with ctypes. Shows the
way for languages without bindings; Python itself has a package (python/).

Run: ROTARY_LIBRARY=/path/to/librotary.so rotate_ctypes.py models/llama-3.1-8b.json
Without ROTARY_LIBRARY it uses the system's librotary.
"""

import contextlib
import ctypes
import ctypes.util
import os
import sys
from ctypes import byref, c_char_p, c_double, c_int32, c_int64, c_size_t, c_void_p, sizeof

import numpy as np

DTYPES = {"float32": 1, "float16": 3}  # ROTARY_F32, ROTARY_F16
HEAD_DIM = 128  # all features of the model rotate, in pairs (i, i + 64)


class HeadsView(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("data", c_void_p), ("dtype", c_int32),
                ("reserved", c_int32), ("extents", c_int64 * 4), ("strides", c_int64 * 4)]


class Positions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("kind", c_int32), ("reserved", c_int32),
                ("first", c_int64), ("data", c_void_p), ("batch", c_int64), ("tokens", c_int64),
                ("batch_stride", c_int64), ("token_stride", c_int64)]


def load():
    name = os.environ.get("ROTARY_LIBRARY") or ctypes.util.find_library("rotary")
    if name is None:
        sys.exit("no librotary on this system: set ROTARY_LIBRARY to its path")
    library = ctypes.CDLL(name)
    if library.rotary_abi_version() != 1:
        sys.exit(f"this program knows ABI 1, got {library.rotary_abi_version()}")
    library.rotary_last_error.restype = c_char_p
    library.rotary_status_name.restype = c_char_p
    library.rotary_model_rotary_of_layer.restype = c_int64
    library.rotary_frequencies_inv_freq.restype = ctypes.POINTER(c_double)
    return library


rotary = load()


def check(status):
    if status != 0:
        name = rotary.rotary_status_name(status).decode()
        raise ValueError(f"{name}: {rotary.rotary_last_error().decode()}")


@contextlib.contextmanager
def handle(free, make, *arguments):
    """Yields the result of make(*arguments, &handle), and frees it at the end of the block."""
    made = c_void_p()
    check(make(*arguments, byref(made)))
    try:
        yield made
    finally:
        free(made)


def view(array):
    """Views an array [tokens, heads, features] of any strides, which must outlive the view."""
    strides = [stride // array.itemsize for stride in array.strides]
    return byref(HeadsView(sizeof(HeadsView), array.ctypes.data, DTYPES[array.dtype.name], 0,
                           (1, *array.shape), (0, *strides)))


def rotate_with_numpy(x, positions, frequencies):
    """Multiplies pairs (i, i + d/2), as complex numbers in float64, by exp(i position inv_freq)."""
    half = HEAD_DIM // 2
    inv_freq = np.ctypeslib.as_array(rotary.rotary_frequencies_inv_freq(frequencies), (half,))
    turned = x[..., :half].astype(np.float64) + 1j * x[..., half:].astype(np.float64)
    turned *= np.exp(1j * positions[:, None, None] * inv_freq)
    return np.concatenate((turned.real, turned.imag), -1), np.abs(turned).max()


def agrees(dtype, frequencies):
    """Rotates q and k in place inside a fused QKV projection and compares with NumPy."""
    tokens, heads, kv_heads = 16, 4, 2
    positions = 1000 + 7 * np.arange(tokens, dtype=np.int64)
    qkv = np.random.default_rng(1).standard_normal((tokens, heads + 2 * kv_heads, HEAD_DIM))
    qkv = qkv.astype(dtype)
    q, k, v = np.split(qkv, [heads, heads + kv_heads], axis=1)  # views, not copies
    before = [array.copy() for array in (q, k, v)]

    where = Positions(sizeof(Positions), 3, 0, 0, positions.ctypes.data, 1, tokens, 0, 1)
    with handle(rotary.rotary_rotations_free, rotary.rotary_rotations_make, frequencies,
                byref(where), None) as rotations:
        check(rotary.rotary_rotate_qk(view(q), view(k), rotations, None))

    same = np.array_equal(v, before[2])
    for name, array, original in zip("qk", (q, k), before):
        expected, largest = rotate_with_numpy(original, positions, frequencies)
        difference = np.abs(array - expected).max()
        print(f"{dtype} {name}: largest difference from NumPy in float64 {difference:.1e}")
        same = same and difference <= 2 * np.finfo(dtype).eps * largest
    return same


def main(path):
    with open(path, "rb") as file:
        config = file.read()
    resolve = (rotary.rotary_model_free, rotary.rotary_model_resolve)
    with handle(*resolve, config, c_size_t(len(config)), None) as model, handle(
            rotary.rotary_frequencies_free, rotary.rotary_frequencies_of_model, model,
            c_int64(rotary.rotary_model_rotary_of_layer(model, c_int64(0)))) as frequencies:
        same = all([agrees(dtype, frequencies) for dtype in DTYPES])
    try:
        with handle(*resolve, b"{}", c_size_t(2), None):
            same = False
    except ValueError as error:
        print(f"an empty config is refused: {error}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
