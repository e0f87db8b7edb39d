# SPDX-License-Identifier: Apache-2.0
"""RotarySpec: the parameters of one rotary embedding, as a value."""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Iterator, Mapping
from typing import Any

from rotary import _core, _html
from rotary._checks import checked, json_text, plain


class Pairing(str, enum.Enum):
    """The two features of a head that turn together. Nothing here has a default: a wrong choice
    keeps every norm and shape, and breaks the model."""

    HALF = "half"  # (i, i + d/2): rotate_half, "NeoX style"
    INTERLEAVED = "interleaved"  # (2i, 2i + 1): "GPT-J style", complex numbers
    INTERLEAVED_TO_HALF = "interleaved_to_half"  # reads (2i, 2i + 1), writes (i, i + d/2)

    def __str__(self) -> str:
        return self.value


class Parameters(Mapping):
    """Named parameters that do not change; equal to a dict of the same items."""

    __slots__ = ("_items",)

    def __init__(self, /, *given: Mapping[str, Any], **named: Any) -> None:
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
    """A scaling rule under the names of configs: Scaling(rope_type="linear", factor=8)."""

    __slots__ = ()

    @property
    def rope_type(self) -> str:
        return self["rope_type"]


@checked
@dataclasses.dataclass(frozen=True, kw_only=True)
class RotarySpec:
    """One rotary embedding, valid since it exists. The members are those of docs/schema's
    rotary-spec.schema.json; head_dim, base and pairing have no default."""

    head_dim: int
    base: float
    pairing: Pairing
    rotary_dim: int | None = None
    first_feature: int = 0
    scaling: Scaling = Scaling(rope_type="default")
    sense: str = "positive"
    xpos: Parameters | None = None
    numerics: str = "exact"
    rounding: str = "every_step"
    axes: Parameters | None = None
    blocks: int = 1

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        text = _core.checked_spec(json.dumps(self._given()))
        set_(self, "pairing", Pairing(self.pairing))
        read = json.loads(text)
        set_(self, "scaling", Scaling(read.get("scaling", {"rope_type": "default"})))
        for name in ("xpos", "axes"):
            set_(self, name, Parameters(read[name]) if name in read else None)
        set_(self, "_text", text)

    def _given(self) -> dict[str, Any]:
        given = {}
        for field in dataclasses.fields(self):
            value = plain(getattr(self, field.name), field.name)
            if field.default is dataclasses.MISSING or value != plain(field.default, field.name):
                given[field.name] = value
        return given

    @classmethod
    @checked
    def from_json(cls, text: str | Mapping[str, Any]) -> RotarySpec:
        """The spec of JSON text, or of a dict, of that schema."""
        if not isinstance(text, str):
            text = json_text(text, "text")
        return cls(**json.loads(_core.checked_spec(text)))

    def to_json(self) -> str:
        """The text that from_json reads as this spec; equal specs have equal texts."""
        return self._text  # type: ignore[attr-defined]

    def replace(self, **changes: Any) -> RotarySpec:
        """The same spec with other members."""
        return dataclasses.replace(self, **changes)

    @property
    def depends_on_context(self) -> bool:
        """Whether the rule's frequencies change with the length of the context."""
        return _core.depends_on_context(self.to_json())

    @checked
    def frequencies(self, context: int | None = None):
        """How fast each pair turns. context: required by rules that depend on it."""
        from rotary._frequencies import Frequencies

        return Frequencies(self, context)

    def _rows(self) -> list[tuple[str, str]]:
        rows = [(name, _text(value)) for name, value in self._given().items()
                if name not in ("scaling", "axes", "xpos")]
        rows += [(name, _text(value)) for name, value in self.scaling.items()]
        for group in (self.axes, self.xpos):
            rows += [(name, _text(value)) for name, value in (group or {}).items()]
        return rows

    def __repr__(self) -> str:
        given = self._given()
        names = [field.name for field in dataclasses.fields(self) if field.name in given]
        return "RotarySpec(" + ", ".join(
            f"{name}={_shown(getattr(self, name))}" for name in names) + ")"

    def _repr_html_(self) -> str:
        return _html.table("RotarySpec", self._rows())


def _shown(value: Any) -> str:
    return repr(value.value if isinstance(value, enum.Enum) else value)


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)) and len(value) > 8:
        return f"{value[0]:g}, …, {value[-1]:g} ({len(value)})"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value))
    return f"{value:.12g}" if isinstance(value, float) else str(value)
