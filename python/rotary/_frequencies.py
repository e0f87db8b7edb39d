# SPDX-License-Identifier: Apache-2.0
"""Frequencies and Rotations: how fast each pair turns, and cos and sin of the positions of a step.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from rotary import _arrays, _core, _html
from rotary._checks import checked, shown, text, truth
from rotary._errors import Error
from rotary._specs import RotarySpec

_DIRECTIONS = {"forward": 1, "inverse": 2, "transpose": 3}
_FORMS = ("hf", "interleaved", "pairs", "complex")


class Frequencies:
    """inv_freq of one spec, and what is computed with them.

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
        """[pairs], float64, radians per position; read-only."""
        return self._inv_freq

    @property
    def attention_factor(self) -> float:
        """Multiplies cos and sin, so that a score grows by its square."""
        return self._facts["attention_factor"]

    @property
    def axes(self) -> int:
        """Coordinates of a position."""
        return self._facts["axes"]

    @property
    def contexts(self) -> tuple[int, int]:
        """The first and the last context length that has these frequencies."""
        return self._facts["first_context"], self._facts["last_context"]

    @checked
    def rotate_alike(self, other: Frequencies) -> bool:
        """Whether keys rotated under one fit queries rotated under the other."""
        return self._core.rotate_alike(other._core)

    @checked
    def rotations(self, positions: Any, *, dtype: Any = None,
                  role: str | None = None) -> Rotations:
        """The rows of these positions, made once for a step and shared by layers.

        positions: a range, or integers or floats [tokens], [batch, tokens] or
        [axes, batch, tokens]. dtype: that of the tensors, needed for f64 and for numerics that
        round rows to it; None: f32, bf16 or f16. role: "query" or "key", for xPos alone.
        """
        name = _arrays.named_dtype(dtype)
        doubles = name == "f64"
        numbers = _arrays.token_numbers(positions, "positions")
        return Rotations(_core.Rotations.make(self._core, numbers, doubles, role, name))

    def rotate(self, q: Any, k: Any = None, *, positions: Any, layout: str, out: Any = None,
               inplace: bool = False, direction: str = "forward", role: str | None = None) -> Any:
        """rotations(positions).rotate(q, k, …) in one call."""
        rows = self.rotations(positions, dtype=_arrays.dtype_name(q, "q"), role=role)
        return rows.rotate(q, k, layout=layout, out=out, inplace=inplace, direction=direction)

    @checked
    def tables(self, positions: Any, *, form: str = "hf", dtype: Any = np.float32,
               role: str | None = None) -> Any:
        """cos and sin of the positions, for an own kernel: see Rotations.tables."""
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


class Rotations:
    """Rows of cos and sin, [batch, tokens, pairs], each rounded once."""

    __slots__ = ("_core", "_facts")

    def __init__(self, core: _core.Rotations) -> None:
        self._core = core
        self._facts: dict[str, Any] = {}

    @classmethod
    @checked
    def of_rows(cls, spec: RotarySpec, cos: Any, sin: Any, *,
                attention_factor: float = 1.0) -> Rotations:
        """From cos and sin [batch, tokens, pairs] of another program: each row is checked to be a
        rotation times attention_factor."""
        facts = spec.frequencies(1 if spec.depends_on_context else None)._facts
        window = _core.window(*(facts[name] for name in (
            "head_dim", "rotary_dim", "first_feature", "pairing", "blocks")))
        cos, sin = (_arrays.torch_operand(x, what) if _arrays.is_torch(x)
                    else _arrays.numpy_operand(_arrays.any_array(x, what), what)
                    for x, what in ((cos, "cos"), (sin, "sin")))
        return cls(_core.Rotations.of_rows(window, cos, sin, attention_factor))

    @property
    def facts(self) -> dict[str, Any]:
        """batch, tokens, pairs, pairing, attention_factor, rows and what else they are."""
        if not self._facts:
            self._facts = self._core.facts()
        return self._facts

    def rotate(self, q: Any, k: Any = None, *, layout: str, out: Any = None,
               inplace: bool = False, direction: str = "forward") -> Any:
        """q, or (q, k), rotated: new arrays of the caller's framework, `out`, or the same memory.

        layout: a letter for each axis, b(atch), t(okens), h(eads), d: features; "bhtd" in
        Transformers. out: an array, or one for each. direction: "forward", "inverse", or
        "transpose", the backward pass. A tensor that requires a gradient gets one.
        """
        try:
            number = _DIRECTIONS[direction]
        except (KeyError, TypeError):
            raise Error("invalid_argument", f"direction must be one of {', '.join(_DIRECTIONS)}, "
                        f"got {shown(direction)}") from None
        if type(layout) is not str or not layout.isascii():
            text(layout, "layout")
        if inplace is not False and (inplace is True or truth(inplace, "inplace")):
            if out is not None:
                raise Error("invalid_argument", "out must be None where inplace is True")
            out = q if k is None else (q, k)
        if type(q) is np.ndarray and (k is None or type(k) is np.ndarray):
            return _rotate_numpy(self._core, q, k, layout, out, number)
        return _rotate_other(self, q, k, layout, out, direction)

    @checked
    def tables(self, *, form: str = "hf", dtype: Any = np.float32) -> Any:
        """(cos, sin), [batch, tokens, …].

        form: "hf": features of the rotary window, cos repeated as pairing half has it
        (Transformers); "interleaved": repeated for neighbours; "pairs": once for a pair;
        "complex": one complex array. dtype: of NumPy, or of ml_dtypes for bfloat16.
        """
        into = _arrays.numpy_dtype(dtype)
        if form not in _FORMS:
            raise Error("invalid_argument", f"form must be one of {', '.join(_FORMS)}, "
                        f"got '{form}'")
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


def _rotate_numpy(core, q, k, layout, out, number):
    source = numpy_operand(q, "q")
    if k is None:
        if out is None:
            out = np.empty_like(q)
        core.rotate(source if out is q else _target(out, "out"), source, layout, number)
        return out
    k_source = numpy_operand(k, "k")
    if out is None:
        out = np.empty_like(q), np.empty_like(k)
        targets = out if source is q and k_source is k else tuple(map(numpy_operand, out, "qk"))
    else:
        q_out, k_out = _pair(out)
        targets = (source if q_out is q else _target(q_out, "out[0]"),
                   k_source if k_out is k else _target(k_out, "out[1]"))
    core.rotate_both(targets, (source, k_source), layout, number)
    return out


numpy_operand = _arrays.numpy_operand


def _pair(out):
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        raise TypeError("out must be a pair of arrays, for q and for k")
    return out


def _target(out, what):
    """An array of the caller to write: one of NumPy or torch."""
    if isinstance(out, np.ndarray):
        return numpy_operand(out, what)
    if _arrays.is_torch(out):
        return _arrays.torch_operand(out, what, writes=True)
    raise TypeError(f"{what} must be an array of NumPy or torch, got {type(out).__name__}: "
                    "arrays of other frameworks do not change")


@functools.cache
def _of_torch():
    from rotary import _torch_arrays

    return _torch_arrays


def _rotate_other(rotations, q, k, layout, out, direction):
    """Whatever is not plain NumPy."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(q, torch.Tensor) and (
            k is None or isinstance(k, torch.Tensor)):
        return _of_torch().rotate(rotations, q, k, layout, out, direction)
    frameworks = {_arrays.framework_of(x) for x in ((q,) if k is None else (q, k))}
    if len(frameworks) > 1:
        raise TypeError(f"q and k must be of one framework, got {' and '.join(sorted(frameworks))}")
    framework = frameworks.pop()
    number = _DIRECTIONS[direction]
    if framework == "numpy":  # a subclass
        return _rotate_numpy(rotations._core, q, k, layout, out, number)
    for target in () if out is None else (out,) if k is None else _pair(out):
        _target(target, "out")
    sources = _arrays.as_numpy(q, "q"), None if k is None else _arrays.as_numpy(k, "k")
    results = _rotate_numpy(rotations._core, *sources, layout, out, number)
    if out is not None:
        return results
    if k is None:
        return _arrays.as_framework(results, q)
    return tuple(_arrays.as_framework(result, q) for result in results)
