# SPDX-License-Identifier: Apache-2.0
"""rotary.torch: rotation as an operator of torch, with gradients, for compile, export and vmap.

>>> cos, sin = rotary.torch.tables(spec, position_ids)  # once for a step
>>> q = rotary.torch.rotate(q, cos, sin, pairing="half", layout="bhtd")

Tensors are on the CPU, or on an NVIDIA GPU beside a librotary.so built with ROTARY_CUDA
(docs/cuda.md). The operators are functional: nothing is mutated.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from rotary import _arrays, _core, _cuda
from rotary._attention import Bias
from rotary._errors import Error
from rotary._frequencies import Frequencies, Rotations
from rotary._models import model_of
from rotary._specs import RotarySpec

__all__ = ["RotaryEmbedding", "bias_table", "rotate", "rotate_by", "tables"]

_NUMBERS = {"forward": 1, "inverse": 2, "transpose": 3}
_BACKWARD = {"forward": "transpose", "transpose": "forward", "inverse": "forward"}


# The window is (first_feature, blocks): all else follows from x and cos.
def _check_layout(x: Tensor, layout: str) -> int:
    """Returns head_dim."""
    if len(layout) != x.ndim or "d" not in layout:
        raise Error("invalid_argument", f"layout must name each of {x.ndim} axes of x once, with "
                    f"d, got '{layout}'")
    return x.shape[layout.index("d")]


@torch.library.custom_op("rotary::rotate", mutates_args=(), device_types="cpu")
def _rotate(x: Tensor, cos: Tensor, sin: Tensor, pairing: str, layout: str, window: list[int],
            attention_factor: float, direction: str) -> Tensor:
    head_dim = _check_layout(x, layout)
    made = _core.window(head_dim, 2 * cos.shape[-1], window[0], pairing, window[1])
    rows = _core.Rotations.of_rows(made, _arrays.torch_operand(cos.contiguous(), "cos"),
                                   _arrays.torch_operand(sin.contiguous(), "sin"),
                                   attention_factor)
    out = torch.empty_like(x)
    rows.rotate(_arrays.torch_operand(out, "out", writes=True), _arrays.torch_operand(x, "x"),
                layout, _NUMBERS[direction])
    return out


@_rotate.register_kernel("cuda")
def _(x, cos, sin, pairing, layout, window, attention_factor, direction):
    within = _cuda.window(_check_layout(x, layout), 2 * cos.shape[-1], window[0], pairing,
                          window[1])
    out = torch.empty_like(x)
    _cuda.rotate_by_rows(out, x, layout, cos, sin, within, attention_factor, _NUMBERS[direction])
    return out


@_rotate.register_fake
def _(x, cos, sin, pairing, layout, window, attention_factor, direction):
    return torch.empty_like(x)


def _setup_rotate(ctx, inputs, output):
    _, cos, sin, *ctx.rest = inputs
    ctx.save_for_backward(cos, sin)


def _backward_rotate(ctx, gradient):
    cos, sin = ctx.saved_tensors
    pairing, layout, window, factor, direction = ctx.rest
    made = _rotate(gradient, cos, sin, pairing, layout, window, factor, _BACKWARD[direction])
    if direction == "inverse":  # R^-1 / A, whose transpose is R / A
        made = made / factor**2
    return (made,) + (None,) * 7


_rotate.register_autograd(_backward_rotate, setup_context=_setup_rotate)


@_rotate.register_vmap
def _(info, in_dims, x, cos, sin, pairing, layout, window, attention_factor, direction):
    """The mapped axis joins the batch."""
    size = info.batch_size
    x = x.movedim(in_dims[0], 0) if in_dims[0] is not None else x.expand(size, *x.shape)
    has_batch = "b" in layout
    if has_batch:
        x = x.movedim(1 + layout.index("b"), 1)
        inner = "b" + layout.replace("b", "")
        batch = x.shape[1]
        x = x.reshape(size * batch, *x.shape[2:])
    else:
        inner, batch = "b" + layout, 1
    rows = []
    for row, dim in ((cos, in_dims[1]), (sin, in_dims[2])):
        row = row.movedim(dim, 0) if dim is not None else row.expand(size, *row.shape)
        rows.append(row.expand(size, batch, *row.shape[2:]).reshape(size * batch, *row.shape[2:]))
    made = _rotate(x, *rows, pairing, inner, window, attention_factor, direction)
    if has_batch:
        made = made.reshape(size, batch, *made.shape[1:]).movedim(1, 1 + layout.index("b"))
    return made, 0


def _check_rows(cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    if torch.is_grad_enabled() and (cos.requires_grad or sin.requires_grad):
        raise Error("invalid_argument", "cos and sin must not require a gradient, which this "
                    "operator does not compute: detach() them")
    if cos.ndim == 2:
        cos, sin = cos[None], sin[None]
    if cos.ndim != 3 or cos.shape != sin.shape or cos.dtype != sin.dtype:
        raise Error("invalid_argument", "cos and sin must be [tokens, pairs] or [batch, tokens, "
                    f"pairs] of one dtype, got {list(cos.shape)} and {list(sin.shape)}")
    return cos, sin


def rotate(x: Tensor, cos: Tensor, sin: Tensor, *, pairing: str, layout: str,
           first_feature: int = 0, blocks: int = 1, attention_factor: float = 1.0,
           direction: str = "forward") -> Tensor:
    """x rotated by rows cos and sin, [tokens, pairs] or [batch, tokens, pairs], of tables().

    Features [first_feature, first_feature + 2 pairs) turn. attention_factor: A, which cos and sin
    contain. The gradient of x is A R^T times that of the result; cos and sin get none.
    """
    cos, sin = _check_rows(cos, sin)
    if direction not in _NUMBERS:
        raise Error("invalid_argument", f"direction must be one of {', '.join(_NUMBERS)}, got "
                    f"'{direction}'")
    def turn(x):
        return _rotate(x, cos, sin, str(getattr(pairing, "value", pairing)), layout,
                       [first_feature, blocks], attention_factor, direction)

    if forward_ad._current_level >= 0:
        # The operator would drop the tangent. The map is linear: the tangent is rotated, too.
        x, tangent = forward_ad.unpack_dual(x)
        if tangent is not None:
            return forward_ad.make_dual(turn(x), turn(tangent))
    return turn(x)


def rotate_by(rotations: Rotations, x: Tensor, layout: str, direction: str = "forward") -> Tensor:
    """Rotations.rotate(x) as the operator, so that gradients and transforms see it."""
    facts = rotations.facts
    if facts["numerics"] != "exact":
        raise Error("unsupported", f"gradients are for numerics exact, got {facts['numerics']}")
    dtype = "float64" if facts["rows"] == "f64" else "float32"
    cos, sin = (torch.from_numpy(row) for row in rotations.tables(form="pairs", dtype=dtype))
    return rotate(x, cos, sin, pairing=facts["pairing"], layout=layout,
                  first_feature=facts["first_feature"], blocks=facts["blocks"],
                  attention_factor=facts["attention_factor"], direction=direction)


@functools.lru_cache(maxsize=64)
def _spec_of(text: str) -> RotarySpec:
    return RotarySpec.from_json(text)


@functools.lru_cache(maxsize=64)
def _frequencies(text: str, context: int) -> Frequencies:
    return _spec_of(text).frequencies(context if context > 0 else None)


@functools.lru_cache(maxsize=64)
def _device_frequencies(text: str, context: int, device: int) -> _cuda.Frequencies:
    return _cuda.Frequencies(_frequencies(text, context))


# context 0: of a rule that depends on it, the length of this call, its last position + 1.
@torch.library.custom_op("rotary::rows", mutates_args=())
def _rows(positions: Tensor, spec: str, context: int, doubles: bool) -> tuple[Tensor, Tensor]:
    array = _arrays.positions_array(positions, "positions")
    if context == 0 and _spec_of(spec).depends_on_context:
        context = max(int(array.max(initial=0)) + 1, 1)
    dtype = "float64" if doubles else "float32"
    rows = _frequencies(spec, context).rotations(array, dtype=dtype if doubles else None)
    cos, sin = rows.tables(form="pairs", dtype=dtype)
    return tuple(torch.from_numpy(row).to(positions.device) for row in (cos, sin))


@_rows.register_kernel("cuda")
def _(positions, spec, context, doubles):
    """Made on the device; rows that only the CPU makes are copied to it."""
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


def tables(spec: RotarySpec | Frequencies, positions: Tensor, *, context: int | None = None,
           dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """cos and sin [batch, tokens, pairs] of positions [tokens], [batch, tokens] or [axes, batch,
    tokens], on their device. context: for rules that depend on it; None: the last position + 1.
    """
    if isinstance(spec, Frequencies):
        context = spec.context
        spec = spec.spec
    if dtype not in (torch.float32, torch.float64):
        raise Error("invalid_argument", "dtype must be torch.float32 or torch.float64, got "
                    f"{dtype}")
    if spec.numerics != "exact" or spec.xpos is not None:
        raise Error("unsupported", "tables are of numerics exact, without xpos: use "
                    "Frequencies.tables")
    return _rows(positions, spec.to_json(), context or 0, dtype == torch.float64)


class RotaryEmbedding(torch.nn.Module):
    """Rotates q and k as a spec, or a layer of a model, says.

    It has neither parameters nor buffers: rows are made of the spec at each call, so nothing goes
    stale where a model is loaded on the meta device, cast or moved.
    """

    def __init__(self, spec: Any, *, layer: int | None = None, layer_type: str | None = None,
                 context: int | None = None) -> None:
        super().__init__()
        if not isinstance(spec, RotarySpec):
            spec = model_of(spec, "spec").rotary_of(layer, layer_type).spec
        self.spec = spec
        self.context = context
        facts = spec.frequencies(context or (1 if spec.depends_on_context else None))._facts
        self._window = {name: facts[name] for name in ("pairing", "first_feature", "blocks",
                                                       "attention_factor")}
        self._needs_context = spec.depends_on_context

    def forward(self, q: Tensor, k: Tensor, positions: Tensor, *, layout: str) -> Any:
        """(q, k) rotated; positions as in tables()."""
        doubles = torch.float64 if q.dtype == torch.float64 else torch.float32
        context, window = self.context, self._window
        if self._needs_context:
            context = context or int(positions.max()) + 1
            factor = _frequencies(self.spec.to_json(), context).attention_factor
            window = {**window, "attention_factor": factor}
        cos, sin = tables(self.spec, positions, context=context, dtype=doubles)
        return (rotate(q, cos, sin, layout=layout, **window),
                rotate(k, cos, sin, layout=layout, **window))

    def extra_repr(self) -> str:
        return repr(self.spec)


def bias_table(bias: Bias, queries: int, keys: int, *, first_query: int = 0, first_key: int = 0,
               dtype: torch.dtype = torch.float32) -> Tensor:
    """[1, heads, queries, keys] to add to scores: attn_mask of scaled_dot_product_attention."""
    out = torch.empty((bias.heads, queries, keys), dtype=dtype)
    bias._core.fill(_arrays.torch_operand(out, "out", writes=True), first_query, first_key)
    return out[None]
