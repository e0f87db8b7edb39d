# SPDX-License-Identifier: Apache-2.0
"""Attention of rotary and ggml through ctypes: bench/peers/attention.h."""

import ctypes
from ctypes import c_double, c_int32, c_int64, c_void_p

import numpy as np

from runner import Runner, heads_first
from attention_work import bfloat16_bits, of_bfloat16_bits

ENCODINGS = {"none": 1, "rope": 2, "alibi": 3, "t5": 4}  # ATTENTION_NONE, …
DTYPES = {"f32": 1, "bf16": 2, "f16": 3, "int8": 4, "q8_0": 4}  # ATTENTION_F32, …


class AttentionJob(ctypes.Structure):
    """attention_job of bench/peers/attention.h."""

    _fields_ = [("q", c_void_p), ("k", c_void_p), ("v", c_void_p), ("out", c_void_p),
                ("t5_table", c_void_p), ("mask", c_void_p), ("queries", c_int64),
                ("keys", c_int64), ("heads", c_int64), ("key_heads", c_int64),
                ("head_dim", c_int64), ("base", c_double), ("encoding", c_int32),
                ("mask_heads", c_int32), ("dtype", c_int32), ("threads", c_int32)]


class Native(Runner):

    def __init__(self, library, work, form, threads):
        self.library, self.name, self.dtype = library, form.peer, form.dtype
        self.arrays = self.operands(work, form)
        self.out = np.zeros_like(self.arrays["q"])
        mask, shape = self.arrays["mask"], work.shape
        job = AttentionJob(
            *(self.arrays[key].ctypes.data for key in ("q", "k", "v")), self.out.ctypes.data,
            work.t5_table.ctypes.data, mask.ctypes.data if len(mask) else None, shape.queries,
            shape.keys, shape.heads, shape.key_heads, shape.head_dim, work.base,
            ENCODINGS[form.encoding], len(mask), DTYPES[form.dtype], threads)
        self.made = self.call("make", ctypes.byref(job))
        if not self.made:
            raise RuntimeError(f"{form.name()}, {shape}: must be accepted, got no job")

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

    def call(self, verb, argument):
        return getattr(self.library, f"attention_{self.name}_{verb}")(argument)

    def run(self):
        if self.call("run", self.made) != 0:
            raise RuntimeError(f"{self.name} must compute, got an error")

    def result(self):
        self.out[...] = 0
        self.run()
        out = of_bfloat16_bits(self.out) if self.dtype == "bf16" else self.out
        return heads_first(out) if self.name == "rotary" else out

    def held_bytes(self):
        return self.call("bytes", self.made) + self.arrays["mask"].nbytes

    def free(self):
        self.call("free", self.made)
        self.arrays = None
