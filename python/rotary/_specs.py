# SPDX-License-Identifier: Apache-2.0
"""RotarySpec: the parameters of one rotary embedding. Frequencies: radians per position, of each
pair. Rotations: cos and sin for the positions of a step."""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, overload

import numpy as np

from rotary import _arrays, _core, _html, _rotate
from rotary._checks import checked, chosen, json_text, plain, text, truth
from rotary._errors import invalid
from rotary._parameters import Pairing, Parameters, Scaling

Array = TypeVar("Array")  # of NumPy, torch, JAX or MLX
Direction = Literal["forward", "inverse", "transpose"]
Role = Literal["query", "key"]
Tables = tuple[np.ndarray, np.ndarray]  # cos and sin
_PairForm = Literal["hf", "interleaved", "pairs"]
_Form = Literal["hf", "interleaved", "pairs", "complex"]


@checked
@dataclasses.dataclass(frozen=True, kw_only=True)
class RotarySpec:
    """The parameters of one rotary embedding, checked on construction. Specs have == and a hash.

    >>> rotary.RotarySpec(head_dim=128, base=500000.0, pairing="half")
    RotarySpec(head_dim=128, base=500000.0, pairing='half')

    head_dim: features of a head. base: rope_theta.
    pairing: "half", "interleaved" or "interleaved_to_half" (see Pairing).
    rotary_dim: how many features rotate, from first_feature on; None: all from there on.
    scaling: a rule, with the names of configs: Scaling(rope_type="linear", factor=8).
    sense: "negative" negates every angle (NanoChat).
    xpos: scale_base and center of xPos.
    numerics: "exact", or the arithmetic of an engine: "transformers", "vllm" or "ggml".
    rounding: the results that numerics "transformers" rounds: "every_step", "table", "result" or
        "double_angle".
    axes: which axis of a position rotates each pair (M-RoPE, images, video).
    blocks: parts of the rotated features; "half" then pairs features within each part.
    """

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
        """Makes a spec from the text of to_json() or from a dict of its members."""
        if not isinstance(text, str):
            text = json_text(text, "text")
        return cls(**json.loads(_core.checked_spec(text)))

    def to_json(self) -> str:
        """Returns JSON text for from_json(); equal specs have equal texts."""
        return self._text  # type: ignore[attr-defined]

    def replace(self, **changes: Any) -> RotarySpec:
        """Returns a copy with some members changed: spec.replace(base=10000)."""
        return dataclasses.replace(self, **changes)

    @property
    def depends_on_context(self) -> bool:
        """Whether the frequencies change with the length of the context."""
        return _core.depends_on_context(self.to_json())

    @checked
    def frequencies(self, context: int | None = None) -> Frequencies:
        """Returns the frequencies of the pairs.

        context: the number of tokens, required if depends_on_context.
        """
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


class Frequencies:
    """The frequencies of a spec's pairs. Rotates arrays, and makes cos and sin.

    >>> f = rotary.resolve("llama-3.1-8b").frequencies()
    >>> f.inv_freq[0]  # radians per position of the fastest pair
    1.0
    """

    __slots__ = ("_core", "_inv_freq", "_facts", "context", "spec")

    @checked
    def __init__(self, spec: RotarySpec, context: int | None = None) -> None:
        self.spec = spec
        self.context = context
        self._core = _core.Frequencies.of_spec(spec.to_json(), context)
        self._facts = self._core.facts()
        self._inv_freq = np.array(self._core.inv_freq())
        if self._facts["axes"] > 1 and not self._facts["axis_of_pair"]:
            self._inv_freq = self._inv_freq.reshape(self._facts["axes"], -1)
        self._inv_freq.flags.writeable = False

    @property
    def inv_freq(self) -> np.ndarray:
        """[pairs], float64, radians per position; read-only. The wavelength is 2π / inv_freq.

        [axes, pairs] if every axis has a frequency for each pair.
        """
        return self._inv_freq

    @property
    def attention_factor(self) -> float:
        """The factor on cos and sin, which multiplies scores by its square."""
        return self._facts["attention_factor"]

    @property
    def axes(self) -> int:
        """The number of coordinates of a position: 1 for text."""
        return self._facts["axes"]

    @property
    def contexts(self) -> tuple[int, int]:
        """The shortest and longest context, in tokens, with these frequencies."""
        return self._facts["first_context"], self._facts["last_context"]

    @checked
    def rotate_alike(self, other: Frequencies) -> bool:
        """Whether keys rotated with `other` fit queries rotated with this; if not, shift() keys."""
        return self._core.rotate_alike(other._core)

    @checked
    def rotations(self, positions: Any, *, dtype: Any = None,
                  role: Role | None = None) -> Rotations:
        """Computes cos and sin of a step's positions, for every layer with these frequencies.

        >>> rows = f.rotations(range(16))
        >>> q, k = rows.rotate(q, k, layout="bhtd")

        positions: a range, or integers or floats [tokens], [batch, tokens] or
            [axes, batch, tokens].
        dtype: of the arrays to rotate. Required for float64, and for numerics that round to this
            dtype.
        role: "query" or "key"; only xPos needs it.
        """
        name = None if dtype is None else _arrays.named_dtype(dtype)
        numbers = _arrays.token_numbers(positions, "positions")
        return Rotations(_core.Rotations.make(self._core, numbers, name == "f64", role, name))

    @overload
    def rotate(self, q: Array, k: None = None, *, positions: Any, layout: str,
               out: Array | None = None, inplace: bool = False, direction: Direction = "forward",
               role: Role | None = None) -> Array: ...

    @overload
    def rotate(self, q: Array, k: Array, *, positions: Any, layout: str,
               out: tuple[Array, Array] | None = None, inplace: bool = False,
               direction: Direction = "forward", role: Role | None = None
               ) -> tuple[Array, Array]: ...

    def rotate(self, q: Any, k: Any = None, *, positions: Any, layout: str, out: Any = None,
               inplace: bool = False, direction: Direction = "forward",
               role: Role | None = None) -> Any:
        """Rotates q, or q and k, to their positions.

        >>> q, k = f.rotate(q, k, positions=range(16), layout="bhtd")

        q, k: arrays of NumPy, torch, JAX or MLX. The result has the framework and dtype of each.
        positions: one for each token: a range, or integers or floats [tokens], [batch, tokens] or
            [axes, batch, tokens].
        layout: a letter for each axis: b(atch), t(okens), h(eads), d for the features. "bhtd" in
            Transformers.
        out: an array for the result, or a pair for q and k. inplace=True: writes to q and k.
        direction: "inverse" undoes "forward"; "transpose" is the backward pass.
        role: "query" or "key"; only xPos needs it.

        Raises rotary.Error if shapes, dtypes or strides do not fit; the message names the array.
        For many layers, call rotations(positions) once and rotate with its result.
        """
        rows = self.rotations(positions, dtype=_arrays.dtype_name(q, "q"), role=role)
        return rows.rotate(q, k, layout=layout, out=out, inplace=inplace, direction=direction)

    @overload
    def tables(self, positions: Any, *, form: _PairForm = "hf", dtype: Any = np.float32,
               role: Role | None = None) -> Tables: ...

    @overload
    def tables(self, positions: Any, *, form: Literal["complex"], dtype: Any = np.float32,
               role: Role | None = None) -> np.ndarray: ...

    @checked
    def tables(self, positions: Any, *, form: _Form = "hf", dtype: Any = np.float32,
               role: Role | None = None) -> Any:
        """Returns (cos, sin) of the positions, for your own kernel.

        >>> cos, sin = f.tables(range(16))  # [1, 16, 128], as Transformers lays them out

        form, dtype: as in Rotations.tables().
        """
        name = _arrays.named_dtype(dtype)
        rows = self.rotations(positions, dtype="f64" if name == "f64" else None, role=role) \
            if self.spec.numerics == "exact" else self.rotations(positions, dtype=name, role=role)
        return rows.tables(form=form, dtype=dtype)

    def _rows(self) -> list[tuple[str, str]]:
        flat = self.inv_freq.reshape(-1)
        rows = [("pairs", str(flat.size)), ("inv_freq", f"{flat[0]:g} … {flat[-1]:g}"),
                ("attention_factor", f"{self.attention_factor:.12g}")]
        if self.context is not None:
            rows.append(("context", str(self.context)))
        return rows

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value}" for name, value in self._rows())
        return f"<rotary.Frequencies {inside}>"

    def _repr_html_(self) -> str:
        return _html.table("Frequencies", self._rows())

    def __reduce__(self):
        return type(self), (self.spec, self.context)


_FORMS = dict.fromkeys(("hf", "interleaved", "pairs", "complex"))


class Rotations:
    """cos and sin of a step's positions, [batch, tokens, pairs], each rounded once."""

    __slots__ = ("_core", "_facts")

    def __init__(self, core: _core.Rotations) -> None:
        self._core = core
        self._facts: dict[str, Any] = {}

    @classmethod
    @checked
    def of_rows(cls, spec: RotarySpec, cos: Any, sin: Any, *,
                attention_factor: float = 1.0) -> Rotations:
        """Makes rotations from cos and sin [batch, tokens, pairs] of another program.

        Raises rotary.Error if cos and sin of a pair are not a rotation times attention_factor.
        """
        facts = spec.frequencies(1 if spec.depends_on_context else None)._facts
        window = _core.window(*(facts[name] for name in (
            "head_dim", "rotary_dim", "first_feature", "pairing", "blocks")))
        cos, sin = (_arrays.torch_operand(x, what) if _arrays.is_torch(x)
                    else _arrays.numpy_operand(_arrays.any_array(x, what), what)
                    for x, what in ((cos, "cos"), (sin, "sin")))
        return cls(_core.Rotations.of_rows(window, cos, sin, attention_factor))

    @property
    def facts(self) -> dict[str, Any]:
        """batch, tokens, pairs, pairing, attention_factor, rows (dtype of cos and sin) and more."""
        if not self._facts:
            self._facts = self._core.facts()
        return self._facts

    @overload
    def rotate(self, q: Array, k: None = None, *, layout: str, out: Array | None = None,
               inplace: bool = False, direction: Direction = "forward") -> Array: ...

    @overload
    def rotate(self, q: Array, k: Array, *, layout: str, out: tuple[Array, Array] | None = None,
               inplace: bool = False, direction: Direction = "forward") -> tuple[Array, Array]: ...

    def rotate(self, q: Any, k: Any = None, *, layout: str, out: Any = None,
               inplace: bool = False, direction: Direction = "forward") -> Any:
        """Rotates q, or q and k. The arguments mean the same as in Frequencies.rotate().

        The result is differentiable if a torch tensor requires a gradient.
        """
        number = chosen(_arrays.DIRECTIONS, direction, "direction")
        if type(layout) is not str or not layout.isascii():
            text(layout, "layout")
        if inplace is not False and (inplace is True or truth(inplace, "inplace")):
            if out is not None:
                raise invalid("out must be None where inplace is True")
            out = q if k is None else (q, k)
        if type(q) is np.ndarray and (k is None or type(k) is np.ndarray):
            return _rotate.rotate_numpy(self._core, q, k, layout, out, number)
        return _rotate.rotate_other(self, q, k, layout, out, direction)

    @overload
    def tables(self, *, form: _PairForm = "hf", dtype: Any = np.float32) -> Tables: ...

    @overload
    def tables(self, *, form: Literal["complex"], dtype: Any = np.float32) -> np.ndarray: ...

    @checked
    def tables(self, *, form: _Form = "hf", dtype: Any = np.float32) -> Any:
        """Returns (cos, sin), each [batch, tokens, …].

        form: "hf" repeats the numbers of all pairs after the last (Transformers); "interleaved"
            repeats each number beside itself; "pairs" has each number once; "complex" is one
            array, cos + i sin.
        dtype: of NumPy, or bfloat16 of ml_dtypes.
        """
        into = _arrays.numpy_dtype(dtype)
        chosen(_FORMS, form, "form")
        facts = self.facts
        shape = (facts["batch"], facts["tokens"], facts["pairs"])
        rows = np.float64 if facts["rows"] == "f64" else np.float32
        cos, sin = np.empty(shape, rows), np.empty(shape, rows)
        self._core.fill_rows(cos, sin)
        if form == "complex":
            return cos + 1j * sin
        if form == "hf":
            blocks = (*shape[:2], facts["blocks"], shape[2] // facts["blocks"])
            cos, sin = (np.concatenate((x.reshape(blocks),) * 2, -1).reshape(
                *shape[:2], 2 * shape[2]) for x in (cos, sin))
        elif form == "interleaved":
            cos, sin = (np.repeat(x, 2, -1) for x in (cos, sin))
        return cos.astype(into, copy=False), sin.astype(into, copy=False)

    def __repr__(self) -> str:
        facts = self.facts
        return (f"<rotary.Rotations batch={facts['batch']}, tokens={facts['tokens']}, "
                f"pairs={facts['pairs']}, rows={facts['rows']}, pairing={facts['pairing']}>")
