# SPDX-License-Identifier: Apache-2.0
"""Rotations.rotate for each framework's arrays."""

import functools

import numpy as np

from rotary import _arrays
from rotary._arrays import numpy_operand, pair_of, to_write


def rotate_numpy(core, q, k, layout, out, number):
    source = numpy_operand(q, "q")
    if k is None:
        if out is None:
            out = np.empty_like(q)
        core.rotate(source if out is q else to_write(out, "out"), source, layout, number)
        return out
    k_source = numpy_operand(k, "k")
    if out is None:
        out = np.empty_like(q), np.empty_like(k)
        targets = out if source is q and k_source is k else tuple(map(numpy_operand, out, "qk"))
    else:
        q_out, k_out = pair_of(out)
        targets = (source if q_out is q else to_write(q_out, "out[0]"),
                   k_source if k_out is k else to_write(k_out, "out[1]"))
    core.rotate_both(targets, (source, k_source), layout, number)
    return out


@functools.cache
def _of_torch():
    from rotary import _torch_operator

    return _torch_operator


def rotate_other(rotations, q, k, layout, out, direction):
    """Rotates anything but plain NumPy arrays."""
    if _arrays.is_torch(q) and (k is None or _arrays.is_torch(k)):
        return _of_torch().rotate_tensors(rotations, q, k, layout, out, direction)
    frameworks = {_arrays.framework_of(x) for x in ((q,) if k is None else (q, k))}
    if len(frameworks) > 1:
        raise TypeError(f"q and k must be of one framework, got {' and '.join(sorted(frameworks))}")
    number = _arrays.DIRECTIONS[direction]
    if frameworks == {"numpy"}:  # a subclass of ndarray
        return rotate_numpy(rotations._core, q, k, layout, out, number)
    for target in () if out is None else (out,) if k is None else pair_of(out):
        to_write(target, "out")
    sources = _arrays.as_numpy(q, "q"), None if k is None else _arrays.as_numpy(k, "k")
    results = rotate_numpy(rotations._core, *sources, layout, out, number)
    if out is not None:
        return results
    if k is None:
        return _arrays.as_framework(results, q)
    return tuple(_arrays.as_framework(result, q) for result in results)
