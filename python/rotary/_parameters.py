# SPDX-License-Identifier: Apache-2.0
"""Members of a RotarySpec: pairing, named parameters, scaling rule."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Any


class Pairing(str, enum.Enum):
    """Which two features of a head rotate together as a pair. d: rotary_dim.

    No call has a default, because a wrong pairing keeps every shape and norm but breaks the model.
    """

    HALF = "half"  # (i, i + d/2): rotate_half, "NeoX style"
    INTERLEAVED = "interleaved"  # (2i, 2i + 1): "GPT-J style", complex numbers
    INTERLEAVED_TO_HALF = "interleaved_to_half"  # reads (2i, 2i + 1), writes (i, i + d/2)

    def __str__(self) -> str:
        return self.value


class Parameters(Mapping):
    """Immutable named parameters; equal to a dict with the same items."""

    __slots__ = ("_items",)

    def __init__(self, /, *given: Mapping[str, Any], **named: Any) -> None:
        if given and isinstance(given[0], str):
            raise TypeError(f"{type(self).__name__} takes names with values, as in "
                            f'Scaling(rope_type="linear", factor=8), got {given[0]!r}')
        items = dict(*given, **named)
        self._items = {key: tuple(value) if isinstance(value, list) else value
                       for key, value in items.items()}

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={value!r}" for key, value in self._items.items())
        return f"{type(self).__name__}({inside})"


class Scaling(Parameters):
    """A scaling rule, with the names of configs: Scaling(rope_type="linear", factor=8)."""

    __slots__ = ()

    @property
    def rope_type(self) -> str:
        return self["rope_type"]
