# SPDX-License-Identifier: Apache-2.0
"""identify(): finds what a program did, from numbers before and after its rotary embedding."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from rotary import _arrays, _core, _html
from rotary._differences import FieldDifference, _fields
from rotary._checks import checked
from rotary._errors import invalid
from rotary._models import model_of
from rotary._specs import RotarySpec

_HEADLINES = {
    "as_configured": "as configured: the config explains the numbers",
    "another_cause": "another cause: the config does not explain the numbers, this does",
    "described": "described: this rotary embedding explains the numbers",
    "unexplained": "unexplained: neither the config nor a known mistake, nor two at once, explains "
                   "the numbers",
}


@dataclasses.dataclass(frozen=True)
class Cause:
    """A mistake that explains the numbers.

    fields: with the config's value in `one` and the found value in `other`. rule: the name of the
    engine's rule that makes this mistake, as in `rotary diff --between`; else None. advice: what to
    look at next.
    """

    name: str
    group: str
    fields: tuple[FieldDifference, ...]
    rule: str | None
    sentence: str
    advice: str

    def __str__(self) -> str:
        changes = ", ".join(f"{f.field} {f.one} -> {f.other}" for f in self.fields) or self.name
        return f"{self.rule}: {changes}" if self.rule else changes


@dataclasses.dataclass(frozen=True)
class Explanation:
    """A rotation that may explain the numbers. causes: at most two mistakes; empty: as configured.

    residual: |predicted - seen| / |seen|. bit_equal: the share of features with equal bits.
    arithmetic: the arithmetic that fits best, such as "float32_angles". separating_position: a
    token there would tell this explanation from the best one; None: no token would.
    separating_grid: the same for image coordinates. spec: the rotation as a spec, or None.
    """

    causes: tuple[Cause, ...]
    residual: float
    bit_equal: float
    arithmetic: str
    separating_position: int | None
    separating_grid: int | None
    spec: RotarySpec | None

    def __str__(self) -> str:
        return "; and ".join(map(str, self.causes)) or "as configured"


@dataclasses.dataclass(frozen=True, eq=False)
class ReadPositions:
    """The position of each token, computed from the angles of its pairs.

    expected, found: [axes, batch, tokens]; found is NaN if no position explains the token.
    residuals: [batch, tokens]. aliases: [batch, tokens], the nearest other position that explains
    the token equally well, or NaN. unread: how many tokens no position explains.
    """

    expected: np.ndarray
    found: np.ndarray
    residuals: np.ndarray
    aliases: np.ndarray
    unread: int


@dataclasses.dataclass(frozen=True, repr=False)
class Identification:
    """The answer of identify(); print() shows it.

    verdict: "as_configured"; "another_cause"; "described", without a config; or "unexplained".
    explanations: the best first. The first `tied` explain the numbers equally well; the others come
    close but do not explain them.
    structure: head_dim, rotary_dim, pairing and attention_factor, from the lengths of pairs alone;
    None for tables and frequencies.
    turns_per_token: the measured radians per position of each pair.
    first_position: the position found for the first token, if identify() got no positions.
    positions: the position of each token, if some cannot be read or differ from the explanation.
    checked_tokens: how many tokens were compared with the best explanation.
    tolerance: the largest residual that rounding explains.
    tokens, heads: the size of the sample. hypotheses, pairs: how many mistakes, and pairs of
    mistakes, were tried.
    """

    verdict: str
    explanations: tuple[Explanation, ...]
    tied: int
    structure: Mapping[str, Any] | None
    turns_per_token: np.ndarray
    first_position: int | None
    positions: ReadPositions | None
    checked_tokens: int
    dtype: str
    tolerance: float
    tokens: int
    heads: int
    hypotheses: int
    pairs: int

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The causes of the best explanation; empty if nothing explains the numbers."""
        return self.explanations[0].causes if self.tied else ()

    def _rows(self) -> list[tuple[str, str]]:
        rows = []
        for cause in self.causes if self.verdict == "another_cause" else ():
            sentence = cause.sentence if len(self.causes) > 1 else ""
            rows += [(str(cause), sentence), ("", f"Next: {cause.advice}")]
        if self.tied:
            best = self.explanations[0]
            if self.verdict == "described" and best.spec:
                rows.append((repr(best.spec), ""))
            rows.append((f"residual {best.residual:.2g}",
                         f"rounding explains {self.tolerance:.2g}; {best.bit_equal:.1%} of the "
                         f"bits equal, {best.arithmetic}"))
        rows += [(f"tied: {each}", _separation(each)) for each in self.explanations[1:self.tied]
                 if len(each.causes) <= max(1, len(self.causes))]
        if not self.tied:
            rows += [(f"closest: {each}", f"residual {each.residual:.2g}")
                     for each in self.explanations[:3]]
        if self.first_position is not None:
            rows.append((f"first position {self.first_position}", "found"))
        seen = (f"compared at {self.tokens} positions" if self.structure is None else
                f"compared {self.tokens} tokens of {self.heads} heads in {self.dtype}")
        rows.append((seen, f"tried {self.hypotheses} mistakes, {self.pairs} pairs"))
        return rows

    def __repr__(self) -> str:
        causes = "".join(f", {cause}" for cause in self.causes)
        return f"<rotary.Identification {self.verdict}{causes}>"

    def __str__(self) -> str:
        lines = (f"  {name}{': ' if name and note else ''}{note}" for name, note in self._rows())
        return "\n".join((self._headline(), *lines))

    def _repr_html_(self) -> str:
        return _html.table(self._headline(), self._rows())

    def _headline(self) -> str:
        is_one = self.verdict == "another_cause" and len(self.causes) == 1
        return self.causes[0].sentence if is_one else _HEADLINES[self.verdict]


def _separation(explanation: Explanation) -> str:
    if explanation.separating_position is not None:
        return f"a token at {explanation.separating_position} or later would tell"
    if explanation.separating_grid is not None:
        return "tokens of an image would tell"
    return "the same at every position up to 2^20"


def _identification(facts: Mapping[str, Any]) -> Identification:
    explanations = tuple(Explanation(**{
        **each,
        "causes": tuple(Cause(**{**cause, "fields": _fields(cause["fields"])})
                        for cause in each["causes"]),
        "spec": each["spec"] and RotarySpec.from_json(each["spec"]),
    }) for each in facts["explanations"])
    return Identification(**{**facts, "explanations": explanations,
                             "positions": _read_positions(facts["positions"]),
                             "turns_per_token": np.array(facts["turns_per_token"])})


def _read_positions(facts: Mapping[str, Any] | None) -> ReadPositions | None:
    if facts is None:
        return None
    rows = (facts["batch"], facts["tokens"])
    shapes = {"expected": (facts["axes"], *rows), "found": (facts["axes"], *rows),
              "residuals": rows, "aliases": rows}
    return ReadPositions(unread=facts["unread"],
                         **{name: np.array(facts[name]).reshape(shape)
                            for name, shape in shapes.items()})


def _options(config: Any, layer: int | None, layer_type: str | None, context: int | None,
             causes: int) -> dict[str, Any]:
    options: dict[str, Any] = {"most_causes": causes}
    if context is not None:
        options["context_tokens"] = context
    if isinstance(config, RotarySpec):
        options["spec"] = config.to_json()
    elif config is not None:
        model = model_of(config, "config")
        chosen = model.rotary_of(layer, layer_type)
        options["model"] = model._core
        options["rotary"] = next(i for i, each in enumerate(model.rotary) if each is chosen)
    return options


@checked
def identify(before: Any, after: Any, *, layout: str, config: Any = None, positions: Any = None,
             layer: int | None = None, layer_type: str | None = None, context: int | None = None,
             causes: int = 2, rotated_before: bool = False) -> Identification:
    """Finds what a program did to q (or k), from its numbers before and after rotary embedding.

    >>> print(rotary.identify(q, q2, layout="bhtd", config="llama-3.1-8b", positions=range(8)))

    before, after: arrays of one shape and dtype. Best are float32 and 8 consecutive tokens from
        position 1000 on.
    layout: a letter for each axis, as in rotate().
    config: a Model, a RotarySpec, or anything that resolve() takes. None: describes the numbers.
    positions: of the tokens. None: takes the tokens as consecutive and searches the first position.
    layer, layer_type: choose one of several rotary embeddings of a model.
    context: the number of tokens, as in Model.frequencies().
    causes: how many mistakes at once may explain the numbers, 1 or 2.
    rotated_before: True: `before` is already rotated as the config says, like a cached key. Needs
        config and positions.

    The search uses up to 48 tokens and 4 heads. The best explanation is then compared with all
    heads of every token.
    """
    options = _options(config, layer, layer_type, context, causes)
    if positions is not None:
        options["positions"] = _arrays.token_numbers(positions, "positions")
    if rotated_before:
        if config is None or positions is None:
            raise invalid("rotated_before needs config and positions: they say what to undo")
        options["rotated_before"] = True
    operands = (_arrays.to_read(x.detach() if _arrays.is_torch(x) else x, what)
                for x, what in ((before, "before"), (after, "after")))
    return _identification(_core.identify(*operands, layout, options))


@checked
def identify_tables(cos: Any, sin: Any, *, config: Any = None, positions: Any = None,
                    layer: int | None = None, layer_type: str | None = None,
                    context: int | None = None, causes: int = 2) -> Identification:
    """Finds what is wrong with a program's cos and sin.

    >>> print(rotary.identify_tables(cos, sin, config="llama-3.1-8b"))

    cos, sin: [tokens, pairs] or [batch, tokens, pairs], with each pair once or twice. The other
    arguments are those of identify().
    """
    options = _options(config, layer, layer_type, context, causes)
    rows = [_arrays.numbers(x, what) for x, what in ((cos, "cos"), (sin, "sin"))]
    if rows[0].shape != rows[1].shape or rows[0].ndim not in (2, 3):
        raise invalid("cos and sin must have one shape, [tokens, pairs] or "
                      f"[batch, tokens, pairs], got {rows[0].shape} and {rows[1].shape}")
    rows = [np.ascontiguousarray(x.reshape((-1,) + x.shape[-2:])[..., _once(rows)], np.float64)
            for x in rows]
    if positions is not None:
        options["positions"] = _arrays.token_numbers(positions, "positions")
    return _identification(_core.identify_rows(*rows, options))


def _once(rows: list[np.ndarray]) -> slice:
    """Returns the columns that hold each pair once."""
    columns = rows[0].shape[-1]
    if columns % 2 == 0 and columns >= 4:
        half = columns // 2
        if all(np.array_equal(x[..., :half], x[..., half:]) for x in rows):
            return slice(half)
        if all(np.array_equal(x[..., ::2], x[..., 1::2]) for x in rows):
            return slice(None, None, 2)
    return slice(None)


@checked
def identify_frequencies(inv_freq: Any, *, attention_factor: float = 1.0, config: Any = None,
                         layer: int | None = None, layer_type: str | None = None,
                         context: int | None = None, causes: int = 2) -> Identification:
    """Finds what is wrong with a program's inv_freq.

    >>> print(rotary.identify_frequencies(inv_freq, config="llama-3.1-8b"))

    inv_freq: [pairs], radians per position. attention_factor: the program's factor on cos and sin.
    The other arguments are those of identify().
    """
    options = _options(config, layer, layer_type, context, causes)
    numbers = _arrays.numbers(inv_freq, "inv_freq")
    if numbers.ndim != 1:
        raise invalid(f"inv_freq must have one axis, got {numbers.ndim}")
    return _identification(_core.identify_frequencies(numbers.tolist(), attention_factor, options))
