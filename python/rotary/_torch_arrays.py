# SPDX-License-Identifier: Apache-2.0
"""Rotations.rotate for tensors: by their address where nothing else looks at them, by the operator
of rotary.torch where gradients, tracing or a transform do."""

import torch

from rotary import _arrays

_NUMBERS = {"forward": 1, "inverse": 2, "transpose": 3}


def _is_plain(x) -> bool:
    """Whether nothing but its memory matters."""
    if type(x) is not torch.Tensor and type(x) is not torch.nn.Parameter:
        return False  # FakeTensor, DTensor and others
    if x.requires_grad and torch.is_grad_enabled():
        return False
    if torch.compiler.is_compiling() or torch.autograd.forward_ad._current_level >= 0:
        return False
    return not torch._C._functorch.is_functorch_wrapped_tensor(x)


def _writable(out, sources):
    for x in out:
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"out must be tensors, as q and k are, got {type(x).__name__}")
        if not _is_plain(x):
            raise TypeError("a tensor that requires a gradient, or is traced, cannot be written in "
                            "place: its gradient would be lost. Leave out and inplace away")
    if not all(map(_is_plain, sources)):
        raise TypeError("q and k require gradients, or are traced, which writing into out would "
                        "lose: leave out and inplace away, or detach() them")


def rotate(rotations, q, k, layout, out, direction):
    sources = (q,) if k is None else (q, k)
    given = out is not None
    if given:
        out = (out,) if k is None else tuple(out)
        if len(out) != len(sources):
            raise TypeError("out must be a pair of tensors, for q and for k")
        _writable(out, sources)
    elif not all(map(_is_plain, sources)):
        from rotary import torch as operators

        results = tuple(operators.rotate_by(rotations, x, layout, direction) for x in sources)
        return results[0] if k is None else results
    else:
        out = tuple(torch.empty_like(x, requires_grad=False) for x in sources)
    number = _NUMBERS[direction]
    reads = [_arrays.torch_operand(x, name) for x, name in zip(sources, "qk")]
    writes = [read if o is x else _arrays.torch_operand(o, "out", writes=True)
              for o, x, read in zip(out, sources, reads)]
    if given:
        for o, x in zip(out, sources):
            if o is x and x.is_neg():
                raise TypeError("a negated view cannot be rotated in place: resolve_neg() first")
    if k is None:
        rotations._core.rotate(writes[0], reads[0], layout, number)
        return out[0]
    rotations._core.rotate_both(tuple(writes), tuple(reads), layout, number)
    return out
