# SPDX-License-Identifier: Apache-2.0
"""Compares frequencies and tables of a live model with those of its config, and names faults."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from rotary._errors import Error
from rotary._identify import Identification, identify_frequencies, identify_tables
from rotary._models import ModelRotary
from rotary._specs import Frequencies, RotarySpec

# Above the error of powers in float32. The smallest fault, rounding to float16, is 2^-12.
_TOLERANCE = 2.0**-18
_BITS = {"bfloat16": 8, "float16": 11}  # significand bits


@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault of a tensor or module. kind: "zero", "uninitialised", "rounded", "stale",
    "other_layer_type", "other_numbers" or "attention_factor"."""

    kind: str
    sentence: str


@dataclasses.dataclass(frozen=True)
class Expected:
    """The config's values for one rotary embedding, before any call beyond the trained context."""

    spec: RotarySpec
    layer_type: str | None = None
    context: int | None = None  # the trained context

    @functools.cached_property
    def _made(self) -> Frequencies:
        return self.spec.frequencies(self._context())

    def _context(self) -> int | None:
        # Classes of LongRoPE start with the short factors.
        is_long = self.spec.scaling.rope_type == "longrope"
        return (1 if is_long else self.context) if self.spec.depends_on_context else None

    @property
    def frequencies(self) -> np.ndarray:
        return np.asarray(self._made.inv_freq)

    @property
    def attention_factor(self) -> float:
        return self._made.attention_factor

    def forms(self, size: int) -> Iterator[np.ndarray]:
        """Yields the frequencies in each form that a module may hold."""
        yield self.frequencies
        if self.spec.axes is not None or self.spec.sense == "negative":
            # Some classes hold plain powers of the base; forward() assigns or negates them.
            yield self.spec.base ** (-np.arange(size) / size)
        if self.spec.axes is not None and self.spec.axes.get("exponents") == "own":
            at = 0
            for pairs in self.spec.axes["pairs"]:
                yield self.frequencies[at:at + pairs]
                at += pairs


def expected_of(rotary: ModelRotary) -> Expected:
    return Expected(rotary.spec, rotary.layer_type, rotary.trained_context_tokens)


def _matches(seen: np.ndarray, wanted: np.ndarray, tolerance: float = _TOLERANCE) -> bool:
    return seen.shape == wanted.shape and bool(
        np.all(np.abs(seen - wanted) <= tolerance * np.abs(wanted)))


def _rounded_to(seen: np.ndarray, wanted: np.ndarray) -> str | None:
    """Returns the 16-bit type whose rounding turns `wanted` into `seen`, or None."""
    for name, bits in _BITS.items():
        mantissa, _ = np.frexp(seen)
        scaled = np.ldexp(mantissa, bits)
        if np.all(scaled == np.round(scaled)) and _matches(seen, wanted, 2.0**-bits):
            return name
    return None


def _broken(seen: np.ndarray) -> Fault | None:
    if not np.any(seen):
        return Fault("zero", "all zero")
    wrong = ~np.isfinite(seen) | (np.abs(seen) > 2.0**20) | (
        (seen != 0) & (np.abs(seen) < 2.0**-60))
    if np.any(wrong):
        return Fault("uninitialised", "uninitialised memory, such as "
                     f"{float(seen.ravel()[np.argmax(wrong.ravel())]):g}")
    return None


def _context_of(seen: np.ndarray, expected: Expected) -> int | None:
    """Returns the context for which the spec's rule gives the frequencies `seen`, or None."""
    if not expected.spec.depends_on_context:
        return None
    length = expected.context or 1
    for context in (*(length * 2**power for power in range(1, 15)), *_dynamic(seen, expected)):
        if _matches(seen, np.asarray(expected.spec.frequencies(context).inv_freq)):
            return context
    return None


def _dynamic(seen: np.ndarray, expected: Expected) -> tuple[int, ...]:
    """Returns the context of a dynamic rule, computed from the slowest pair, or ()."""
    factor = expected.spec.scaling.get("factor")
    if expected.spec.scaling.rope_type != "dynamic" or seen[-1] <= 0 or not factor:
        return ()
    pairs = len(seen)
    base = seen[-1] ** (-pairs / (pairs - 1)) if pairs > 1 else 0
    grown = (base / expected.spec.base) ** ((pairs - 1) / pairs)
    original = expected.spec.scaling.get("original_max_position_embeddings", expected.context)
    tokens = original * (grown + factor - 1) / factor
    return (round(tokens),) if math.isfinite(tokens) and 1 <= tokens < 2**40 else ()


def _named(found: Identification) -> Fault | None:
    causes = "; and ".join(map(str, found.causes))
    is_short = 0 < len(causes) < 120  # a cause may list a field for each position
    return Fault("other_numbers", f"not those of the config: {causes}") if is_short else None


def judge_frequencies(seen: np.ndarray, expected: Expected,
                      others: Sequence[Expected]) -> Fault | str | None:
    """Returns the fault, None if the frequencies are right, or why they cannot be judged."""
    forms = list(expected.forms(seen.size))
    if any(_matches(seen, form) for form in forms):
        return None
    broken = _broken(seen)
    if broken:
        return broken
    sized = [form for form in forms if form.shape == seen.shape]
    if not sized:
        return f"has {seen.size} numbers, where the config gives {forms[0].size}"
    narrow = _rounded_to(seen, sized[0])
    if narrow:
        return Fault("rounded", f"rounded to {narrow}")
    for other in others:
        if other is not expected and _matches(seen, other.frequencies):
            return Fault("other_layer_type", f"those of {other.layer_type} layers")
    context = _context_of(seen, expected)
    if context:
        is_long = expected.spec.scaling.rope_type == "longrope"
        held = (f"beyond {expected.spec.scaling['original_max_position_embeddings']}" if is_long
                else f"of {context}")
        return Fault("stale", f"those of a context {held} tokens, left by a longer call")
    if np.any(np.diff(seen) > 0) and not _matches(seen[::-1], sized[0]) and not _swapped(
            seen, sized[0]):
        return Fault("uninitialised",
                     f"no frequencies, which fall from pair to pair: {_some(seen)}")
    return _reordered(seen, sized[0], expected) or _identified(seen, expected) or Fault(
        "other_numbers",
        f"neither those of the config nor of a known mistake: {_some(seen)}")


def _some(seen: np.ndarray) -> str:
    return ", ".join(f"{each:.4g}" for each in seen[:3]) + ", ..."


def _swapped(seen: np.ndarray, wanted: np.ndarray) -> bool:
    return seen.size > 1 and _matches(seen, np.roll(wanted, seen.size // 2))


def _reordered(seen: np.ndarray, wanted: np.ndarray, expected: Expected) -> Fault | None:
    if _swapped(seen, wanted):
        return Fault("other_numbers", "those of the config with their halves swapped")
    if seen.size < 3 or seen[0] != 1 or not 0 < seen[1] < 1:
        return None
    base = float(seen[1] ** -seen.size)
    if not _matches(seen, base ** (-np.arange(seen.size) / seen.size), 2.0**-16):
        return None
    rule = expected.spec.scaling.rope_type
    scaled = "" if rule == "default" else f" and rope_type {rule}"
    return Fault("other_numbers", f"those of base {base:.6g}, where the config has "
                 f"{expected.spec.base:g}{scaled}")


def _identified(seen: np.ndarray, expected: Expected) -> Fault | None:
    try:
        return _named(identify_frequencies(
            seen, attention_factor=expected.attention_factor, config=expected.spec,
            context=expected.context if expected.spec.depends_on_context else None))
    except Error:
        return None


def _sampled(rows: int) -> list[int]:
    return sorted({at for at in (*range(min(rows, 8)), 17, 63, rows // 2, rows - 1) if at < rows})


def _columns(pairs: int, width: int) -> dict[str, np.ndarray]:
    """Maps each column of a table to its pair, for each known order."""
    each = np.arange(pairs)
    if width == pairs:
        return {"once": each}
    if width == 2 * pairs:
        return {"half": np.tile(each, 2), "neighbours": np.repeat(each, 2)}
    return {}


def judge_tables(cos: np.ndarray, sin: np.ndarray, expected: Expected,
                 dtype_error: float, first_position: int = 0) -> Fault | str | None:
    """Judges tables [positions, columns] that begin at first_position. Returns a fault, None or a
    reason, as judge_frequencies() does. dtype_error: half_unit() of the tables."""
    rates = expected.frequencies
    layouts = _columns(rates.size, cos.shape[-1])
    if not layouts:
        return f"has {cos.shape[-1]} columns, where the config gives {rates.size} pairs"
    at = np.array(_sampled(len(cos)))
    angle = (at[:, None] + first_position) * rates
    # Allow for float32 angles of float32 frequencies.
    allowed = dtype_error + 2.0**-16 + np.abs(angle) * 2.0**-21
    apart = {}
    if expected.spec.sense == "negative" and len(sin) > 1 and sin[1, -1] > 0:
        sin = -sin  # the class reverses the sense when it applies the tables
    for name, column in layouts.items():
        wanted = expected.attention_factor * np.exp(1j * angle)[:, column]
        error = np.abs(cos[at] + 1j * sin[at] - wanted)
        if np.all(error <= 2 * expected.attention_factor * allowed[:, column]):
            return None
        apart[name] = np.where(np.isnan(error), np.inf, error)
    broken = _broken(np.stack((cos[at], sin[at])))
    if broken:
        return broken
    name = min(apart, key=lambda each: np.max(apart[each]))
    if first_position != 0:
        return Fault("other_numbers", "not those of the config")
    first, most = _first_wrong(cos, sin, expected, layouts[name])
    if first >= 8:
        return Fault("rounded", f"wrong from position {first} on, by up to {most:.3g}: positions "
                     "or frequencies were rounded")
    return _tables_identified(cos, sin, expected) or Fault(
        "other_numbers", f"not those of the config from position {first} on, by up to {most:.3g}")


def _first_wrong(cos: np.ndarray, sin: np.ndarray, expected: Expected,
                 column: np.ndarray) -> tuple[int, float]:
    """Compares at most 16384 rows. Returns the first row that errs by more than 2^-6, else the
    table's last row, and the largest error."""
    at = np.arange(min(len(cos), 16384))
    angle = (at[:, None] * expected.frequencies)[:, column]
    error = np.abs(cos[at] + 1j * sin[at] - expected.attention_factor * np.exp(1j * angle))
    rows = np.max(np.where(np.isnan(error), np.inf, error), axis=1)
    wrong = rows > 2.0**-6
    return int(np.argmax(wrong)) if np.any(wrong) else len(cos) - 1, float(rows.max())


def _tables_identified(cos: np.ndarray, sin: np.ndarray, expected: Expected) -> Fault | None:
    rows = min(len(cos), 32)
    try:
        return _named(identify_tables(cos[:rows], sin[:rows], config=expected.spec,
                                      positions=range(rows), context=expected.context))
    except Error:
        return None
