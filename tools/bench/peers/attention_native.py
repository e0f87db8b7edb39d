# SPDX-License-Identifier: Apache-2.0
"""Attention of ours and of ggml through ctypes: bench/peers/attention.h."""

import ctypes
from ctypes import c_double, c_int32, c_int64, c_void_p

import numpy as np

ENCODINGS = {"none": 1, "rope": 2, "alibi": 3, "t5": 4}  # ATTENTION_NONE, …


class AttentionJob(ctypes.Structure):
    """attention_job of bench/peers/attention.h."""

    _fields_ = [("q", c_void_p), ("k", c_void_p), ("v", c_void_p), ("out", c_void_p),
                ("t5_table", c_void_p), ("mask", c_void_p), ("tokens", c_int64),
                ("heads", c_int64), ("head_dim", c_int64), ("base", c_double),
                ("encoding", c_int32), ("mask_heads", c_int32), ("cache_is_f16", c_int32)]


def load(path):
    library = ctypes.CDLL(str(path))
    for name in ("rotary", "ggml"):
        for verb, result, given in (("make", c_void_p, ctypes.POINTER(AttentionJob)),
                                    ("run", c_int32, c_void_p), ("bytes", c_int64, c_void_p),
                                    ("free", None, c_void_p)):
            function = getattr(library, f"attention_{name}_{verb}")
            function.restype, function.argtypes = result, [given]
    library.attention_peak.restype, library.attention_peak.argtypes = c_double, [c_int64]
    for name in ("rotary_version", "rotary_instruction_set", "peers_ggml_version"):
        getattr(library, name).restype = ctypes.c_char_p
    return library


class Native:
    """One job; result() is [tokens, heads, head_dim]."""

    def __init__(self, library, name, work, form):
        self.library, self.name = library, name
        self.arrays = self.operands(work, form)
        self.out = np.zeros_like(work.q)
        job = AttentionJob(
            *(self.arrays[key].ctypes.data for key in ("q", "k", "v")), self.out.ctypes.data,
            work.t5_table.ctypes.data, self.arrays["mask"].ctypes.data, work.tokens, work.heads,
            work.head_dim, work.base, ENCODINGS[form.encoding], len(self.arrays["mask"]),
            int(form.cache == "f16"))
        self.made = self.call("make", ctypes.byref(job))
        if not self.made:
            raise RuntimeError(f"{name} must accept {form.encoding}, {work}; got no job")

    def operands(self, work, form):
        arrays = {"q": work.q, "k": work.k, "v": work.v, "mask": np.zeros(0, np.float16)}
        if self.name == "ggml":
            arrays["mask"] = work.ggml_mask(form.encoding)
            if form.cache == "f16":
                arrays["k"], arrays["v"] = work.k.astype("f2"), work.v.astype("f2")
        return arrays

    def call(self, verb, argument):
        return getattr(self.library, f"attention_{self.name}_{verb}")(argument)

    def run(self):
        if self.call("run", self.made) != 0:
            raise RuntimeError(f"{self.name} must compute, got an error")

    def result(self):
        self.out[...] = 0
        self.run()
        return self.out

    def held_bytes(self):
        """Beside q, k, v and the result: what it works in, and what brings positions and masks."""
        return self.call("bytes", self.made) + self.arrays["mask"].nbytes

    def free(self):
        self.call("free", self.made)
        self.arrays = None
