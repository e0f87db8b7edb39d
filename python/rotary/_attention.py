# SPDX-License-Identifier: Apache-2.0
"""attend() and Bias: attention, and relative biases of its scores."""

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
    """A relative position bias of scores, for attend() or as a table.

    >>> rotary.Bias("alibi", heads=32).table(4, 4).shape
    (32, 4, 4)

    name: one of Bias.names(). parameters: those of that bias, which docs/theory/relative.md lists.
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
        """Returns every name that Bias accepts."""
        return _core.bias_names()

    @property
    def heads(self) -> int:
        """The number of query heads."""
        return self._core.heads()

    @checked
    def at(self, head: int, query: int, key: int) -> float:
        """Returns the bias of one score, as a double. query, key: positions."""
        return self._core.at(head, query, key)

    @checked
    def table(self, queries: int, keys: int, *, first_query: int = 0, first_key: int = 0,
              dtype: Any = np.float32) -> np.ndarray:
        """Returns the bias of each score, [heads, queries, keys].

        Row r is the query at position first_query + r, column c the key at first_key + c.
        """
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
    """Queries of attend(), and the keys that they may see.

    A sequence is a document of a packed batch, a padded row without its padding, or new tokens and
    their cache. Query r is token first_query + r of batch row `batch` of q, at position
    query_position + r. Key c is token first_key + c of the same batch row of k, at position
    key_position + c.
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
    """Computes attention, softmax(cap(scale * q k) + bias + mask) v, and can rotate q and k first.

    >>> y = rotary.attend(q, k, v, scale=128**-0.5, layout="bhtd", causal=True,
    ...                   q_rotations=rows, k_rotations=rows)

    q, k, v: arrays. k and v may have fewer heads than q (grouped queries), or both be
        QuantizedHeads.
    scale: multiplies the scores; head_dim**-0.5 in most models.
    layout: a letter for each axis, as in rotate().
    causal: True hides later keys from a query. The last query has the position of the last key.
    q_rotations, k_rotations: rotate q and k. Omit k_rotations if the cache holds rotated keys.
    bias: a Bias to add to the scores.
    mask: [batch, heads, queries, keys], where an axis may be 1: booleans, True where a query may
        see a key, or numbers to add to the scores.
    left, right: a query at position i sees keys from i - left to i + right; None: no limit. A
        sliding window of W tokens is left = W - 1.
    sinks: how many first keys every query sees, also outside left and right.
    softcap: cap(x) = softcap * tanh(x / softcap); None: cap(x) = x.
    cached_keys: the Frequencies that rotated the cached keys. Needed if q_rotations depend on the
        context (dynamic, longrope).
    sequences: AttentionSequence, sorted by batch row, then query. None: one for each batch row.
    block_table: integers [sequences, blocks], the blocks of each sequence in a paged cache. k and v
        then have blocks as their batch axis, and the slots of a block as their token axis.
    out: an array for the result.
    return_log_sum_exp: True returns (y, log-sum-exp [batch, heads, queries, 1]).

    Raises TypeError for a tensor that requires a gradient: attend() is for inference only.
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
    """Returns an empty array like q, with as many features as v."""
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
