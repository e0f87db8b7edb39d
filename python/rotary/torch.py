# SPDX-License-Identifier: Apache-2.0
"""rotary.torch: rotation as an operator of torch, with gradients, for compile, export and vmap.

>>> cos, sin = rotary.torch.tables(spec, position_ids)  # once per step
>>> q = rotary.torch.rotate(q, cos, sin, pairing="half", layout="bhtd")

Tensors are on the CPU, or on an NVIDIA GPU with a librotary.so built with ROTARY_CUDA
(docs/cuda.md). The operators return new tensors and change no argument.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

from rotary import _arrays, _cuda
from rotary._attention import Bias
from rotary._checks import checked
from rotary._errors import Error, invalid
from rotary._models import model_of
from rotary._specs import Frequencies, RotarySpec
from rotary._torch_operator import checked_call, rotate, rotate_by

__all__ = ["RotaryEmbedding", "bias_table", "rotate", "rotate_by", "tables"]


def __dir__() -> list[str]:
    return __all__


@functools.lru_cache(maxsize=64)
def _spec_of(text: str) -> RotarySpec:
    return RotarySpec.from_json(text)


@functools.lru_cache(maxsize=64)
def _frequencies(text: str, context: int) -> Frequencies:
    return _spec_of(text).frequencies(context if context > 0 else None)


@functools.lru_cache(maxsize=64)
def _device_frequencies(text: str, context: int, device: int) -> _cuda.Frequencies:
    return _cuda.Frequencies(_frequencies(text, context))


def _length_of(positions: Tensor) -> int:
    return max(int(positions.max()) + 1, 1) if positions.numel() else 1


# context: 0 stands for the length of this call, for rules that depend on the context.
@torch.library.custom_op("rotary::rows", mutates_args=())
def _rows(positions: Tensor, spec: str, context: int, doubles: bool) -> tuple[Tensor, Tensor]:
    array = _arrays.positions_array(positions, "positions")
    if context == 0 and _spec_of(spec).depends_on_context:
        context = _length_of(positions)
    dtype = "float64" if doubles else "float32"
    rows = _frequencies(spec, context).rotations(array, dtype=dtype if doubles else None)
    cos, sin = rows.tables(form="pairs", dtype=dtype)
    return tuple(torch.from_numpy(row).to(positions.device) for row in (cos, sin))


@_rows.register_kernel("cuda")
def _(positions, spec, context, doubles):
    """Computes on the device if it can, else on the CPU and copies the result."""
    needs_length = context == 0 and _spec_of(spec).depends_on_context
    whole = positions.dtype in (torch.int32, torch.int64)
    if doubles or needs_length or not whole or _cuda.library() is None:
        cos, sin = _rows(positions.cpu(), spec, context, doubles)
        return cos.to(positions.device), sin.to(positions.device)
    with torch.cuda.device(positions.device):
        of = _frequencies(spec, context)
        return _cuda.rows(_device_frequencies(spec, context, positions.device.index), positions,
                          of._facts["rotary_dim"] // 2, of.attention_factor)


@_rows.register_fake
def _(positions, spec, context, doubles):
    shape = (positions.shape[-2] if positions.ndim > 1 else 1, positions.shape[-1],
             _frequencies(spec, context or 1)._facts["rotary_dim"] // 2)
    dtype = torch.float64 if doubles else torch.float32
    return tuple(torch.empty(shape, dtype=dtype, device=positions.device) for _ in range(2))


@checked_call
def tables(spec: RotarySpec | Frequencies, positions: Tensor, *, context: int | None = None,
           dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Returns cos and sin [batch, tokens, pairs] on the device of the positions.

    positions: [tokens], [batch, tokens] or [axes, batch, tokens].
    context: the number of tokens, for rules that depend on it; None: the last position + 1.
    """
    if isinstance(spec, Frequencies):
        context = spec.context
        spec = spec.spec
    if context is not None and context < 1:
        raise invalid(f"context must be at least 1, got {context}")
    if dtype not in (torch.float32, torch.float64):
        raise invalid(f"dtype must be torch.float32 or torch.float64, got {dtype}")
    if spec.numerics != "exact" or spec.xpos is not None:
        raise Error("unsupported", "tables are of numerics exact, without xpos: use "
                    "Frequencies.tables")
    return _rows(positions, spec.to_json(), context or 0, dtype == torch.float64)


@checked
class RotaryEmbedding(torch.nn.Module):
    """A module that rotates q and k by a spec, or as a layer of a model does.

    spec: a RotarySpec, or anything that resolve() takes; layer or layer_type then chooses one of
    its rotary embeddings. context: as in tables().

    The module has no parameters or buffers. Each call computes cos and sin from the spec, so none
    go stale when a model is loaded on the meta device, cast or moved.
    """

    def __init__(self, spec: Any, *, layer: int | None = None, layer_type: str | None = None,
                 context: int | None = None) -> None:
        super().__init__()
        if not isinstance(spec, RotarySpec):
            spec = model_of(spec, "spec").rotary_of(layer, layer_type).spec
        self.spec = spec
        self.context = context
        self._needs_context = spec.depends_on_context
        facts = spec.frequencies(1 if context is None and self._needs_context else context)._facts
        self._window = {name: facts[name] for name in ("pairing", "first_feature", "blocks",
                                                       "attention_factor")}

    @checked_call
    def forward(self, q: Tensor, k: Tensor, positions: Tensor, *, layout: str) -> Any:
        """Returns (q, k), rotated. positions: as in tables(). layout: as in rotate()."""
        doubles = torch.float64 if q.dtype == torch.float64 else torch.float32
        context, window = self.context, self._window
        if self._needs_context:
            context = context or _length_of(positions)
            factor = _frequencies(self.spec.to_json(), context).attention_factor
            window = {**window, "attention_factor": factor}
        cos, sin = tables(self.spec, positions, context=context, dtype=doubles)
        return (rotate(q, cos, sin, layout=layout, **window),
                rotate(k, cos, sin, layout=layout, **window))

    def extra_repr(self) -> str:
        return repr(self.spec)


@checked_call
def bias_table(bias: Bias, queries: int, keys: int, *, first_query: int = 0, first_key: int = 0,
               dtype: torch.dtype = torch.float32) -> Tensor:
    """Returns a bias [1, heads, queries, keys], for attn_mask of scaled_dot_product_attention."""
    _arrays.check_extents((queries, keys), "queries and keys")
    _arrays.named_dtype(dtype)
    out = torch.empty((bias.heads, queries, keys), dtype=dtype)
    bias._core.fill(_arrays.torch_operand(out, "out", writes=True), first_query, first_key)
    return out[None]
