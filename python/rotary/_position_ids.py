# SPDX-License-Identifier: Apache-2.0
"""positions_of() makes position ids from masks or lengths; check_positions() judges ids."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from rotary import _arrays, _core
from rotary._checks import checked, whole
from rotary._errors import invalid


@dataclasses.dataclass(frozen=True)
class PositionFinding:
    """A mistake in one row of position ids. row, token: of the first wrong id.

    kind: "offset", "padding_counted", "no_restart", "restart", "gap", "repeat", "rounded" or
    "other".
    """

    kind: str
    row: int
    token: int
    sentence: str

    def __str__(self) -> str:
        return f"row {self.row}, token {self.token}: {self.sentence}"


@dataclasses.dataclass(frozen=True)
class PositionCheck:
    """The answer of check_positions(); print() shows it.

    sentence: describes the ids. findings: mistakes, at most one for each row and one for the dtype.
    judged: False for ids that differ between axes, as those of images do.
    """

    sentence: str
    findings: tuple[PositionFinding, ...]
    judged: bool = True

    @property
    def ok(self) -> bool:
        """Whether the ids were judged and are right."""
        return self.judged and not self.findings

    def __str__(self) -> str:
        return "\n".join((self.sentence, *(f"  {each}" for each in self.findings)))


def _numbers(x: Any, name: str) -> np.ndarray:
    is_array = hasattr(x, "__len__") or getattr(x, "ndim", 0) or _arrays.is_torch(x)
    found = np.asarray(_arrays.numbers(x, name) if is_array else whole(x, name), np.float64)
    if not np.all((np.abs(found) <= 2**40) & (found == np.round(found))):
        raise invalid(f"{name} must hold whole numbers within 2^40")
    return np.asarray(found, np.int64, order="C")


def _array(made: bytes) -> np.ndarray:
    return np.frombuffer(bytearray(made), np.int64)


def _mask(attention_mask: Any) -> np.ndarray:
    mask = _numbers(attention_mask, "attention_mask")
    if mask.ndim != 2 or not mask.size:
        raise invalid("attention_mask must be [batch, tokens] and have a token, "
                      f"got {list(mask.shape)}")
    return mask


def _lengths(cu_seqlens: Any, lengths: Any) -> np.ndarray:
    given, name, shape = ((lengths, "lengths", "[sequences]") if cu_seqlens is None
                          else (cu_seqlens, "cu_seqlens", "[sequences + 1]"))
    numbers = _numbers(given, name)
    if numbers.ndim != 1:
        raise invalid(f"{name} must be {shape}, got {list(numbers.shape)}")
    return numbers if cu_seqlens is None else _array(_core.sequence_lengths(numbers))


@checked
def positions_of(*, attention_mask: Any = None, cu_seqlens: Any = None, lengths: Any = None,
                 past: Any = 0) -> np.ndarray:
    """Makes the position ids of a batch, int64, from one of the first three arguments.

    >>> rotary.positions_of(lengths=[3, 2])
    array([0, 1, 2, 0, 1])
    >>> rotary.positions_of(lengths=[1, 1], past=[16, 9])  # a decode step
    array([16,  9])

    attention_mask: [batch, tokens], 1 for a real token and 0 for padding on either side. It
        includes the `past` cached tokens; the result, [batch, tokens - past], does not.
    cu_seqlens: [sequences + 1], 0 and then the end of each packed sequence. The result is [tokens].
    lengths: [sequences], the length of each packed sequence. The result is [tokens].
    past: how many tokens are cached: one number, or one for each packed sequence.
    """
    given = [name for name, value in (("attention_mask", attention_mask),
                                      ("cu_seqlens", cu_seqlens), ("lengths", lengths))
             if value is not None]
    if len(given) != 1:
        raise invalid("one of attention_mask, cu_seqlens and lengths must be "
                      f"given, got {', '.join(given) or 'none'}")
    cached = _numbers(past, "past").reshape(-1)
    if attention_mask is None:
        return _array(_core.packed_positions(_lengths(cu_seqlens, lengths), cached))
    if cached.size != 1:
        raise invalid(f"past must be one number beside attention_mask, got {cached.tolist()}")
    mask = _mask(attention_mask)
    return _array(_core.padded_positions(mask, cached.item())).reshape(len(mask), -1)


@checked
def check_positions(ids: Any, *, attention_mask: Any = None, cu_seqlens: Any = None,
                    lengths: Any = None, past: Any = None,
                    dtype: str | None = None) -> PositionCheck:
    """Describes position ids and finds their mistakes.

    >>> print(rotary.check_positions(ids, attention_mask=mask))

    ids: [tokens], [batch, tokens] or [axes, batch, tokens], of any dtype. Ids that differ between
        axes, as those of images do, are not judged.
    attention_mask, cu_seqlens, lengths, past: determine the right ids, as in positions_of().
        Without them, an id is right if it is 0 or one more than the id before it.
    dtype: the original dtype, if you converted the ids.
    """
    kind = dtype or str(getattr(ids, "dtype", "")).rpartition(".")[2]
    rows = _numbers(ids, "ids")
    if not 1 <= rows.ndim <= 3 or not rows.size:
        raise invalid("ids must be [tokens], [batch, tokens] or [axes, batch, "
                      f"tokens], and have a token, got {list(rows.shape)}")
    has_bounds = lengths is not None or cu_seqlens is not None
    sentence, findings, judged = _core.check_positions(
        rows.reshape((1, 1, *rows.shape)[-3:]),
        None if attention_mask is None else _mask(attention_mask),
        _lengths(cu_seqlens, lengths) if has_bounds else None,
        None if past is None else _numbers(past, "past"), kind)
    return PositionCheck(sentence, tuple(PositionFinding(*each) for each in findings), judged)
