# SPDX-License-Identifier: Apache-2.0
"""Rotations.rotate for tensors: by their address where nothing else looks at them, by the operator
of rotary.torch where gradients, tracing or a transform do."""

import torch
from torch._C._functorch import peek_interpreter_stack
from torch.autograd import forward_ad

from rotary._arrays import torch_operand

_NUMBERS = {"forward": 1, "inverse": 2, "transpose": 3}
_TYPES = (torch.Tensor, torch.nn.Parameter)
_grads = torch.is_grad_enabled


def _is_traced() -> bool:
    """Whether a compiler, forward-mode gradients or a transform of torch.func look on."""
    return (torch.compiler.is_compiling() or forward_ad._current_level >= 0
            or peek_interpreter_stack() is not None)


def _is_plain(x) -> bool:
    """Whether nothing but its memory matters: no FakeTensor, no DTensor, no gradient."""
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


def _rotate_operator(rotations, sources, layout, direction):
    from rotary import torch as operators

    results = tuple(operators.rotate_by(rotations, x, layout, direction) for x in sources)
    return results[0] if len(results) == 1 else results


def rotate(rotations, q, k, layout, out, direction):
    sources = (q,) if k is None else (q, k)
    if out is None:
        if not (_is_plain(q) and (k is None or _is_plain(k))) or _is_traced():
            return _rotate_operator(rotations, sources, layout, direction)
        reads = [torch_operand(x, "q or k") for x in sources]
        out = tuple([torch.empty_like(x) for x in sources])
        # As torch_operand() gives them, without its checks of what was just made.
        writes = [(x.data_ptr(), read[1], read[2], x.stride(), x) for x, read in zip(out, reads)]
    else:
        out = (out,) if k is None else tuple(out)
        if len(out) != len(sources):
            raise TypeError("out must be a pair of tensors, for q and for k")
        _check_writable(out, sources)
        writes = [torch_operand(x, "out", writes=True) for x in out]
        reads = [write if x is o else torch_operand(x, "q or k")
                 for x, o, write in zip(sources, out, writes)]
    if k is None:
        rotations._core.rotate(writes[0], reads[0], layout, _NUMBERS[direction])
        return out[0]
    rotations._core.rotate_both((writes[0], writes[1]), (reads[0], reads[1]), layout,
                                _NUMBERS[direction])
    return out
