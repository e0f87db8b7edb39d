# SPDX-License-Identifier: Apache-2.0
"""resolve(): reads from a model's config how each layer uses positions."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import pathlib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from rotary import _core, _html
from rotary._checks import checked, chosen, json_text, plain, text as utf8_text
from rotary._errors import Error, ModelWarning, invalid
from rotary._specs import Frequencies, RotarySpec

_CARDS = pathlib.Path(__file__).parent / "models"
_CLASS_DEFAULTS = ("a PretrainedConfig: keys that the config.json lacks have the defaults of its "
                   "class")


@dataclasses.dataclass(frozen=True)
class Source:
    """Where a value of a model came from.

    value: the name of the value. key: the config's key. origin: "stated" by this key, "asked" by an
    argument, "class_default" of the config's class, "family" (in the code of the model's family) or
    "rule" (computed from other keys, or the default of a scaling rule).
    """

    value: str
    origin: str
    key: str


@dataclasses.dataclass(frozen=True)
class ModelRotary:
    """One rotary embedding of a model; several layers may share it.

    layer_type: the config's name for these layers; None: all layers. softmax_factor: multiplies the
    scale of the scores. nope_head_dim: unrotated features of a head, besides spec.head_dim (MLA).
    trained_context_tokens: None if the config lacks it. sources: where each value came from.
    """

    spec: RotarySpec
    layer_type: str | None
    softmax_factor: float
    nope_head_dim: int
    trained_context_tokens: int | None
    sources: tuple[Source, ...] = dataclasses.field(repr=False)

    def _repr_html_(self) -> str:
        origins = {source.value: source.origin for source in self.sources}
        return _html.table(self.layer_type or "rotary embedding",
                           [(name, value, origins.get(name, ""))
                            for name, value in self.spec._rows()])


@dataclasses.dataclass(frozen=True)
class Layer:
    """How one layer uses positions. rotary: None unless encoding is "rotary".

    query_temperature: the rule that scales queries by their position (Llama 4), or None.
    """

    encoding: str
    rotary: ModelRotary | None
    query_temperature: Mapping[str, Any] | None = None


@dataclasses.dataclass(frozen=True)
class Evidence:
    """How the library knows that an engine (read_as) reads a config this way.

    kind: "run" if somebody ran the engine, "read" if somebody read its source, "none" if neither.
    disputes: warnings that the engine differs from this model.
    """

    kind: str
    sentence: str
    disputes: Sequence[str]


class Model:
    """How each layer of a model uses positions; print() shows it.

    rotary: the rotary embeddings. layers: a Layer for each layer, with its embedding. warnings:
    legal but suspicious facts, for a person to check. source: what was read. evidence: an Evidence
    with read_as, else None. softcap: of the scores, or None. relative_bias: the name of a bias of
    the scores, or None. gguf: facts of a GGUF file, or None.
    """

    def __init__(self, core: _core.Model, source: str, evidence: Evidence | None = None) -> None:
        facts = core.facts()
        self._core = core
        self.source = source
        self.evidence = evidence
        self.model_type: str = facts["model_type"]
        self.config_part: str = facts["config_part"]
        self.rotary: tuple[ModelRotary, ...] = tuple(map(_rotary_of, facts["rotary"]))
        self.layers: tuple[Layer, ...] = tuple(
            Layer(encoding, None if index is None else self.rotary[index], temperature)
            for encoding, index, temperature in facts["layers"])
        self.warnings: tuple[str, ...] = tuple(facts["warnings"])
        self.softcap: float | None = facts["softcap"]
        self.relative_bias: str | None = facts["relative_bias"]
        self.sources: tuple[Source, ...] = _sources_of(facts)
        self.gguf: Mapping[str, Any] | None = facts["gguf"]

    @property
    def layer_types(self) -> tuple[str | None, ...]:
        """The layer type of each rotary embedding, named as in the config."""
        return tuple(rotary.layer_type for rotary in self.rotary)

    @checked
    def rotary_of(self, layer: int | None = None, layer_type: str | None = None) -> ModelRotary:
        """Returns the rotary embedding of a layer or layer type. Without either: the only one."""
        if not self.rotary:
            raise invalid(f"no layer of this model ({self.model_type}) rotates")
        if layer is not None:
            if not -len(self.layers) <= layer < len(self.layers):
                raise invalid(f"layer must be below {len(self.layers)}, got {layer}")
            found = self.layers[layer].rotary
            if found is None:
                raise invalid(f"layer {layer} has encoding "
                              f"{self.layers[layer].encoding}: it does not rotate")
            return found
        if layer_type is not None:
            return chosen({each.layer_type: each for each in self.rotary}, layer_type,
                          "layer_type")
        if len(self.rotary) > 1:
            raise invalid("layer or layer_type must be given, since this model "
                          f"has {len(self.rotary)}: {', '.join(map(str, self.layer_types))}")
        return self.rotary[0]

    @checked
    def frequencies(self, layer: int | None = None, *, layer_type: str | None = None,
                    context: int | None = None) -> Frequencies:
        """Returns the frequencies of a layer or layer type; without either, of the only embedding.

        context: the number of tokens; rules that depend on it (dynamic, longrope) require it.
        """
        return self.rotary_of(layer, layer_type).spec.frequencies(context)

    def __repr__(self) -> str:
        return f"<rotary.Model {self._title()}>"

    def _title(self) -> str:
        count = len(self.rotary)
        rotary = {0: "no layer rotates", 1: "one rotary embedding"}.get(
            count, f"{count} rotary embeddings")
        layers = f", {len(self.layers)} layers" if self.layers else ""
        return f"{self.model_type or 'no model_type'}{layers}, {rotary}"

    def _layers_of(self, rotary: ModelRotary) -> str:
        numbers = [i for i, layer in enumerate(self.layers) if layer.rotary is rotary]
        return ranges_of(numbers) if len(self.rotary) > 1 and numbers else ""

    def __str__(self) -> str:
        lines = [self._title()]
        if self.config_part:
            lines.append(f"read from {self.config_part}")
        for rotary in self.rotary:
            lines.append("")
            if rotary.layer_type or self._layers_of(rotary):
                lines.append(f"{rotary.layer_type or 'rotary'}: layers {self._layers_of(rotary)}")
            origins = {source.value: source.origin for source in rotary.sources}
            for name, value in rotary.spec._rows():
                origin = origins.get(name, "stated")
                note = "" if origin == "stated" else f"  [{origin.replace('_', ' ')}]"
                lines.append(f"  {name:<34}{value}{note}")
            if rotary.trained_context_tokens:
                lines.append(f"  {'trained_context_tokens':<34}{rotary.trained_context_tokens}")
        others = sorted({layer.encoding for layer in self.layers} - {"rotary"})
        for encoding in others:
            numbers = [i for i, layer in enumerate(self.layers) if layer.encoding == encoding]
            lines.append(f"\n{encoding}: layers {ranges_of(numbers)}")
        lines += [f"\nwarning: {warning}" for warning in self.warnings]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        parts = [rotary._repr_html_() for rotary in self.rotary]
        notes = [("warning", text) for text in self.warnings]
        return _html.table(self._title(), notes) + "".join(parts)


def _rotary_of(facts: Mapping[str, Any]) -> ModelRotary:
    return ModelRotary(**{**facts, "spec": RotarySpec.from_json(facts["spec"]),
                          "sources": _sources_of(facts)})


def _sources_of(facts: Mapping[str, Any]) -> tuple[Source, ...]:
    return tuple(Source(*each) for each in facts["sources"])


def ranges_of(numbers: Sequence[int], comma: str = ", ") -> str:
    """[0, 1, 2, 5] -> "0-2, 5"."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return comma.join(f"{a}-{b}" if a != b else str(a) for a, b in parts)


@functools.lru_cache(maxsize=1)
def model_cards() -> tuple[str, ...]:
    """Returns the names of the model configs that come with the package."""
    return tuple(sorted(path.name.removesuffix(".json") for path in _CARDS.glob("*.json")))


def _card(text: str) -> str | None:
    """Returns the card that the text names, in any letter case or as a hub id, or None."""
    names = {name.lower(): name for name in model_cards()}
    return names.get(text.lower()) or names.get(text.rpartition("/")[2].lower())


def _is_gguf(path: pathlib.Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) in (b"GGUF", b"FUGG")


def model_of(config: Any, name: str) -> Model:
    """Returns a Model unchanged, and resolves anything else. name: the parameter, for messages."""
    if isinstance(config, Model):
        return config
    _config_of(config, name)  # refuses what is no config, by the parameter's name
    try:
        return resolve(config)
    except Error as error:
        raise Error(error.status, f"{name}: {error.message}") from None


def _config_of(config: Any, name: str = "config") -> tuple[str | pathlib.Path, str]:
    """Returns the JSON text, or the path of a GGUF file, and a description of its origin. name: the
    parameter, for messages."""
    if isinstance(config, Mapping):
        return json.dumps(config, default=lambda value: plain(value, name)), "a dict"
    if hasattr(config, "to_dict"):
        return json.dumps(config.to_dict(), default=str), _CLASS_DEFAULTS
    if isinstance(config, (bytes, bytearray)):
        return bytes(config).decode("utf-8", "surrogateescape"), "JSON text"
    if isinstance(config, str) and config.lstrip()[:1] == "{":
        return config, "JSON text"
    if not isinstance(config, (str, os.PathLike)):
        hint = "; pass what it was resolved from" if isinstance(config, Model) else ""
        raise TypeError(f"{name} must be a path, a dict, JSON text, the name of a model card or a "
                        f"PretrainedConfig, got {type(config).__name__}{hint}")
    path = pathlib.Path(config)
    if path.is_dir():
        path = path / "config.json"
        if not path.exists():
            raise invalid(f"{name} must be a folder with a config.json, got '{config}'")
    if path.exists():
        if _is_gguf(path):
            return path, str(path)
        return path.read_text(encoding="utf-8", errors="surrogateescape"), str(path)
    card = _card(str(config))
    if card is None:
        import difflib

        near = difflib.get_close_matches(str(config).rpartition("/")[2].lower(), model_cards(), 3,
                                         cutoff=0.5)
        hint = f"; the nearest names: {', '.join(near)}" if near else ""
        if path.suffix in (".json", ".gguf") or len(path.parts) > 1:
            hint = f"; there is no file {path.absolute()}{hint}"
        raise invalid(f"{name} must be a file or the name of a model card "
                      f"(rotary.model_cards()), got '{config}'{hint}")
    return (_CARDS / f"{card}.json").read_text(encoding="utf-8"), f"the model card {card}"


@checked
def resolve(config: Any, *, pairing: str | None = None, context: int | None = None,
            numerics: str = "exact", part: str = "text",
            overrides: Mapping[str, Any] | None = None, read_as: str | None = None) -> Model:
    """Reads a model's config and says how each layer uses positions.

    >>> model = rotary.resolve("llama-3.1-8b")
    >>> print(model.rotary_of(layer=0).spec.base)
    500000.0

    config: the path of a config.json, of its folder or of a GGUF file; a dict; JSON text; the name
        of a model card (model_cards()); or a PretrainedConfig. Nothing is downloaded.
    pairing: "half" or "interleaved", for a model_type that rotary does not know.
    context: how many tokens you will use.
    numerics: "exact", or "transformers", "vllm" or "ggml" to round as that engine does.
    part: "text", "vision" or "audio", for a model that has several.
    overrides: values that replace those of the config: {"rope_scaling.factor": 4}. For a GGUF file,
        its keys {"rope.freq_base": 1e6} or llama.cpp's flags {"rope_scaling": "yarn"}.
    read_as: reads the config as this engine does: "transformers@4.51", "llama.cpp".

    Raises rotary.Error if the config is wrong or unknown. Warns with rotary.ModelWarning if it is
    legal but suspicious.
    """
    text, source = _config_of(config)
    if isinstance(text, str):
        utf8_text(text, "config")
    known = None
    options: dict[str, Any] = {"numerics": numerics, "part": part}
    if pairing is not None:
        options["pairing"] = str(getattr(pairing, "value", pairing))
    if context is not None:
        options["context_tokens"] = context
    if overrides:
        options["overrides"] = [(key, json_text(value, f"overrides.{key}"))
                                for key, value in overrides.items()]
    if isinstance(text, pathlib.Path):
        if read_as or pairing or part != "text":
            raise invalid(f"pairing, part and read_as are for configs, and {text} is a GGUF file")
        core = _core.Model.load(str(text), options)
    elif read_as is not None:
        core, *evidence = _core.Model.resolve_as(text, read_as, options)
        source, known = f"{source}, as {read_as} reads it", Evidence(*evidence)
    else:
        core = _core.Model.resolve(text, options)
    model = Model(core, source, known)
    for warning in model.warnings:
        warnings.warn(warning, ModelWarning, stacklevel=3)
    return model
