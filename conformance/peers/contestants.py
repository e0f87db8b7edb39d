# SPDX-License-Identifier: Apache-2.0
"""The contestants for a dtype and pairing, and how each is made."""

import dataclasses
from typing import Callable

import mlx_peer
import onnx_peer
import openvino_peer
import torch_peer
from native import Loop
from verify import Recipe

ROTARY, GGML = Recipe("exact", 1), Recipe("ggml", 1)
GGML_FORM = {"half": "NEOX", "interleaved": "NORMAL"}
MLX_FORM = {"half": "fast.rope", "interleaved": "fast.rope traditional"}


@dataclasses.dataclass(frozen=True)
class Contestant:
    peer: str  # rotary, scale or the peer's name
    form: str  # as the peer calls it
    place: str  # in_place or out_of_place
    rows: str  # cos and sin: prepared, or computed in_each_call
    recipe: Recipe | None  # None: nothing to verify
    make: Callable  # (work) -> an object with nanoseconds(calls), result(), free()


class Field:
    def __init__(self, library, threads):
        self.library, self.threads = library, threads

    def of(self, dtype, pairing):
        yield Contestant("scale", "", "in_place", "", None, lambda work: Loop(
            self.library, "scale", work, {"threads": self.threads}))
        for place in ("in_place", "out_of_place"):
            for rows in ("prepared", "in_each_call"):
                yield self.looped("rotary", pairing, place, rows)
        if dtype in ("f32", "f16"):
            for place in ("in_place", "out_of_place"):
                yield self.looped("ggml", GGML_FORM[pairing], place, "in_each_call")
            yield self.called("onnxruntime", pairing, onnx_peer.RotaryEmbedding)
        if dtype in ("f32", "bf16"):
            if pairing == "half":
                yield self.called("torch", "rotate_half", torch_peer.RotateHalf)
                yield self.called("torch", "compiled rotate_half", torch_peer.CompiledRotateHalf)
            else:
                yield self.called("torch", "complex", torch_peer.Complex)
        if (dtype, pairing) == ("f32", "half"):
            yield self.called("openvino", "RoPE", openvino_peer.RotateHalf)
        if self.threads == 1:
            yield self.called("mlx", MLX_FORM[pairing], mlx_peer.FastRope)

    def looped(self, name, form, place, rows):
        settings = {"place": place, "rows": rows, "threads": self.threads}
        recipe = ROTARY if name == "rotary" else GGML
        return Contestant(name, form, place, rows, recipe,
                          lambda work: Loop(self.library, name, work, settings))

    def called(self, name, form, kind):
        return Contestant(name, form, kind.place, kind.rows, kind.recipe,
                          lambda work: kind(work, self.threads))
