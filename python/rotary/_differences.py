# SPDX-License-Identifier: Apache-2.0
"""diff() compares how two models use positions."""

from __future__ import annotations

import dataclasses
from typing import Any

from rotary import _html
from rotary._checks import checked
from rotary._models import Model, model_of


@dataclasses.dataclass(frozen=True)
class FieldDifference:
    """A field whose value differs between two models; one, other: the values as text.

    effect: "rows" if it changes cos and sin, "model" if it changes positions in another way (such
    as a layer's encoding), "nothing" if it changes no position.
    """

    field: str
    one: str
    other: str
    effect: str


@dataclasses.dataclass(frozen=True)
class RowsDifference:
    """cos and sin of two rotary embeddings, compared at every position of a context.

    first_position: the first position whose rows differ by more than 2^-8, or None. at_first: the
    difference there. pairs: the pairs that differ. same_features: whether pair i of each rotates
    the same two features. largest_angle_error: in radians, of pair largest_angle_pair.
    largest_score_change: for q and k of length 1. least_correlation: of the scores that the two
    embeddings give random q and k, at the distance least_correlation_distance.
    """

    first_position: int | None
    at_first: float
    pairs: tuple[int, ...]
    same_features: bool
    largest_angle_error: float
    largest_angle_pair: int
    largest_score_change: float | None
    least_correlation: float
    least_correlation_distance: int


@dataclasses.dataclass(frozen=True)
class RotaryDifference:
    """The difference of two rotary embeddings, one of each model. layers: the layers that use both.

    one, other: indices in Model.rotary. not_comparable: why cos and sin were not compared; None:
    they were.
    """

    one: int
    other: int
    layers: tuple[int, ...]
    fields: tuple[FieldDifference, ...]
    rows: RowsDifference
    not_comparable: str | None
    differs: bool

    def sentences(self) -> list[str]:
        if self.not_comparable:
            return [self.not_comparable]
        rows = self.rows
        if rows.first_position is None:
            return ["every row of cos and sin is equal over the context"]
        said = [f"first difference at position {rows.first_position}: {rows.at_first:.4g} apart"]
        if not rows.same_features:
            said.append("different features form pairs")
        else:
            said.append(f"largest angle error {rows.largest_angle_error:.4g} rad, "
                        f"pair {rows.largest_angle_pair}; {len(rows.pairs)} pairs differ")
        said.append(f"scores of random q and k correlate {rows.least_correlation:.4g} at "
                    f"distance {rows.least_correlation_distance}")
        return said


@dataclasses.dataclass(frozen=True, repr=False)
class Difference:
    """The answer of diff(); print() shows it. bool() is False only if verdict is "same".

    verdict: "same", "different", or "unknown" if no difference is known but nothing shows how an
    engine (read_as) reads the config. names: the models' names, which head the columns of the
    text.
    """

    context_tokens: int
    fields: tuple[FieldDifference, ...]
    rotary: tuple[RotaryDifference, ...]
    differs: bool
    verdict: str
    names: tuple[str, str] = ("one", "other")

    def __bool__(self) -> bool:
        return self.verdict != "same"

    def _said(self) -> str:
        return {"same": "the same", "different": "different"}.get(
            self.verdict, "no difference is known")

    def _rows(self) -> list[tuple[str, str, str, str]]:
        every = [*self.fields, *(field for rotary in self.rotary for field in rotary.fields)]
        return [(f.field, f.one, f.other,
                 "no effect on positions" if f.effect == "nothing" else "") for f in every]

    def __repr__(self) -> str:
        return f"<rotary.Difference {self._said()} over {self.context_tokens} tokens>"

    def __str__(self) -> str:
        lines = [f"{self.context_tokens} tokens: {self._said()}",
                 *(f"  {sentence}" for rotary in self.rotary for sentence in rotary.sentences())]
        if rows := self._rows():
            rows.insert(0, ("field", *self.names, ""))
            widths = [max(map(len, column)) for column in zip(*rows)]
            lines += ["", *("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths))
                            .rstrip() for row in rows)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        sentences = [(text, "", "", "") for rotary in self.rotary for text in rotary.sentences()]
        title = f"{self.context_tokens} tokens: {self._said()}"
        return _html.table(title, self._rows() + sentences, ("field", *self.names, ""))


def _fields(facts: Any) -> tuple[FieldDifference, ...]:
    return tuple(FieldDifference(*each) for each in facts)


def _names(models: tuple[Model, Model]) -> tuple[str, str]:
    """Returns each model's card or source, cut to its end; "one" and "other" if they are equal."""
    named = [model.source.removeprefix("the model card ").partition(": ")[0] for model in models]
    one, other = (name if len(name) <= 40 else f"…{name[-39:]}" for name in named)
    return Difference.names if one == other else (one, other)


@checked
def diff(one: Any, other: Any, *, context: int | None = None) -> Difference:
    """Compares how two models use positions.

    >>> print(rotary.diff("llama-3.1-8b", "llama-3-8b.params"))

    one, other: models, or anything that resolve() takes. context: how many positions to compare;
    None: the longer trained context. The answer has the fields that differ, the first position
    whose cos and sin differ, and by how much angles and scores differ.
    """
    models = model_of(one, "one"), model_of(other, "other")
    facts = models[0]._core.compare(models[1]._core, context)
    rotary = tuple(RotaryDifference(**{
        **each, "layers": tuple(each["layers"]), "fields": _fields(each["fields"]),
        "rows": RowsDifference(**{**each["rows"], "pairs": tuple(each["rows"]["pairs"])}),
    }) for each in facts["rotary"])
    known = [model.evidence for model in models]
    disputes = [list(each.disputes) if each else [] for each in known]
    differs = facts["differs"] or disputes[0] != disputes[1]
    is_unknown = any(each is not None and each.kind == "none" for each in known)
    verdict = "different" if differs else "unknown" if is_unknown else "same"
    return Difference(facts["context_tokens"], _fields(facts["fields"]), rotary, differs, verdict,
                      _names(models))
