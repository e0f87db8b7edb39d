# SPDX-License-Identifier: Apache-2.0
"""append() stores rotated keys and values in a KV cache; shift() moves stored keys."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from rotary import _arrays, _core
from rotary._arrays import to_read, to_write
from rotary._checks import checked, chosen, whole
from rotary._errors import invalid
from rotary._specs import Frequencies, Rotations

_OVER = {"each_head": 1, "all_heads": 2}
_ORDER = {"before_rotation": 1, "after_rotation": 2}


@checked
@dataclasses.dataclass(frozen=True, kw_only=True)
class KeyNorm:
    """The RMS norm of keys: x / sqrt(mean(x²) + epsilon) · (weight_offset + weight).

    over: the mean of "each_head" (Qwen3, Gemma 3) or "all_heads" (OLMo 2). order: "before_rotation"
    or "after_rotation" (Llama 4). weight: None means 1. weight_offset: 1 for Gemma.
    """

    epsilon: float
    over: str
    order: str
    weight: Any = None
    weight_offset: float = 0.0

    def _parts(self) -> tuple:
        over, order = chosen(_OVER, self.over, "over"), chosen(_ORDER, self.order, "order")
        weight = self.weight
        if weight is not None:
            weight = np.ascontiguousarray(_arrays.numbers(weight, "weight"), np.float32)
        return (weight, self.weight_offset, self.epsilon, over, order)


@dataclasses.dataclass(frozen=True)
class QuantizedHeads:
    """Keys or values in 8 bits: each number is scale * element.

    elements: int8, with the axes of k or v. scales: float32, one for each token and head, on the
    axes of elements without the features. append(), attend() and shift() accept it as a cache.
    """

    elements: Any
    scales: Any

    @classmethod
    @checked
    def zeros(cls, shape: tuple[int, ...], *, layout: str) -> QuantizedHeads:
        """Makes a cache of zeros, as NumPy arrays. shape: of the elements."""
        heads = _without_features(shape, layout)
        _arrays.check_extents(shape, "shape")
        return cls(np.zeros(shape, np.int8), np.zeros(heads, np.float32))

    @checked
    def dequantized(self, *, layout: str) -> Any:
        """Returns scale * element as float32."""
        cached(self, "self", to_read)
        if tuple(self.scales.shape) != _without_features(tuple(self.elements.shape), layout):
            raise invalid("scales must have the axes of elements but the "
                          f"features, got {list(self.scales.shape)}")
        scales = self.scales[..., None]
        axis = layout.index("d")
        order = list(range(axis)) + [scales.ndim - 1] + list(range(axis, scales.ndim - 1))
        if _arrays.is_torch(scales):
            return scales.permute(order) * self.elements
        return scales.transpose(order) * self.elements


def _without_features(shape: tuple[int, ...], layout: str) -> tuple[int, ...]:
    if len(layout) != len(shape) or "d" not in layout:
        raise invalid(f"layout must name each of {len(shape)} axes once, "
                      f"the features by 'd', got '{layout}'")
    return tuple(n for n, axis in zip(shape, layout) if axis != "d")


def cached(x: Any, what: str, operand: Any) -> Any:
    """Returns the operand of an array, or two of QuantizedHeads. operand: to_read or to_write."""
    if not isinstance(x, QuantizedHeads):
        return operand(x, what)
    return (_arrays.int8_operand(x.elements, f"{what}.elements", writes=operand is to_write),
            operand(x.scales, f"{what}.scales"))


@checked
def append(k_cache: Any, k: Any, *, slots: Any, layout: str, rotations: Rotations | None,
           v_cache: Any = None, v: Any = None, norm: KeyNorm | None = None) -> None:
    """Rotates new keys and stores them in a KV cache, together with their values, in one pass.

    >>> rotary.append(k_cache, k, slots=0, layout="bhtd", rotations=f.rotations(range(16)),
    ...               v_cache=v_cache, v=v)

    k_cache, v_cache: arrays or QuantizedHeads with the layout of k and v. The batch axis counts
        blocks, the token axis the slots of a block. Each number is rounded once.
    slots: an int n stores the tokens of each batch row in slots n, n + 1, … of its block. A slot
        map, integers [tokens] or [batch, tokens], gives the slot of each token: with S slots in a
        block, number s is slot s % S of block s // S. A negative number stores nothing.
    rotations: cos and sin for the tokens of k; None stores k unrotated.
    norm: the RMS norm of k (QK-norm), before or after the rotation.

    If it raises rotary.Error, nothing was written.
    """
    if (v is None) != (v_cache is None):
        raise invalid("v and v_cache must both be given, or neither")
    if len({isinstance(x, QuantizedHeads) for x in (k_cache, v_cache) if x is not None}) > 1:
        raise invalid("k_cache and v_cache must both be QuantizedHeads, or neither")
    caches = tuple(None if x is None else cached(x, what, to_write)
                   for x, what in ((k_cache, "k_cache"), (v_cache, "v_cache")))
    heads = (to_read(k, "k"), None if v is None else to_read(v, "v"))
    where = ((whole(slots, "slots"), 0) if isinstance(slots, (int, np.integer)) else
             _arrays.positions_array(slots, "slots"))
    _core.append(caches, heads, layout, (where, None if norm is None else norm._parts()),
                 None if rotations is None else rotations._core)


@checked
def shift(keys: Any, *, layout: str, before: Frequencies, positions: Any,
          after: Frequencies | None = None, new_positions: Any) -> Any:
    """Moves cached keys to new positions or other frequencies, in place, and returns them.

    >>> rotary.shift(keys, layout="bhtd", before=f, positions=range(512, 1024),
    ...              new_positions=range(0, 512))

    keys: an array or QuantizedHeads, rotated by `before` at `positions`.
    after: the new frequencies; None: `before`.

    Every shift rounds the keys again, so shift once by the full distance.
    """
    after = before if after is None else after
    _core.shift(cached(keys, "keys", to_write), layout,
                (before._core, _arrays.token_numbers(positions, "positions")),
                (after._core, _arrays.token_numbers(new_positions, "new_positions")))
    return keys
