# SPDX-License-Identifier: Apache-2.0
"""Position ids of batches: made from what says where sequences begin, and judged."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from rotary import _arrays
from rotary._checks import checked, whole
from rotary._errors import Error

_NARROW = {"bfloat16": 256, "float16": 2048}  # the first position that has no neighbour


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


_MOST = 2**40  # no model counts further, and sums of lengths stay exact


def _numbers(x: Any, name: str, least: int = -_MOST) -> np.ndarray:
    is_array = hasattr(x, "__len__") or getattr(x, "ndim", 0) or _arrays.is_torch(x)
    found = np.asarray(_arrays.numbers(x, name) if is_array else whole(x, name), np.float64)
    if not np.all((found >= least) & (found < _MOST)) or np.any(found != np.round(found)):
        raise Error("invalid_argument", f"{name} must hold whole numbers "
                    + (">= 0" if least == 0 else "within 2^40"))
    return found.astype(np.int64)


def _lengths(cu_seqlens: Any) -> np.ndarray:
    bounds = _numbers(cu_seqlens, "cu_seqlens").ravel()
    if bounds.size < 2 or bounds[0] != 0 or np.any(np.diff(bounds) < 0):
        raise Error("invalid_argument", "cu_seqlens must rise from 0 and have two entries at "
                    f"least, got {bounds[:4].tolist()}")
    return np.diff(bounds)


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
    cached = _numbers(past, "past", 0)
    if attention_mask is not None:
        mask = _numbers(attention_mask, "attention_mask")
        if mask.ndim != 2 or cached.size != 1 or not 0 <= int(cached.max()) <= mask.shape[1]:
            raise Error("invalid_argument", "attention_mask must be [batch, tokens] and cover the "
                        f"cached tokens, got {mask.shape} and past {cached.tolist()}")
        ids = np.where(mask != 0, np.cumsum(mask != 0, axis=1) - 1, 0)
        return ids[:, int(cached.max()):]
    sizes = _lengths(cu_seqlens) if lengths is None else _numbers(lengths, "lengths", 0)
    if sizes.ndim != 1 or cached.size not in (1, sizes.size):
        raise Error("invalid_argument", "lengths must be [sequences], and past one number or one "
                    f"for each of them, got {list(sizes.shape)} and {list(cached.shape)}")
    if sizes.sum() > 2**31:
        raise Error("invalid_argument", "lengths must sum to at most 2^31 tokens, got "
                    f"{sizes.sum()}")
    starts = np.broadcast_to(cached.ravel(), sizes.shape)
    return np.concatenate([np.arange(size) + start for size, start in zip(sizes, starts)]
                          or [np.empty(0, np.int64)])


def _against(row: int, seen: np.ndarray, wanted: np.ndarray,
             real: np.ndarray) -> PositionFinding | None:
    """A row beside what it must be, at its real tokens."""
    apart = np.where(real, seen - wanted, 0)
    if not np.any(apart):
        return None
    token = int(np.argmax(apart != 0))
    off = np.unique(apart[real])
    where = f"{seen[token]}, where it must be {wanted[token]}"
    if not np.all(real) and np.array_equal(seen[real], np.arange(seen.size)[real] + (
            seen[0] if real[0] else 0)):
        return PositionFinding("padding_counted", row, token,
                               f"{where}: padding on the left is counted")
    if off.size == 1:
        return PositionFinding("offset", row, token, f"{where}: all are off by {off[0]:+d}")
    if token and wanted[token] < wanted[token - 1] and seen[token] == seen[token - 1] + 1:
        return PositionFinding("no_restart", row, token,
                               f"{where}: a sequence begins, and positions go on")
    return PositionFinding("other", row, token, where)


def _alone(row: int, seen: np.ndarray) -> PositionFinding | None:
    """A row of which nothing else is known: runs that rise by 1 and begin at 0 are packed."""
    steps = np.diff(seen)
    wrong = np.flatnonzero((steps != 1) & (seen[1:] != 0))
    if wrong.size == 0:
        return None
    token = int(wrong[0]) + 1
    step = int(steps[wrong[0]])
    kind = "repeat" if step == 0 else "gap" if step > 0 else "restart"
    return PositionFinding(kind, row, token, f"{seen[token]} follows {seen[token - 1]}: "
                           + {"repeat": "a position is repeated", "gap": "positions are left out",
                              "restart": "positions restart, not at 0"}[kind])


def _described(rows: list[np.ndarray]) -> str:
    """Of the real tokens of each row."""
    starts = [np.flatnonzero(np.append(True, np.diff(row) != 1)) for row in rows]
    if all(each.size == 1 for each in starts):
        first = ", ".join(str(row[0]) for row in rows[:4] if row.size)
        most = max(row.size for row in rows)
        return f"{most} consecutive positions a row, from {first}{', ...' * (len(rows) > 4)}"
    row = next(i for i, each in enumerate(starts) if each.size > 1)
    sizes = np.diff(np.append(starts[row], rows[row].size))
    shown = ", ".join(map(str, sizes[:6])) + (", ..." if sizes.size > 6 else "")
    return f"row {row} has {sizes.size} runs of {shown} tokens"


@checked
def check_positions(ids: Any, *, attention_mask: Any = None, cu_seqlens: Any = None,
                    past: Any = None, dtype: str | None = None) -> PositionCheck:
    """Says what position ids are, and what is wrong with them.

    ids: [tokens], [batch, tokens] or [axes, batch, tokens], of any dtype. attention_mask,
    cu_seqlens and past, as in positions_of(), say what they must be. Without them, runs that rise
    by 1 are right, also packed ones, which begin at 0 again. Ids that
    differ between axes, as those of images do, are not judged. dtype: what they were, if they were
    converted.
    """
    kind = dtype or str(getattr(ids, "dtype", "")).rpartition(".")[2]
    rows = _numbers(ids, "ids")
    if not 1 <= rows.ndim <= 3 or not rows.size:
        raise Error("invalid_argument", "ids must be [tokens], [batch, tokens] or [axes, batch, "
                    f"tokens], and have a token, got {list(rows.shape)}")
    findings = []
    if kind in _NARROW and rows.size and np.abs(rows).max() >= _NARROW[kind]:
        at = np.unravel_index(np.argmax(np.abs(rows) >= _NARROW[kind]), rows.shape)
        findings.append(PositionFinding(
            "rounded", int(at[-2]) if rows.ndim > 1 else 0, int(at[-1]),
            f"ids are {kind}, which has no odd numbers beyond {_NARROW[kind]}"))
    text = rows[0] if rows.ndim == 3 else np.atleast_2d(rows)
    real = np.ones(text.shape, bool)
    # Images have others on each axis, and text behind one stands elsewhere than its place says.
    is_text = rows.ndim < 3 or bool(np.all(rows == rows[:1]))
    wanted = None
    if attention_mask is not None:
        mask = _numbers(attention_mask, "attention_mask")
        if mask.ndim != 2 or mask.shape[1] < text.shape[1]:
            raise Error("invalid_argument", "attention_mask must be [batch, tokens] and cover the "
                        f"{text.shape[1]} tokens of ids, got {list(mask.shape)}")
        cached = mask.shape[1] - text.shape[1]
        if text.shape[0] == 1:  # one row serves all of the batch
            text, real = (np.repeat(x, len(mask), axis=0) for x in (text, real))
        wanted = positions_of(attention_mask=mask, past=cached)
        real = real & (mask[:, cached:] != 0)
    elif cu_seqlens is not None:
        wanted = positions_of(cu_seqlens=cu_seqlens, past=0 if past is None else past)[None]
    elif past is not None:
        starts = _numbers(past, "past", 0).ravel()
        if starts.size not in (1, len(text)):
            raise Error("invalid_argument", "past must be one number or one for each of "
                        f"{len(text)} rows, got {starts.size}")
        starts = np.broadcast_to(starts, len(text))
        wanted = starts[:, None] + np.arange(text.shape[1])
    if wanted is not None and wanted.shape != text.shape:
        raise Error("invalid_argument", "ids must be of as many rows and tokens as attention_mask, "
                    f"cu_seqlens or past say, {wanted.shape}, got {text.shape}")
    for row, seen in enumerate(text if is_text else ()):
        found = _alone(row, seen) if wanted is None else _against(row, seen, wanted[row], real[row])
        if found is not None:
            findings.append(found)
    if not is_text:
        return PositionCheck("ids differ between axes, as those of images do: not judged; "
                             "m_rope_positions() makes them", tuple(findings), judged=False)
    shown = [row[use] if np.any(use) else row for row, use in zip(text, real)]
    return PositionCheck(_described(shown), tuple(findings))
