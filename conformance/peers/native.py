# SPDX-License-Identifier: Apache-2.0
"""The jobs of conformance/peers/native through ctypes: rotary, ggml and the in-place scale."""

import ctypes
import json
from ctypes import c_char_p, c_double, c_int32, c_int64, c_void_p

DTYPES = {"f32": 1, "bf16": 2, "f16": 3}  # ROTARY_F32, …
PAIRINGS = {"half": 1, "interleaved": 2}  # ROTARY_PAIRING_…
ROWS = {"prepared": 1, "in_each_call": 2}  # PEERS_ROWS_…


def fields(kind, names):
    return [(name, kind) for name in names.split()]


class RotationJob(ctypes.Structure):
    """peers_job of conformance/peers/native/peers.h."""

    _fields_ = (fields(c_void_p, "q k q_out k_out") + [("spec", c_char_p), ("base", c_double)]
                + fields(c_int64, "tokens query_heads key_heads head_dim first")
                + fields(c_int32, "dtype pairing rows threads"))


FUNCTIONS = {
    "peers_{}_make": (c_void_p, c_void_p), "peers_{}_time": (c_int64, c_void_p, c_int64),
    "peers_{}_free": (None, c_void_p), "attention_{}_make": (c_void_p, c_void_p),
    "attention_{}_run": (c_int32, c_void_p), "attention_{}_bytes": (c_int64, c_void_p),
    "attention_{}_free": (None, c_void_p), "attention_peak": (c_double, c_int64),
    "attention_read": (None, c_void_p, c_int64), "peers_ggml_version": (c_char_p,),
    # These symbols come from the linked rotary library.
    "rotary_version": (c_char_p,), "rotary_instruction_set": (c_char_p,)}


def load(path):
    library = ctypes.CDLL(str(path))
    for form, (result, *given) in FUNCTIONS.items():
        owners = ("rotary", "ggml", "scale")[:2 if form.startswith("attention") else 3]
        for name in {form.format(owner) for owner in owners}:
            function = getattr(library, name)
            function.restype, function.argtypes = result, given
    return library


class Job:
    """A job in C. prefix: the start of its functions' names."""

    def __init__(self, library, prefix, job, name):
        self.library, self.prefix = library, prefix
        self.made = self.function("make")(ctypes.byref(job))
        if not self.made:
            raise RuntimeError(f"{name}: must be accepted, got no job")

    def function(self, verb):
        return getattr(self.library, f"{self.prefix}_{verb}")

    def free(self):
        self.function("free")(self.made)


class Loop(Job):
    """A rotation by rotary or ggml, or the in-place scale, timed in C."""

    chain = 1

    def __init__(self, library, name, work, settings):
        self.work = work
        self.in_place = settings.get("place", "in_place") == "in_place"
        q_out, k_out = (work.q, work.k) if self.in_place else (work.q_out, work.k_out)
        self.spec = json.dumps({"head_dim": work.head_dim, "base": work.base,
                                "pairing": work.pairing}).encode()
        super().__init__(library, f"peers_{name}", RotationJob(
            work.q.ctypes.data, work.k.ctypes.data, q_out.ctypes.data, k_out.ctypes.data,
            self.spec, work.base, work.tokens, work.query_heads, work.key_heads, work.head_dim,
            work.first, DTYPES[work.dtype], PAIRINGS[work.pairing],
            ROWS[settings.get("rows", "prepared")], settings["threads"]), f"{name}, {work}")

    def nanoseconds(self, calls):
        total = self.function("time")(self.made, calls)
        if total < 0:
            raise RuntimeError(f"{self.prefix}, {self.work}: must compute, got an error")
        return total

    def result(self):
        """q and k after one call on fresh input."""
        self.work.fill()
        self.nanoseconds(1)
        if self.in_place:
            return self.work.q, self.work.k
        return self.work.q_out, self.work.k_out
