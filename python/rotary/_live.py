# SPDX-License-Identifier: Apache-2.0
"""check(): compares the frequencies and tables in a live model with its config."""

from __future__ import annotations

import dataclasses
import json
import re
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from rotary import _html
from rotary._checks import checked
from rotary._errors import Error, invalid
from rotary._live_modules import (FREQUENCIES, ROTARY, Place, called, half_unit, numbers_of,
                                  places, spec_of_attributes, tables_of)
from rotary._live_numbers import Expected, Fault, expected_of, judge_frequencies, judge_tables
from rotary._models import Model, ranges_of, resolve
from rotary._specs import RotarySpec

_HEADLINES = {"faults": "wrong: {faults} of {all} tensors",
              "no_fault": "no fault: {all} of {all} tensors are those of the config",
              "unknown": "nothing was judged"}


@dataclasses.dataclass(frozen=True)
class LiveFinding:
    """A fault of one or more tensors. names: their paths from the model's root.

    kind: "zero", "uninitialised", "rounded", "stale", "other_layer_type", "other_numbers" or
    "attention_factor". advice: how to repair the model.
    """

    names: tuple[str, ...]
    kind: str
    sentence: str
    advice: str

    def __str__(self) -> str:
        return f"{_short(self.names)}: {self.sentence}"


@dataclasses.dataclass(frozen=True, repr=False)
class LiveCheck:
    """The answer of check(); print() shows it.

    findings: the faults. judged: the paths of the tensors that were compared. not_judged: the paths
    of the other tensors, with the reason. verdict: "faults", "no_fault", or "unknown" if nothing
    was compared.
    """

    findings: tuple[LiveFinding, ...]
    judged: tuple[str, ...]
    not_judged: Mapping[str, str]

    @property
    def verdict(self) -> str:
        if self.findings:
            return "faults"
        return "no_fault" if self.judged else "unknown"

    def _headline(self) -> str:
        faults = len({name for each in self.findings for name in each.names})
        return _HEADLINES[self.verdict].format(faults=faults, all=len(self.judged))

    def _rows(self) -> list[tuple[str, str]]:
        rows = []
        for each in self.findings:
            rows += [(str(each), ""), ("", f"Next: {each.advice}")]
        reasons: dict[str, list[str]] = {}
        for name, reason in self.not_judged.items():
            reasons.setdefault(reason, []).append(name)
        rows += [(f"not judged: {_short(tuple(names))}", reason)
                 for reason, names in reasons.items()]
        return rows

    def to_json(self) -> str:
        """Returns JSON text that follows docs/schema/live-check.schema.json."""
        return json.dumps({"schema_version": 1, "verdict": self.verdict,
                           "findings": [dataclasses.asdict(each) for each in self.findings],
                           "judged": self.judged, "not_judged": dict(self.not_judged)})

    def __repr__(self) -> str:
        return f"<rotary.LiveCheck {self._headline()}>"

    def __str__(self) -> str:
        lines = (f"  {name}{': ' if name and note else ''}{note}" for name, note in self._rows())
        return "\n".join((self._headline(), *lines))

    def _repr_html_(self) -> str:
        return _html.table(self._headline(), self._rows())


def _short(names: tuple[str, ...]) -> str:
    """Joins names that differ in one number: "layers.0-31.rotary_emb.inv_freq"."""
    groups: dict[str, list[int]] = {}
    for name in names:
        number = re.search(r"(?<=\.)\d+(?=\.)", name)
        key = name if number is None else f"{name[:number.start()]}*{name[number.end():]}"
        groups.setdefault(key, []).append(-1 if number is None else int(number[0]))
    return ", ".join(key.replace("*", ranges_of(sorted(found), ","), 1)
                     for key, found in groups.items())


class _Checker:
    def __init__(self, spec: RotarySpec | None, config: Any) -> None:
        self._spec = spec
        self._config = config
        self._models: dict[str, Model | str] = {}
        self.faults: dict[tuple[str, str, str], list[str]] = {}
        self.judged: list[str] = []
        self.not_judged: dict[str, str] = {}

    def look_at(self, place: Place) -> None:
        tables = {}
        for name, tensor in place.tensors():
            numbers = numbers_of(tensor)
            if isinstance(numbers, str):
                self.not_judged[place.name_of(name)] = numbers
            elif FREQUENCIES.search(name):
                self._frequencies(place, name, numbers)
            else:
                tables[name] = (numbers, half_unit(tensor))
        found = tables_of(tables)
        for name, pair in found.items():
            self._tables(place, name, pair)
        for name in tables.keys() - found.keys() - {each.replace("cos", "sin") for each in found}:
            shape = list(tables[name][0].shape)
            self.not_judged[place.name_of(name)] = f"no layout of tables is known for {shape}"

    def call(self, place: Place) -> None:
        """Checks what a rotary module of Transformers computes at the first positions."""
        prefix = f"{place.path}." if place.path else ""
        if any(name.startswith(prefix) for names in self.faults.values() for name in names):
            return
        expected = self._expected(place)
        if isinstance(expected, str):
            return
        held = {found["type"] for name, _ in place.tensors()
                if (found := FREQUENCIES.search(name)) and found["type"]}
        types = {each.layer_type for each in expected} & held
        for each in expected:
            exponents = (each.spec.axes or {}).get("exponents", "shared")
            if (types and each.layer_type not in types) or (
                    exponents != "shared" and not hasattr(place.module, "axes_dim")):
                continue  # a vision tower, which takes grids instead of positions
            made = called(place.module, each.layer_type if types else None)
            if isinstance(made, str):
                self.not_judged[place.name_of("forward")] = made
            else:
                name = "forward" + (f"({each.layer_type})" if types else "")
                cos, sin, error = made
                self._judge(place, name, judge_tables(cos, sin, each, error))

    def _expected(self, place: Place) -> list[Expected] | str:
        if self._spec is not None:
            return [Expected(self._spec)]
        own = spec_of_attributes(place.module)
        if own is not None:
            return [Expected(own)]
        config = self._config if self._config is not None else place.config
        if config is None:
            return "no config says what it must be: give spec= or config="
        model = self._resolved(config)
        if isinstance(model, str):
            return model
        if not model.rotary:
            return f"no layer of {model.model_type} rotates"
        return [expected_of(each) for each in model.rotary]

    def _resolved(self, config: Any) -> Model | str:
        text = config if isinstance(config, str) else json.dumps(config, default=str,
                                                                 sort_keys=True)
        if text not in self._models:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    self._models[text] = resolve(text)
                except Error as error:
                    self._models[text] = f"its config does not resolve: {error}"
        return self._models[text]

    def _frequencies(self, place: Place, name: str, seen: np.ndarray) -> None:
        expected = self._expected(place)
        if isinstance(expected, str):
            self.not_judged[place.name_of(name)] = expected
            return
        label = (FREQUENCIES.search(name) or {}).groupdict().get("type")
        named = [each for each in expected if each.layer_type == label] or expected
        answers = [judge_frequencies(seen.ravel(), each, expected) for each in named]
        answer = None if None in answers else answers[0]
        if label is not None and named is expected and isinstance(answer, Fault):
            answer = f"the config has no layers of type {label}"
        self._judge(place, name, answer)
        if "original" not in name:
            self._scaling(place, f"{label}_attention_scaling" if label else "attention_scaling",
                          named[0].attention_factor)

    def _scaling(self, place: Place, name: str, factor: float) -> None:
        scaling = getattr(place.module, name, None)
        if isinstance(scaling, (int, float)):
            is_right = np.isclose(scaling, factor, rtol=1e-6)
            self._judge(place, name, None if is_right else Fault(
                "attention_factor", f"{scaling:g}, where the config gives {factor:g}"))

    def _tables(self, place: Place, name: str, pair: tuple) -> None:
        expected = self._expected(place)
        if isinstance(expected, str):
            self.not_judged[place.name_of(name)] = expected
            return
        cos, sin, error = pair
        first = -len(cos) if name.startswith("neg_") else 0
        answers = [judge_tables(cos, sin, each, error, first) for each in expected]
        self._judge(place, name, None if None in answers else answers[0])

    def _judge(self, place: Place, name: str, answer: Fault | str | None) -> None:
        path = place.name_of(name)
        if isinstance(answer, str):
            self.not_judged[path] = answer
            return
        self.judged.append(path)
        if answer is not None:
            advice = _advice(place, name)
            self.faults.setdefault((answer.kind, answer.sentence, advice), []).append(path)

    def result(self) -> LiveCheck:
        findings = tuple(LiveFinding(tuple(names), kind, sentence, advice)
                         for (kind, sentence, advice), names in self.faults.items())
        return LiveCheck(findings, tuple(self.judged), self.not_judged)


def _advice(place: Place, name: str) -> str:
    if getattr(place.module, "config", None) is not None:
        path = f"model.{place.path}" if place.path else "model"
        if re.search(r"\.\d+\.", path):
            path = "module"  # one of several modules, which have the same advice
        return (f"make the module again, after the weights are loaded and cast: {path} = "
                f"type({path})(config={path}.config)")
    return (f"compute {name} again in float32, after the weights are loaded and cast: "
            "rotary.resolve(config).frequencies() has the numbers")


@checked
def check(model: Any, *, config: Any = None, spec: RotarySpec | None = None) -> LiveCheck:
    """Compares the frequencies and tables in a live PyTorch model with its config.

    >>> print(rotary.check(model))

    model: a torch.nn.Module, of Transformers or another library; also compiled, quantized or
        sharded.
    config: anything that resolve() takes, in place of the modules' own configs.
    spec: a RotarySpec, in place of every config.

    check() compares every inv_freq, every table of cos and sin, and the results of rotary modules
    at the first positions. A module without a config is compared with its attributes dim and base
    (or theta), or with the config of its nearest parent. not_judged gives a reason for each tensor
    that cannot be compared. The model is neither changed nor moved.

    Raises TypeError if model is no torch.nn.Module, rotary.Error if `config` does not resolve.
    """
    if not hasattr(model, "named_modules"):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}; the tool's "
                        "`rotary check` reads config files")
    checker = _Checker(spec, None if config is None else _config_text(config))
    for place in places(model):
        checker.look_at(place)
        if ROTARY.search(type(place.module).__name__) and not list(place.module.children()):
            checker.call(place)
    return checker.result()


def _config_text(config: Any) -> str:
    from rotary._models import _config_of
    text, _ = _config_of(config)
    if not isinstance(text, str):
        raise invalid(f"config must be that of a PyTorch model, got {text}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        resolve(text)
    return text
