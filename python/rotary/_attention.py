# SPDX-License-Identifier: Apache-2.0
"""attend, and relative biases."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from rotary import _arrays, _core, _html
from rotary._checks import checked, plain
from rotary._arrays import to_read
from rotary._caches import QuantizedHeads, cached
from rotary._errors import invalid
from rotary._parameters import Parameters
from rotary._specs import Frequencies, Rotations


class Bias:
    """A relative position bias, for attend() or as a table.

    >>> rotary.Bias("alibi", heads=32).table(4, 4).shape
    (32, 4, 4)

    name: one of names(). parameters: those of the encoding; docs/theory/relative.md lists them.
    """

    __slots__ = ("_core", "name", "parameters")

    @checked
    def __init__(self, name: str, **parameters: Any) -> None:
        given = {key: plain(value, key) for key, value in parameters.items()}
        self.name = name
        self.parameters = Parameters(given)
        self._core = _core.Bias.make(name, given)

    @staticmethod
    def names() -> list[str]:
        """The names that Bias takes."""
        return _core.bias_names()

    @property
    def heads(self) -> int:
        return self._core.heads()

    @checked
    def at(self, head: int, query: int, key: int) -> float:
        """The bias of one score, unrounded."""
        return self._core.at(head, query, key)

    @checked
    def table(self, queries: int, keys: int, *, first_query: int = 0, first_key: int = 0,
              dtype: Any = np.float32) -> np.ndarray:
        """[heads, queries, keys]: row r is the query at position first_query + r."""
        _arrays.check_extents((queries, keys), "queries and keys")
        out = np.empty((self.heads, queries, keys), _arrays.numpy_dtype(dtype))
        self._core.fill(_arrays.numpy_operand(out, "out"), first_query, first_key)
        return out

    def __repr__(self) -> str:
        inside = "".join(f", {key}={value!r}" for key, value in self.parameters.items())
        return f"Bias({self.name!r}{inside})"

    def _repr_html_(self) -> str:
        return _html.table(f"Bias {self.name}", [(k, str(v)) for k, v in self.parameters.items()])


@checked
@dataclasses.dataclass(frozen=True, kw_only=True)
class AttentionSequence:
    """Queries, and the keys that they may see.

    A sequence is a document of a packed batch, a row without its padding, or new tokens against a
    cache. Query r is token first_query + r of row `batch` of q; its position is query_position + r.
    Key c is token first_key + c of the same row of k; its position is key_position + c.
    """

    batch: int = 0
    first_query: int = 0
    queries: int
    first_key: int = 0
    keys: int
    query_position: int
    key_position: int = 0


@checked
def attend(q: Any, k: Any, v: Any, *, scale: float, layout: str, causal: bool,
           q_rotations: Rotations | None = None, k_rotations: Rotations | None = None,
           bias: Bias | None = None, mask: Any = None, left: int | None = None,
           right: int | None = None, sinks: int = 0, softcap: float | None = None,
           cached_keys: Frequencies | None = None,
           sequences: Sequence[AttentionSequence] | None = None, block_table: Any = None,
           out: Any = None,
           return_log_sum_exp: bool = False) -> Any:
    """Computes softmax(cap(scale * q k) + bias + mask) v, with the position encoding inside.

    >>> y = rotary.attend(q, k, v, scale=128**-0.5, layout="bhtd", causal=True,
    ...                   q_rotations=rows, k_rotations=rows)

    q, k, v: arrays; k and v may have fewer heads (grouped queries), or both be QuantizedHeads.
    layout: a letter for each axis, as rotate() takes it.
    q_rotations, k_rotations: rotate q and k first. Leave k_rotations out if the cache holds
        rotated keys.
    causal: no query sees later keys. The last query has the position of the last key.
    left, right: how many keys before and behind its own a query sees; a window of W tokens is
        left = W - 1. sinks: first keys that every query sees.
    mask: booleans, True where a query may see a key, or numbers to add; [batch, heads, queries,
        keys], where an axis may be 1.
    softcap: cap(x) = softcap * tanh(x / softcap).
    sequences: AttentionSequence, sorted by row, then by query; None: each row is one sequence.
    block_table: int32 [sequences, blocks], for k and v in pages: blocks in the place of the batch,
        slots in the place of the tokens.
    out: an array to write to. return_log_sum_exp: returns (y, log-sum-exp) instead of y.

    For inference: raises TypeError for a tensor that requires a gradient.
    """
    if isinstance(k, QuantizedHeads) != isinstance(v, QuantizedHeads):
        raise invalid("k and v must both be QuantizedHeads, or neither")
    sources = [to_read(q, "q"), cached(k, "k", to_read), cached(v, "v", to_read)]
    if out is None:
        out = _empty_result(q, v, layout)
    objects = {"q_rotations": q_rotations, "k_rotations": k_rotations, "bias": bias,
               "cached_keys": cached_keys}
    options = {"scale": scale, "causal": causal, "sinks": sinks, "softcap": softcap, "left": left,
               "right": right,
               **{name: value and value._core for name, value in objects.items()}}
    options = {name: value for name, value in options.items() if value is not None}
    if mask is not None:
        options["mask"] = _mask(mask)
    if sequences is not None:
        options["sequences"] = [dataclasses.astuple(each) for each in sequences]
    if block_table is not None:
        options["block_table"] = _table(block_table)
    lse = np.empty(_sizes(q, layout, "bht") + (1,), np.float32) if return_log_sum_exp else None
    _core.attend((_arrays.to_write(out, "out"), *sources), layout, options, lse)
    return out if lse is None else (out, lse)


def _table(blocks: Any) -> np.ndarray:
    array = _arrays.any_array(blocks.cpu() if _arrays.is_torch(blocks) else blocks, "block_table")
    if array.ndim != 2 or array.dtype.kind not in "iu":
        raise invalid("block_table must be integers [sequences, blocks], got "
                      f"{array.dtype} with {array.ndim} axes")
    if array.size and not 0 <= array.min() <= array.max() < 2**31:
        raise invalid("block_table must have numbers of blocks, 0 to 2^31 - 1")
    return np.ascontiguousarray(array, np.int32)


def _sizes(x: Any, layout: str, letters: str) -> tuple[int, ...]:
    if len(layout) != x.ndim:
        raise invalid(f"layout must name each of {x.ndim} axes once, got '{layout}'")
    return tuple(x.shape[layout.index(a)] if a in layout else 1 for a in letters)


def _empty_result(q: Any, v: Any, layout: str) -> Any:
    """An empty array like q, with the features of v."""
    features = _sizes(v.elements if isinstance(v, QuantizedHeads) else v, layout, "d")[0]
    shape = tuple(features if a == "d" else n for a, n in zip(layout, q.shape))
    if _arrays.is_torch(q):
        return q.new_empty(shape)
    if not isinstance(q, np.ndarray):
        raise TypeError("out must be given, or q an array of NumPy or torch; got "
                        f"{type(q).__name__}")
    return np.empty(shape, q.dtype)


def _mask(mask: Any) -> Any:
    array = _arrays.any_array(mask.detach().cpu() if _arrays.is_torch(mask) else mask, "mask")
    if array.ndim > 4:
        raise invalid(f"mask must have at most 4 axes, got {array.ndim}")
    array = array.reshape((1,) * (4 - array.ndim) + array.shape)
    return array if array.dtype == bool else _arrays.numpy_operand(array, "mask")
