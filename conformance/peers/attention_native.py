# SPDX-License-Identifier: Apache-2.0
"""Attention of rotary and ggml through ctypes: conformance/peers/native/attention.h."""

import ctypes
from ctypes import c_double, c_int32, c_int64, c_void_p

import numpy as np

from native import Job, fields
from runner import Called, heads_first
from workload import bfloat16_bits, of_bfloat16_bits

ENCODINGS = {"none": 1, "rope": 2, "alibi": 3, "t5": 4}  # ATTENTION_NONE, …
DTYPES = {"f32": 1, "bf16": 2, "f16": 3, "int8": 4, "q8_0": 4}  # ATTENTION_F32, …


class AttentionJob(ctypes.Structure):
    """attention_job of conformance/peers/native/attention.h."""

    _fields_ = (fields(c_void_p, "q k v out t5_table mask")
                + fields(c_int64, "queries keys heads key_heads head_dim") + [("base", c_double)]
                + fields(c_int32, "encoding mask_heads dtype threads"))


class Native(Job, Called):
    def __init__(self, library, work, form, threads):
        self.name, self.dtype = form.peer, form.dtype
        self.arrays = self.operands(work, form)
        self.out = np.zeros_like(self.arrays["q"])
        mask, shape = self.arrays["mask"], work.shape
        super().__init__(library, f"attention_{self.name}", AttentionJob(
            *(self.arrays[key].ctypes.data for key in ("q", "k", "v")), self.out.ctypes.data,
            work.t5_table.ctypes.data, mask.ctypes.data if len(mask) else None, shape.queries,
            shape.keys, shape.heads, shape.key_heads, shape.head_dim, work.base,
            ENCODINGS[form.encoding], len(mask), DTYPES[form.dtype], threads),
            f"{form.name()}, {shape}")

    def operands(self, work, form):
        arrays = {"q": work.q, "k": work.k, "v": work.v, "mask": np.zeros(0, np.float16)}
        if self.name == "rotary":  # heads first, the fastest layout for its cache
            arrays |= {key: heads_first(arrays[key]) for key in ("q", "k", "v")}
        elif not work.shape.is_decode():
            arrays["mask"] = work.ggml_mask(form.encoding)
        if self.dtype == "bf16":
            arrays |= {key: bfloat16_bits(arrays[key]) for key in ("q", "k", "v")}
        if self.dtype == "f16":
            arrays["k"] = work.k.astype("f2")
        if self.dtype in ("f16", "q8_0"):
            arrays["v"] = work.v.astype("f2")
        return arrays

    def call(self):
        if self.function("run")(self.made) != 0:
            raise RuntimeError(f"{self.name} must compute, got an error")

    def result(self):
        self.out[...] = 0
        self.call()
        out = of_bfloat16_bits(self.out) if self.dtype == "bf16" else self.out
        return heads_first(out) if self.name == "rotary" else out

    def held_bytes(self):
        return self.function("bytes")(self.made) + self.arrays["mask"].nbytes

    def free(self):
        super().free()
        self.arrays = None
