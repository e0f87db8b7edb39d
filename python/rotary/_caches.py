# SPDX-License-Identifier: Apache-2.0
"""append and shift: keys of a KV cache, stored rotated and turned on."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from rotary import _arrays, _core
from rotary._errors import Error
from rotary._frequencies import Frequencies, Rotations, _target

_OVER = {"each_head": 1, "all_heads": 2}
_ORDER = {"before_rotation": 1, "after_rotation": 2}


@dataclasses.dataclass(frozen=True, kw_only=True)
class KeyNorm:
    """The RMS norm of keys: x / sqrt(mean(x²) + epsilon) · (weight_offset + weight).

    over: "each_head" (Qwen3, Gemma 3) or "all_heads" (OLMo 2). order: "before_rotation" or
    "after_rotation" (Llama 4). weight_offset: 1 for Gemma.
    """

    epsilon: float
    over: str
    order: str
    weight: np.ndarray | None = None
    weight_offset: float = 0.0

    def _parts(self) -> tuple:
        for name, names in (("over", _OVER), ("order", _ORDER)):
            if getattr(self, name) not in names:
                raise Error("invalid_argument", f"{name} must be one of {', '.join(names)}, got "
                            f"'{getattr(self, name)}'")
        weight = self.weight
        if weight is not None:
            weight = np.ascontiguousarray(weight, np.float32)
        return (weight, float(self.weight_offset), float(self.epsilon), _OVER[self.over],
                _ORDER[self.order])


def _read(x: Any, what: str) -> Any:
    if _arrays.is_torch(x):
        if x.requires_grad:
            raise TypeError(f"{what} requires a gradient, which a cache would lose: detach() it")
        return _arrays.torch_operand(x, what)
    if isinstance(x, np.ndarray):
        return _arrays.numpy_operand(x, what)
    return _arrays.numpy_operand(_arrays.as_numpy(x, what), what)


def append(k_cache: Any, k: Any, *, slots: Any, layout: str, rotations: Rotations | None,
           v_cache: Any = None, v: Any = None, norm: KeyNorm | None = None) -> None:
    """Stores a step's keys, rotated, and its values in a cache, in one pass.

    k_cache: as k with blocks for the batch and slots for the tokens. slots: the first slot, an
    int, for consecutive ones in the block of each batch row; or a slot map [tokens] or
    [batch, tokens], number s being slot s % slots of block s // slots, and negative ones not
    stored. rotations: None stores k as it is. From float32 to bfloat16 or float16 is rounded once.
    """
    if (v is None) != (v_cache is None):
        raise Error("invalid_argument", "v and v_cache must both be given, or neither")
    caches = (_target(k_cache, "k_cache"), None if v is None else _target(v_cache, "v_cache"))
    heads = (_read(k, "k"), None if v is None else _read(v, "v"))
    where = (slots, 0) if isinstance(slots, (int, np.integer)) else _arrays.positions_array(slots)
    _core.append(caches, heads, layout, (where, None if norm is None else norm._parts()),
                 None if rotations is None else rotations._core)


def shift(keys: Any, *, layout: str, before: Frequencies, positions: Any,
          after: Frequencies | None = None, new_positions: Any) -> Any:
    """Turns cached keys, in place, from where they stand to new positions, or to other
    frequencies, without their unrotated values; returns them.

    One shift rounds once more: shift once by the whole distance where you can.
    """
    after = before if after is None else after
    _core.shift(_target(keys, "keys"), layout,
                (before._core, _arrays.token_numbers(positions)),
                (after._core, _arrays.token_numbers(new_positions)))
    return keys
