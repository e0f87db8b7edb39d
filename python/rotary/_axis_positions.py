# SPDX-License-Identifier: Apache-2.0
"""Positions on several axes (M-RoPE) for prompts with text, images and videos.

docs/theory/axes.md compares the conventions of models and engines.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from rotary import _core
from rotary._checks import checked
from rotary._errors import invalid


@checked
@dataclasses.dataclass(frozen=True)
class TextTokenRun:
    """Tokens with the same id on every axis: text, markers around images, sound without video."""

    tokens: int


@checked
@dataclasses.dataclass(frozen=True)
class ImagePatches:
    """An image. rows, columns: the size in patches before merging (image_grid_thw[1:])."""

    rows: int
    columns: int


@checked
@dataclasses.dataclass(frozen=True)
class VideoPatches:
    """A video. frames, rows, columns: the size in patches before merging (video_grid_thw).

    text_between_frames: text tokens between two frames, such as a timestamp. audio_tokens: tokens
    of the video's sound. seconds_per_frame: from one frame to the next (second_per_grid_ts).
    """

    frames: int
    rows: int
    columns: int
    text_between_frames: int = 0
    audio_tokens: int = 0
    seconds_per_frame: float = 1.0


@checked
@dataclasses.dataclass(frozen=True)
class SlicedImage:
    """An image as a thumbnail and equally large slices at a higher resolution (MiniCPM-V).

    Rows and columns count patches before merging. slices_down, slices_across: how many slices; 0:
    none. newlines_after: newline tokens after the image.
    """

    thumbnail_rows: int
    thumbnail_columns: int
    slices_down: int = 0
    slices_across: int = 0
    slice_rows: int = 0
    slice_columns: int = 0
    newlines_after: int = 0


@dataclasses.dataclass(frozen=True)
class MRopePositions:
    """Positions of a prompt on each axis, for rotations().

    positions: [axes, 1, tokens], int64; float64 if the convention has fractions. group_ends: the
    index after the last token of each group. delta: token n of the sequence, decoded after the
    prompt, has position n + delta on every axis (rope_deltas).
    """

    positions: np.ndarray
    group_ends: tuple[int, ...]
    delta: int | float


def _array(made: tuple[bytes, int], dtype: Any) -> np.ndarray:
    numbers, axes = made
    return np.frombuffer(numbers, dtype).reshape(axes, 1, -1)


def _parts(group: Any) -> tuple[str, list[int], float]:
    facts = dataclasses.asdict(group)
    seconds = facts.pop("seconds_per_frame", 1.0)
    return type(group).__name__, list(facts.values()), seconds


def m_rope_conventions() -> tuple[str, ...]:
    """Returns the names of the conventions by which models and engines count positions."""
    return tuple(_core.m_rope_conventions())


@checked
def m_rope_positions(groups: Iterable[TextTokenRun | ImagePatches | VideoPatches | SlicedImage],
                     convention: str, **changes: int) -> MRopePositions:
    """Makes the positions of a prompt with text, images and videos.

    >>> prompt = [rotary.TextTokenRun(5), rotary.ImagePatches(4, 6), rotary.TextTokenRun(3)]
    >>> rotary.m_rope_positions(prompt, "qwen2.5-vl").positions.shape
    (3, 1, 14)

    groups: the text, images and videos of the prompt, in order.
    convention: one of m_rope_conventions().
    changes: merge, temporal_merge, ids_per_second or ids_per_chunk, where the config differs from
        the convention.
    """
    unknown = sorted(set(changes) - {"merge", "temporal_merge", "ids_per_second", "ids_per_chunk"})
    if unknown:
        raise invalid("changes must be merge, temporal_merge, ids_per_second or "
                      f"ids_per_chunk, got {', '.join(unknown)}")
    made, ends, delta = _core.m_rope_ids([_parts(group) for group in groups], convention, changes)
    dtype = np.float64 if isinstance(delta, float) else np.int64
    return MRopePositions(_array(made, dtype), tuple(ends), delta)


@checked
def grid_positions(rows: int, columns: int, *, frames: int = 1, merge: int = 1) -> np.ndarray:
    """Returns frame, row and column of each patch: [3, 1, frames * rows * columns], int64, from 0.

    A vision tower with two axes takes [1:]. merge: patches come in blocks of merge × merge, the
    order in which towers with merging read them.
    """
    return _array(_core.grid_positions(frames, rows, columns, merge), np.int64)
