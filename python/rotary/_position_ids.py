# SPDX-License-Identifier: Apache-2.0
"""Position ids of batches: made from what says where sequences begin, and judged."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from rotary import _arrays, _core
from rotary._checks import checked, whole
from rotary._errors import Error


@dataclasses.dataclass(frozen=True)
class PositionFinding:
    """kind: "offset", "padding_counted", "no_restart", "restart", "gap", "repeat", "rounded" or
    "other". row, token: the first wrong one."""

    kind: str
    row: int
    token: int
    sentence: str

    def __str__(self) -> str:
        return f"row {self.row}, token {self.token}: {self.sentence}"


@dataclasses.dataclass(frozen=True)
class PositionCheck:
    """What ids are: sentence says it; findings: what is wrong, at most one in each row. judged:
    False of ids that differ between axes, which an image or a video has."""

    sentence: str
    findings: tuple[PositionFinding, ...]
    judged: bool = True

    @property
    def ok(self) -> bool:
        return self.judged and not self.findings

    def __str__(self) -> str:
        return "\n".join((self.sentence, *(f"  {each}" for each in self.findings)))


def _numbers(x: Any, name: str) -> np.ndarray:
    is_array = hasattr(x, "__len__") or getattr(x, "ndim", 0) or _arrays.is_torch(x)
    found = np.asarray(_arrays.numbers(x, name) if is_array else whole(x, name), np.float64)
    if not np.all((np.abs(found) <= 2**40) & (found == np.round(found))):
        raise Error("invalid_argument", f"{name} must hold whole numbers within 2^40")
    return np.asarray(found, np.int64, order="C")


def _array(made: bytes) -> np.ndarray:
    return np.frombuffer(bytearray(made), np.int64)


def _mask(attention_mask: Any) -> np.ndarray:
    mask = _numbers(attention_mask, "attention_mask")
    if mask.ndim != 2 or not mask.size:
        raise Error("invalid_argument", "attention_mask must be [batch, tokens] and have a token, "
                    f"got {list(mask.shape)}")
    return mask


def _lengths(cu_seqlens: Any, lengths: Any) -> np.ndarray:
    given, name, shape = ((lengths, "lengths", "[sequences]") if cu_seqlens is None
                          else (cu_seqlens, "cu_seqlens", "[sequences + 1]"))
    numbers = _numbers(given, name)
    if numbers.ndim != 1:
        raise Error("invalid_argument", f"{name} must be {shape}, got {list(numbers.shape)}")
    return numbers if cu_seqlens is None else _array(_core.sequence_lengths(numbers))


@checked
def positions_of(*, attention_mask: Any = None, cu_seqlens: Any = None, lengths: Any = None,
                 past: Any = 0) -> np.ndarray:
    """Ids of a batch, int64, from one of three things that say where sequences begin.

    attention_mask: [batch, tokens], 1 where a token is real; padding on either side has 0. It
    covers cached tokens, too: the result is then of the last ones, if past says how many are
    cached. cu_seqlens: [sequences + 1], of packed sequences; lengths: the same as their lengths;
    both give [tokens]. past: how many tokens are cached, for all or for each sequence, so that
    lengths=[1, 1], past=[16, 9] is a decode step and lengths=[8], past=16 a chunk of a prompt.

    >>> rotary.positions_of(lengths=[3, 2])
    array([0, 1, 2, 0, 1])
    """
    given = [name for name, value in (("attention_mask", attention_mask),
                                      ("cu_seqlens", cu_seqlens), ("lengths", lengths))
             if value is not None]
    if len(given) != 1:
        raise Error("invalid_argument", "one of attention_mask, cu_seqlens and lengths must be "
                    f"given, got {', '.join(given) or 'none'}")
    cached = _numbers(past, "past").reshape(-1)
    if attention_mask is None:
        return _array(_core.packed_positions(_lengths(cu_seqlens, lengths), cached))
    if cached.size != 1:
        raise Error("invalid_argument", "past must be one number beside attention_mask, got "
                    f"{cached.tolist()}")
    mask = _mask(attention_mask)
    return _array(_core.padded_positions(mask, cached.item())).reshape(len(mask), -1)


@checked
def check_positions(ids: Any, *, attention_mask: Any = None, cu_seqlens: Any = None,
                    lengths: Any = None, past: Any = None,
                    dtype: str | None = None) -> PositionCheck:
    """Says what position ids are, and what is wrong with them.

    ids: [tokens], [batch, tokens] or [axes, batch, tokens], of any dtype. attention_mask,
    cu_seqlens, lengths and past, as in positions_of(), say what they must be. Without them, runs
    that rise by 1 are right, also packed ones, which begin at 0 again. Ids that differ
    between axes, as those of images do, are not judged. dtype: what they were, if they were
    converted.
    """
    kind = dtype or str(getattr(ids, "dtype", "")).rpartition(".")[2]
    rows = _numbers(ids, "ids")
    if not 1 <= rows.ndim <= 3 or not rows.size:
        raise Error("invalid_argument", "ids must be [tokens], [batch, tokens] or [axes, batch, "
                    f"tokens], and have a token, got {list(rows.shape)}")
    has_bounds = lengths is not None or cu_seqlens is not None
    sentence, findings, judged = _core.check_positions(
        rows.reshape((1, 1, *rows.shape)[-3:]),
        None if attention_mask is None else _mask(attention_mask),
        _lengths(cu_seqlens, lengths) if has_bounds else None,
        None if past is None else _numbers(past, "past"), kind)
    return PositionCheck(sentence, tuple(PositionFinding(*each) for each in findings), judged)
