# SPDX-License-Identifier: Apache-2.0
"""Calls the functions of rotary_cuda.h for torch tensors on an NVIDIA GPU.

The package does not include these functions. They are in a librotary.so built with ROTARY_CUDA. The
environment variable ROTARY_CUDA_LIBRARY names that file; without it, the loader searches for it.
"""

from __future__ import annotations

import ctypes
import functools
import os
from ctypes import POINTER, byref, c_char_p, c_double, c_int32, c_int64, c_size_t, c_void_p
from typing import Any

import torch
from torch import Tensor

from rotary._errors import Error
from rotary._parameters import Pairing

_DTYPES = {torch.float32: 1, torch.bfloat16: 2, torch.float16: 3}
_PAIRINGS = {pairing.value: number for number, pairing in enumerate(Pairing, 1)}
_CODES = ("ok", "invalid_argument", "malformed_input", "unsupported", "out_of_memory")


class _Sized(ctypes.Structure):
    """A struct of rotary.h; its first member is its size."""

    _fields_ = [("struct_size", c_size_t)]

    def __init__(self, **members: Any) -> None:
        super().__init__(struct_size=ctypes.sizeof(type(self)), **members)


class HeadsView(_Sized):
    _fields_ = [("data", c_void_p), ("dtype", c_int32), ("reserved", c_int32),
                ("extents", c_int64 * 4), ("strides", c_int64 * 4)]


class Positions(_Sized):
    _fields_ = [("kind", c_int32), ("reserved", c_int32), ("first", c_int64), ("data", c_void_p),
                ("batch", c_int64), ("tokens", c_int64), ("batch_stride", c_int64),
                ("token_stride", c_int64), ("axes", c_int64), ("axis_stride", c_int64)]


class Window(_Sized):
    _fields_ = [("head_dim", c_int64), ("rotary_dim", c_int64), ("first_feature", c_int64),
                ("pairing", c_int32), ("reserved", c_int32), ("blocks", c_int64)]


class AxisFrequencies(_Sized):
    _fields_ = [("axes", c_int64), ("pair_axes", POINTER(c_int32)), ("inv_freq", POINTER(c_double)),
                ("count", c_size_t), ("attention_factor", c_double)]


class CosSin(_Sized):
    _fields_ = [("cos", c_void_p), ("sin", c_void_p), ("dtype", c_int32), ("reserved", c_int32),
                ("batch", c_int64), ("tokens", c_int64), ("batch_stride", c_int64),
                ("token_stride", c_int64), ("pair_stride", c_int64), ("attention_factor", c_double)]


class At(_Sized):
    _fields_ = [("frequencies", c_void_p), ("positions", POINTER(Positions))]


class Options(_Sized):
    _fields_ = [("stream", c_void_p), ("direction", c_int32), ("reserved", c_int32)]


@functools.cache
def library() -> ctypes.CDLL | None:
    """Loads the library. Returns None if it is missing or lacks these functions."""
    try:
        found = ctypes.CDLL(os.environ.get("ROTARY_CUDA_LIBRARY", "librotary.so"))
        found.rotary_cuda_frequencies_make.argtypes = [c_void_p, POINTER(c_void_p)]
    except (OSError, AttributeError):
        return None
    found.rotary_last_error.restype = c_char_p
    found.rotary_frequencies_free.argtypes = [c_void_p]
    found.rotary_cuda_frequencies_free.argtypes = [c_void_p]
    return found


def call(name: str, *arguments: Any) -> None:
    """Calls a function that returns a status; structs are passed by address."""
    found = library()
    if found is None:
        raise Error("unsupported", "tensors on a GPU need a librotary.so built with "
                    "-DROTARY_CUDA=ON: name it in the environment variable ROTARY_CUDA_LIBRARY")
    passed = [byref(each) if isinstance(each, ctypes.Structure) else each for each in arguments]
    status = getattr(found, name)(*passed)
    if status != 0:
        raise Error(_CODES[status], found.rotary_last_error().decode())


def view(x: Tensor, layout: str) -> HeadsView:
    """Makes a view of a tensor. layout names its axes by the letters b, t, h and d."""
    if x.dtype not in _DTYPES:
        raise Error("unsupported", "tensors on a GPU must be of float32, bfloat16 or float16, got "
                    f"{x.dtype}")
    axes = [layout.find(letter) for letter in "bthd"]
    extents = [x.shape[axis] if axis >= 0 else 1 for axis in axes]
    strides = [x.stride(axis) if axis >= 0 else 0 for axis in axes]
    return HeadsView(data=x.data_ptr(), dtype=_DTYPES[x.dtype], extents=(c_int64 * 4)(*extents),
                     strides=(c_int64 * 4)(*strides))


def positions(x: Tensor) -> Positions:
    """Makes a view of positions [tokens], [batch, tokens] or [axes, batch, tokens]."""
    if x.dtype not in (torch.int32, torch.int64):
        raise Error("unsupported", f"positions on a GPU must be int32 or int64, got {x.dtype}")
    axes, batch, tokens = (1,) * (3 - x.ndim) + tuple(x.shape)
    strides = (0,) * (3 - x.ndim) + x.stride()
    return Positions(kind=2 if x.dtype == torch.int32 else 3, data=x.data_ptr(), batch=batch,
                     tokens=tokens, batch_stride=strides[1], token_stride=strides[2], axes=axes,
                     axis_stride=strides[0])


def window(head_dim: int, rotary_dim: int, first_feature: int, pairing: str,
           blocks: int) -> Window:
    return Window(head_dim=head_dim, rotary_dim=rotary_dim, first_feature=first_feature,
                  pairing=_PAIRINGS[pairing], blocks=blocks)


def options(device: torch.device, direction: int = 1) -> Options:
    return Options(stream=torch.cuda.current_stream(device).cuda_stream, direction=direction)


class Frequencies:
    """A rotary.Frequencies, copied to the current device."""

    def __init__(self, of: Any) -> None:
        facts = of._facts
        made = window(*(facts[name] for name in ("head_dim", "rotary_dim", "first_feature",
                                                  "pairing", "blocks")))
        flat = of.inv_freq.reshape(-1)
        axes = facts["axis_of_pair"]
        source = AxisFrequencies(
            axes=facts["axes"], pair_axes=(c_int32 * len(axes))(*axes) if axes else None,
            inv_freq=(c_double * flat.size)(*flat), count=flat.size,
            attention_factor=facts["attention_factor"])
        host = c_void_p()
        call("rotary_frequencies_of_axes", made, source, byref(host))
        self.handle = c_void_p()
        self._free = library().rotary_cuda_frequencies_free  # __del__ may run without globals
        try:
            call("rotary_cuda_frequencies_make", host, byref(self.handle))
        finally:
            library().rotary_frequencies_free(host)

    def at(self, where: Positions) -> At:
        return At(frequencies=self.handle, positions=ctypes.pointer(where))

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self._free(self.handle)


def _cos_sin(cos: Tensor, sin: Tensor, attention_factor: float) -> CosSin:
    return CosSin(cos=cos.data_ptr(), sin=sin.data_ptr(), dtype=1, batch=cos.shape[0],
                  tokens=cos.shape[1], batch_stride=cos.stride(0), token_stride=cos.stride(1),
                  pair_stride=cos.stride(2), attention_factor=attention_factor)


def rows(frequencies: Frequencies, where: Tensor, pairs: int,
         attention_factor: float) -> tuple[Tensor, Tensor]:
    """Computes cos and sin [batch, tokens, pairs] on the device of the positions."""
    at = positions(where)
    cos, sin = (torch.empty((at.batch, at.tokens, pairs), dtype=torch.float32,
                            device=where.device) for _ in range(2))
    call("rotary_cuda_rows", _cos_sin(cos, sin, attention_factor), frequencies.at(at),
         options(where.device))
    return cos, sin


def rotate_by_rows(out: Tensor, x: Tensor, layout: str, cos: Tensor, sin: Tensor, within: Window,
                   attention_factor: float, direction: int) -> None:
    # CosSin has one set of strides for cos and sin.
    cos, sin = cos.float().contiguous(), sin.float().contiguous()
    with torch.cuda.device(x.device):
        call("rotary_cuda_rotate_by_rows", view(out, layout), view(x, layout), within,
             _cos_sin(cos, sin, attention_factor), options(x.device, direction))
