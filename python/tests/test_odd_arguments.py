# SPDX-License-Identifier: Apache-2.0
"""Calls every public function with every odd value for every parameter. Each call must give the
right answer, or raise an error that names the parameter. CALLS has the other arguments."""

import inspect
import os
import re
import shutil
import types
import typing
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import rotary
from reference import numbers
from rotary.__main__ import find_tool

ODD = [2**63, -2**63 - 1, 2**62, -1, 0, 10**5000, 1.9, -0.5, float("nan"), float("inf"), 10.0**300,
       True, None, "", "x", "\ud800", b"x", object(), int, 1j, [], [1, 2], [[1], [1, 2]], ["x"], {},
       {"x": object()}, range(2**63, 2**63 + 3), range(0, 2**64), np.zeros((2, 2)), np.array(["x"])]
SCALARS = [np.int8(3), np.int64(-1), np.uint64(2**63), np.float16(1.5), np.float32(1.9),
           np.float64("nan"), np.longdouble(2), np.bool_(True), np.complex64(1), np.str_("x")]

SPEC = rotary.RotarySpec(head_dim=8, base=1e4, pairing="half")
F = SPEC.frequencies()
ROWS = F.rotations(range(4))
DYNAMIC = rotary.RotarySpec(head_dim=8, base=1e4, pairing="half", scaling={
    "rope_type": "dynamic", "factor": 2.0, "original_max_position_embeddings": 64})
MODEL = rotary.resolve("llama-2-7b-chat")
ALIBI = rotary.Bias("alibi", heads=2)
SLICED = {"thumbnail_rows": 4, "thumbnail_columns": 4, "slices_down": 1, "slices_across": 2,
          "slice_rows": 4, "slice_columns": 4, "newlines_after": 0}


def heads():
    return numbers(4, 2, 8)


def quantized():
    made = rotary.QuantizedHeads.zeros((1, 8, 2, 8), layout="bthd")
    rotary.append(made, heads()[None], slots=0, layout="bthd", rotations=None)
    return made


def attend_with(**options):
    return rotary.attend(heads(), heads(), heads(), scale=1.0, layout="thd", causal=False,
                         **options)


def append_with(**options):
    cache = np.zeros((1, 8, 2, 8), np.float32)
    given = {"k_cache": cache, "k": heads()[None], "slots": 0, "layout": "bthd", "rotations": ROWS,
             **options}
    rotary.append(**given)
    return cache


class NoModules:
    def named_modules(self):
        return []

    def register_forward_pre_hook(self):
        raise AssertionError


def ids(group):
    return rotary.m_rope_positions([group], "minicpm-v-4.7" if isinstance(
        group, rotary.SlicedImage) else "qwen2.5-vl").positions


TABLES = F.tables(range(4), form="pairs")
Q = numbers(1, 2, 4, 128)
IDENTIFY = {"config": MODEL, "positions": range(4), "layer": 0, "layer_type": None, "context": 64,
            "causes": 1}
# name: (call, arguments). Other arguments keep their defaults.
CALLS = {
    "AttentionSequence": (lambda **n: attend_with(sequences=[rotary.AttentionSequence(**n)]),
                          {"queries": 4, "keys": 4, "query_position": 0}),
    "Bias": (lambda **n: rotary.Bias(**n).table(2, 2), {
        "name": "t5", "table": np.ones((32, 2)), "buckets": 32, "max_distance": 128,
        "direction": "causal"}),
    "Bias.at": (ALIBI.at, {"head": 1, "query": 2, "key": 1}),
    "Bias.names": (rotary.Bias.names, {}),
    "Bias.table": (ALIBI.table, {"queries": 2, "keys": 3}),
    "Figure.svg": (lambda **n: rotary.plot("wavelengths", "llama-2-7b-chat").svg(**n), {}),
    "Frequencies": (lambda **n: rotary.Frequencies(**n).inv_freq,
                    {"spec": DYNAMIC, "context": 128}),
    "Frequencies.rotate": (lambda **n: F.rotate(**{"q": heads(), **n}),
                           {"positions": range(4), "layout": "thd"}),
    "Frequencies.rotate_alike": (F.rotate_alike, {"other": F}),
    "Frequencies.rotations": (lambda **n: F.rotations(**n).tables(), {"positions": range(4)}),
    "Frequencies.tables": (F.tables, {"positions": range(4)}),
    "ImagePatches": (lambda **n: ids(rotary.ImagePatches(**n)), {"rows": 4, "columns": 4}),
    "KeyNorm": (lambda **n: append_with(norm=rotary.KeyNorm(**n)),
                {"epsilon": 1e-6, "over": "each_head", "order": "before_rotation"}),
    "Model.frequencies": (lambda **n: MODEL.frequencies(**n).inv_freq, {"layer": 0, "context": 8}),
    "Model.rotary_of": (MODEL.rotary_of, {"layer": 0}),
    "Page.save": (lambda **n: rotary.Page("text").save(**n), {"path": os.devnull}),
    "QuantizedHeads": (lambda **n: rotary.QuantizedHeads(**n).dequantized(layout="bthd"),
                       {"elements": quantized().elements, "scales": quantized().scales}),
    "QuantizedHeads.dequantized": (quantized().dequantized, {"layout": "bthd"}),
    "QuantizedHeads.zeros": (lambda **n: rotary.QuantizedHeads.zeros(**n).scales,
                             {"shape": (1, 4, 2, 8), "layout": "bthd"}),
    "RotarySpec": (lambda **n: rotary.RotarySpec(**n).frequencies(8).inv_freq,
                   {"head_dim": 8, "base": 1e4, "pairing": "half"}),
    "RotarySpec.frequencies": (lambda **n: DYNAMIC.frequencies(**n).inv_freq, {"context": 128}),
    "RotarySpec.from_json": (rotary.RotarySpec.from_json, {"text": SPEC.to_json()}),
    "RotarySpec.replace": (lambda **n: SPEC.replace(**n).frequencies().inv_freq,
                           {"head_dim": 8, "base": 1e4}),
    "RotarySpec.to_json": (SPEC.to_json, {}),
    "Rotations.of_rows": (lambda **n: rotary.Rotations.of_rows(**n).tables(),
                          {"spec": SPEC, "cos": TABLES[0], "sin": TABLES[1]}),
    "Rotations.rotate": (lambda **n: ROWS.rotate(**{"q": heads(), **n}), {"layout": "thd"}),
    "Rotations.tables": (ROWS.tables, {}),
    "LiveCheck.to_json": (rotary.check(NoModules()).to_json, {}),
    "SlicedImage": (lambda **n: ids(rotary.SlicedImage(**n)), SLICED),
    "TextTokenRun": (lambda **n: ids(rotary.TextTokenRun(**n)), {"tokens": 3}),
    "VideoPatches": (lambda **n: ids(rotary.VideoPatches(**n)),
                     {"frames": 2, "rows": 2, "columns": 2}),
    "Watched.to_json": (rotary.Watched().to_json, {}),
    "append": (append_with, {}),
    "attend": (lambda **n: rotary.attend(**{"q": heads(), "k": heads(), "v": heads(), **n}),
               {"scale": 1.0, "layout": "thd", "causal": False, "left": 3, "right": 3,
                "softcap": 30.0}),
    "check": (rotary.check, {"model": NoModules()}),
    "check_positions": (rotary.check_positions, {"ids": [0, 1, 2], "past": 0}),
    "diff": (rotary.diff, {"one": "llama-2-7b-chat", "other": "llama-3.1-8b", "context": 64}),
    "grid_positions": (rotary.grid_positions, {"rows": 2, "columns": 2}),
    "identify": (rotary.identify, {"before": Q, "after": MODEL.frequencies().rotate(
        Q, positions=range(4), layout="bhtd"), "layout": "bhtd", **IDENTIFY}),
    "identify_frequencies": (rotary.identify_frequencies, {
        "inv_freq": MODEL.frequencies().inv_freq,
        **{name: value for name, value in IDENTIFY.items() if name != "positions"}}),
    "identify_tables": (rotary.identify_tables, dict(zip(("cos", "sin"), MODEL.frequencies().tables(
        range(4), form="pairs"))) | IDENTIFY),
    "instruction_set": (rotary.instruction_set, {}),
    "m_rope_conventions": (rotary.m_rope_conventions, {}),
    "m_rope_positions": (lambda **n: rotary.m_rope_positions(**n).positions, {
        "groups": [rotary.TextTokenRun(3)], "convention": "qwen2.5-vl", "merge": 2,
        "temporal_merge": 2, "ids_per_second": 2, "ids_per_chunk": 50}),
    "model_cards": (rotary.model_cards, {}),
    "plot": (lambda name, **n: rotary.plot(name, "llama-2-7b-chat", **n).panels,
             {"name": "wavelengths", "context": 64}),
    "positions_of": (rotary.positions_of, {"lengths": [2, 1], "past": 0}),
    "report": (lambda **n: rotary.report("llama-2-7b-chat", **n).text, {"context": 64}),
    "resolve": (rotary.resolve, {"config": "llama-2-7b-chat", "context": 64}),
    "shift": (lambda **n: rotary.shift(**{"keys": heads(), **n}), {
        "layout": "thd", "before": F, "positions": range(4), "new_positions": range(4)}),
    "watch": (rotary.watch, {"model": NoModules()}),
}
MODULES = {"": rotary}
try:
    import torch
except ImportError:
    pass  # ./dev python --torch runs the calls below
else:
    MODULES |= {"torch.": rotary.torch, "transformers.": rotary.transformers}
    X, AT = torch.from_numpy(heads()), torch.arange(4)
    EMBEDDING = rotary.torch.RotaryEmbedding(DYNAMIC)

    class TinyRotaryEmbedding(torch.nn.Module):
        config = types.SimpleNamespace(to_dict=lambda: {
            "model_type": "llama", "hidden_size": 16, "num_attention_heads": 2,
            "num_hidden_layers": 1, "rope_theta": 1e4, "max_position_embeddings": 64})

        def forward(self, x, position_ids):
            angles = position_ids[..., None].cpu().double() * torch.from_numpy(F.inv_freq.copy())
            rows = torch.cat((angles, angles), -1)
            return rows.cos().to(x.dtype), rows.sin().to(x.dtype)

    CALLS |= {
        "torch.RotaryEmbedding": (lambda **n: rotary.torch.RotaryEmbedding(**n).spec,
                                  {"spec": MODEL, "layer": 0, "context": 64}),
        "torch.RotaryEmbedding.extra_repr": (EMBEDDING.extra_repr, {}),
        "torch.RotaryEmbedding.forward": (lambda **n: EMBEDDING(**{"q": X, "k": X, **n}),
                                          {"positions": AT, "layout": "thd"}),
        "torch.bias_table": (rotary.torch.bias_table, {"bias": ALIBI, "queries": 2, "keys": 3}),
        "torch.rotate": (rotary.torch.rotate, dict(zip(("cos", "sin"), rotary.torch.tables(
            SPEC, AT))) | {"x": X, "pairing": "half", "layout": "thd"}),
        "torch.rotate_by": (rotary.torch.rotate_by, {"rotations": ROWS, "x": X, "layout": "thd"}),
        "torch.tables": (rotary.torch.tables, {"spec": DYNAMIC, "positions": AT, "context": 64}),
        "transformers.exact_class": (lambda **n: rotary.transformers.exact_class(**n).__name__,
                                     {"target": TinyRotaryEmbedding}),
        "transformers.mapping": (lambda classes: list(rotary.transformers.mapping(classes)),
                                 {"classes": TinyRotaryEmbedding}),
        "transformers.patch": (lambda **n: len(rotary.transformers.patch(**n).patched),
                               {"target": torch.nn.ModuleList([TinyRotaryEmbedding()])}),
    }
# Classes whose constructors are not in CALLS: results of other calls, errors, containers.
NOT_MADE = {"Cause", "Difference", "Error", "Explanation", "Figure", "Identification", "Layer",
            "LiveCheck", "LiveFinding", "MRopePositions", "Model", "ModelRotary", "ModelWarning",
            "Page", "Pairing", "Parameters", "PositionCheck", "PositionFinding", "ReadPositions",
            "Rotations", "Scaling", "Source", "Watched", "WatchedCall"}


# Other words by which a message may name a parameter.
WORDS = {
    "buckets": ("bucket",), "config": ("model_type",), "elements": ("scales",),
    "first_key": ("keys",), "first_query": ("queries",), "inv_freq": ("pairs",), "k": ("layout",),
    "key_position": ("positions",), "new_positions": ("tokens",), "one": ("model_type",),
    "positions": ("tokens",), "q": ("layout",), "query_position": ("positions",),
    "text": ("spec", "head_dim"), "v": ("layout",),
    **{name: (name.rpartition("_")[2],) for name in SLICED},
}
# Types, besides None, that parameters with the annotation Any take.
TAKES = {"base": (int, float), "context": (int,), "head_dim": (int,), "heads": (int,),
         "mask": (bool, np.generic), "max_distance": (int,), "positions": (list, np.ndarray),
         "slots": (int,), "ids": (list, np.ndarray), "lengths": (list, np.ndarray),
         "past": (int, list, np.generic)}


def public_calls():
    """Returns name: function for every name in each __all__ and for every public method."""
    found = {}
    for name, value in ((prefix + name, getattr(module, name))
                        for prefix, module in MODULES.items() for name in module.__all__):
        if not inspect.isclass(value):
            found[name] = value
            continue
        if name not in NOT_MADE:
            found[name] = value.__init__
        for method in vars(value):
            function = getattr(value, method)
            if not method.startswith("_") and inspect.isroutine(function):
                found[f"{name}.{method}"] = function
    return found


def test_every_public_call_has_base_arguments():
    assert set(CALLS) == set(public_calls())


def parameters():
    """Yields (call, parameter, hint, default). For **options yields each name that CALLS has."""
    for call, function in public_calls().items():
        hints = typing.get_type_hints(inspect.unwrap(function))
        own = inspect.signature(function).parameters
        for name, each in own.items():
            if each.kind is each.VAR_KEYWORD:
                for given in sorted(set(CALLS[call][1]) - set(own)):
                    yield call, given, hints[name], None
            elif name != "self" and (each.kind is not each.VAR_POSITIONAL or
                                     name in CALLS[call][1]):
                hint = Any if Any in typing.get_args(hints[name]) else hints[name]
                yield call, name, hint, each.default


def outcome(call, changes):
    """Returns ("returned", value) or ("refused", error). Other exceptions fail the test."""
    function, base = CALLS[call]
    try:
        return "returned", function(**{**base, **changes})
    except (TypeError, ValueError) as error:
        return "refused", error


def names(error, parameter):
    words = "|".join((parameter.replace("_", "[_ ]"), *WORDS.get(parameter, ())))
    return ("incompatible function arguments" not in str(error) and
            re.search(rf"(?<![a-z_])({words})(?![a-z_])", str(error), re.IGNORECASE))


def fits(hint, value):
    parts = typing.get_args(hint)
    origin = typing.get_origin(hint)
    if hint is Any or hint is type(None):
        return hint is not Any and value is None
    if origin in (typing.Union, types.UnionType):
        return any(fits(part, value) for part in parts)
    if isinstance(value, bool) or hint is bool:
        return isinstance(value, bool) and hint is bool
    if hint is float:
        return isinstance(value, (int, float))
    if origin is not None:
        return isinstance(value, origin) and not isinstance(value, str)
    return isinstance(value, Mapping if issubclass(hint, Mapping) else hint)


def is_right(call, parameter, hint, value, result):
    """Whether the parameter should accept this value. A NumPy number must also give the result of
    the equal Python number."""
    if isinstance(value, np.generic) and parameter != "mask":
        plain = float(value) if isinstance(value, np.floating) else value.item()
        kind, expected = outcome(call, {parameter: plain})
        return kind == "returned" and same(result, expected)
    if hint is not Any:
        return fits(hint, value)
    taken = TAKES.get(parameter, ())
    return isinstance(value, taken) and (bool in taken or not isinstance(value, bool))


def same(one, other):
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    if hasattr(one, "dtype") and hasattr(one, "shape"):
        return np.array_equal(one, other, equal_nan=True)
    return str(one) == str(other)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # an odd text may become a file


def shown(value):
    return f"an int of {value.bit_length()} bits" if type(value) is int else repr(value)


EACH_PARAMETER = pytest.mark.parametrize("call, parameter, hint, default", [
    pytest.param(*each, id=f"{each[0]}-{each[1]}") for each in parameters()])


def skip_without_tool(call):
    if call in ("Figure.svg", "plot", "report") and not (find_tool() and shutil.which("gnuplot")):
        pytest.skip("figures need the tool, pictures gnuplot")


@pytest.mark.filterwarnings("ignore")
@EACH_PARAMETER
def test_odd_values_give_the_right_answer_or_an_error_that_names_the_parameter(
        call, parameter, hint, default):
    skip_without_tool(call)
    assert outcome(call, {})[0] == "returned"
    for value in ODD + SCALARS:
        try:
            kind, result = outcome(call, {parameter: value})
        except OSError:
            assert parameter == "path"
            continue
        if kind == "refused":
            assert names(result, parameter) or getattr(result, "status", "") == "out_of_memory", (
                f"{shown(value)}: {result!r}")
        elif value is not None or default is not None:
            assert is_right(call, parameter, hint, value, result), f"{shown(value)} was taken"


@pytest.mark.filterwarnings("ignore")
@EACH_PARAMETER
def test_numpy_scalars_act_like_python_numbers(call, parameter, hint, default):
    base = CALLS[call][1].get(parameter, default)
    if isinstance(base, bool) or not isinstance(base, (int, float)):
        return
    skip_without_tool(call)
    expected = outcome(call, {parameter: base})[1]
    takes_floats = isinstance(base, float) or fits(hint, 0.5)
    kinds = (np.float64, np.longdouble) if takes_floats else (np.int64, np.int16)
    for kind in kinds:
        assert same(outcome(call, {parameter: kind(base)})[1], expected), kind
