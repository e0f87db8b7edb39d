# SPDX-License-Identifier: Apache-2.0
"""Rotates torch tensors by their addresses. With gradients, tracing or transforms, rotates them by
an operator of torch."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import peek_interpreter_stack
from torch.autograd import forward_ad

from rotary import _core, _cuda
from rotary._arrays import DIRECTIONS, pair_of, torch_operand
from rotary._checks import checked, chosen, shown
from rotary._errors import Error, invalid

_TYPES = (torch.Tensor, torch.nn.Parameter)
_grads = torch.is_grad_enabled

_BACKWARD = {"forward": "transpose", "transpose": "forward", "inverse": "forward"}


def checked_call(target: Any) -> Any:
    """Applies checked(), except while a compiler traces: the operators' schemas then check."""
    check = checked(target)

    @functools.wraps(target)
    def call(*given: Any, **named: Any) -> Any:
        return (target if torch.compiler.is_compiling() else check)(*given, **named)

    return call


def _is_traced() -> bool:
    """Whether a compiler, forward-mode gradients or a torch.func transform is active."""
    return (torch.compiler.is_compiling() or forward_ad._current_level >= 0
            or peek_interpreter_stack() is not None)


def _is_plain(x) -> bool:
    """Whether x is plain memory: no FakeTensor or DTensor, and no gradient is wanted."""
    return type(x) in _TYPES and not (x.requires_grad and _grads())


def _check_writable(out, sources):
    for x in out:
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"out must be tensors, as q and k are, got {type(x).__name__}")
        if not _is_plain(x):
            raise TypeError("a tensor that requires a gradient, or is traced, cannot be written in "
                            "place: its gradient would be lost. Leave out and inplace away")
    if _is_traced() or not all(map(_is_plain, sources)):
        raise TypeError("q and k require gradients, or are traced, which writing into out would "
                        "lose: leave out and inplace away, or detach() them")


def _check_layout(x: Tensor, layout: str) -> int:
    """Returns head_dim."""
    if len(layout) != x.ndim or "d" not in layout:
        raise invalid(f"layout must name each of {x.ndim} axes of x once, with d, got '{layout}'")
    return x.shape[layout.index("d")]


# window: (first_feature, blocks). head_dim and rotary_dim follow from x and cos.
@torch.library.custom_op("rotary::rotate", mutates_args=(), device_types="cpu")
def _rotate(x: Tensor, cos: Tensor, sin: Tensor, pairing: str, layout: str, window: list[int],
            attention_factor: float, direction: str) -> Tensor:
    head_dim = _check_layout(x, layout)
    made = _core.window(head_dim, 2 * cos.shape[-1], window[0], pairing, window[1])
    rows = _core.Rotations.of_rows(made, torch_operand(cos.contiguous(), "cos"),
                                   torch_operand(sin.contiguous(), "sin"), attention_factor)
    out = torch.empty_like(x)
    rows.rotate(torch_operand(out, "out", writes=True), torch_operand(x, "x"), layout,
                DIRECTIONS[direction])
    return out


@_rotate.register_kernel("cuda")
def _(x, cos, sin, pairing, layout, window, attention_factor, direction):
    within = _cuda.window(_check_layout(x, layout), 2 * cos.shape[-1], window[0], pairing,
                          window[1])
    out = torch.empty_like(x)
    _cuda.rotate_by_rows(out, x, layout, cos, sin, within, attention_factor, DIRECTIONS[direction])
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
    if direction == "inverse":  # inverse: R^T / A, whose transpose is R / A
        made = made / factor**2
    return (made,) + (None,) * 7


_rotate.register_autograd(_backward_rotate, setup_context=_setup_rotate)


@_rotate.register_vmap
def _(info, in_dims, x, cos, sin, pairing, layout, window, attention_factor, direction):
    """Folds the mapped axis into the batch."""
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
        raise invalid("cos and sin must not require a gradient, which this "
                      "operator does not compute: detach() them")
    if cos.ndim == 2:
        cos, sin = cos[None], sin[None]
    if cos.ndim != 3 or cos.shape != sin.shape or cos.dtype != sin.dtype:
        raise invalid("cos and sin must be [tokens, pairs] or [batch, tokens, "
                      f"pairs] of one dtype, got {list(cos.shape)} and {list(sin.shape)}")
    return cos, sin


@checked_call
def rotate(x: Tensor, cos: Tensor, sin: Tensor, *, pairing: str, layout: str,
           first_feature: int = 0, blocks: int = 1, attention_factor: float = 1.0,
           direction: str = "forward") -> Tensor:
    """Returns x rotated by cos and sin of tables(), [tokens, pairs] or [batch, tokens, pairs].

    pairing, blocks: as in RotarySpec. layout, direction: as in rotary.Frequencies.rotate(). Only
    features [first_feature, first_feature + 2 pairs) rotate. attention_factor: the factor that cos
    and sin include. x may require a gradient; cos and sin must not.
    """
    cos, sin = _check_rows(cos, sin)
    chosen(DIRECTIONS, direction, "direction")

    def turn(x):
        return _rotate(x, cos, sin, str(getattr(pairing, "value", pairing)), layout,
                       [first_feature, blocks], attention_factor, direction)

    if forward_ad._current_level >= 0:
        # The operator would drop the tangent. The map is linear, so rotate the tangent as well.
        x, tangent = forward_ad.unpack_dual(x)
        if tangent is not None:
            return forward_ad.make_dual(turn(x), turn(tangent))
    return turn(x)


@checked_call
def rotate_by(rotations: Any, x: Tensor, layout: str, direction: str = "forward") -> Tensor:
    """Rotates x with Rotations by the operator, for gradients and transforms."""
    if not isinstance(getattr(rotations, "_core", None), _core.Rotations):
        raise TypeError(f"rotations must be of Rotations, got {shown(rotations)}")
    facts = rotations.facts
    if facts["numerics"] != "exact":
        raise Error("unsupported", f"gradients are for numerics exact, got {facts['numerics']}")
    dtype = "float64" if facts["rows"] == "f64" else "float32"
    cos, sin = (torch.from_numpy(row) for row in rotations.tables(form="pairs", dtype=dtype))
    return rotate(x, cos, sin, pairing=facts["pairing"], layout=layout,
                  first_feature=facts["first_feature"], blocks=facts["blocks"],
                  attention_factor=facts["attention_factor"], direction=direction)


def rotate_tensors(rotations, q, k, layout, out, direction):
    """Rotations.rotate for tensors."""
    sources = (q,) if k is None else (q, k)
    if out is None:
        if not (_is_plain(q) and (k is None or _is_plain(k))) or _is_traced():
            results = tuple(rotate_by(rotations, x, layout, direction) for x in sources)
            return results[0] if k is None else results
        reads = [torch_operand(x, "q or k") for x in sources]
        out = tuple([torch.empty_like(x) for x in sources])
        # The tuples of torch_operand(), without its checks: these tensors are new.
        writes = [(x.data_ptr(), read[1], read[2], x.stride(), x) for x, read in zip(out, reads)]
    else:
        out = (out,) if k is None else pair_of(out)
        _check_writable(out, sources)
        writes = [torch_operand(x, "out", writes=True) for x in out]
        reads = [write if x is o else torch_operand(x, "q or k")
                 for x, o, write in zip(sources, out, writes)]
    if k is None:
        rotations._core.rotate(writes[0], reads[0], layout, DIRECTIONS[direction])
        return out[0]
    rotations._core.rotate_both((writes[0], writes[1]), (reads[0], reads[1]), layout,
                                DIRECTIONS[direction])
    return out
