# SPDX-License-Identifier: Apache-2.0
"""Positions on several axes for prompts with text, images and videos, as models with M-RoPE count
them (docs/theory/axes.md)."""

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
    """Tokens with one id each: text, markers around images, audio alone."""

    tokens: int


@checked
@dataclasses.dataclass(frozen=True)
class ImagePatches:
    """An image. rows, columns: patches before merging, image_grid_thw[1:]."""

    rows: int
    columns: int


@checked
@dataclasses.dataclass(frozen=True)
class VideoPatches:
    """A video. frames, rows, columns: video_grid_thw. seconds_per_frame: second_per_grid_ts.

    text_between_frames: tokens of each timestamp. audio_tokens: tokens of the video's sound.
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
    """A thumbnail and equally sized slices of a higher resolution, laid out on one canvas."""

    thumbnail_rows: int
    thumbnail_columns: int
    slices_down: int = 0
    slices_across: int = 0
    slice_rows: int = 0
    slice_columns: int = 0
    newlines_after: int = 0


@dataclasses.dataclass(frozen=True)
class MRopePositions:
    """Positions of a prompt, for rotations().

    positions: [axes, 1, tokens], int64; float64 if the convention has fractions. group_ends: the
    first token after each group. delta: rope_deltas; token n, decoded after the prompt, is at
    position n + delta on every axis.
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
    """The names of the conventions by which models and engines count positions."""
    return tuple(_core.m_rope_conventions())


@checked
def m_rope_positions(groups: Iterable[TextTokenRun | ImagePatches | VideoPatches | SlicedImage],
                     convention: str, **changes: int) -> MRopePositions:
    """Makes the positions of a prompt with text, images and videos.

    >>> prompt = [rotary.TextTokenRun(5), rotary.ImagePatches(4, 6), rotary.TextTokenRun(3)]
    >>> rotary.m_rope_positions(prompt, "qwen2.5-vl").positions.shape
    (3, 1, 14)

    groups: the parts of the prompt in order. convention: one of m_rope_conventions(). changes:
    merge, temporal_merge, ids_per_second or ids_per_chunk, if the config differs from the
    convention.
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
    """Frame, row and column of each patch, from 0: [3, 1, frames * rows * columns], int64.

    A tower with two axes takes [1:]. merge: orders patches in blocks of merge x merge, as towers
    read them.
    """
    return _array(_core.grid_positions(frames, rows, columns, merge), np.int64)
