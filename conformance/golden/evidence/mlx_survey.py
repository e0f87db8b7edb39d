# SPDX-License-Identifier: Apache-2.0
"""Runs mlx-lm on configs. Answers (survey.py) have the frequencies that mlx.fast.rope gets."""

import contextlib
import dataclasses
import inspect
import json
import pathlib
import re
import sys
import types
import typing

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.base import BaseModelArgs
from mlx_lm.models.bitlinear_layers import BitLinear
from mlx_lm.utils import MODEL_REMAPPING
from mlx_lm.utils import _get_classes as classes_of

from survey import answer_lines, in_ropes

TOKENS = 1
fast_rope = mx.fast.rope


def from_dict(cls, config, original=BaseModelArgs.from_dict.__func__):
    """Calls the class's from_dict with values for missing fields, except missing rope fields."""
    values = dict(config)
    for field in dataclasses.fields(cls):
        required = (field.default is dataclasses.MISSING and
                    field.default_factory is dataclasses.MISSING)
        is_rope = field.name.startswith(("rope", "rotary", "partial_rotary"))
        if required and field.name not in values and not is_rope:
            values[field.name] = smallest_value(field)
    return original(cls, values)


def smallest_value(field):
    kinds = typing.get_args(field.type) or (field.type,)
    for kind, value in ((bool, False), (int, 4), (float, 1.0), (str, "silu"), (list, []),
                        (dict, {})):
        if kind in kinds or typing.get_origin(field.type) is kind or field.type == kind.__name__:
            return value
    return None


class Spy:
    """Replaces mlx.fast.rope and keeps its arguments for the calling layer."""

    def __init__(self):
        self.layer = [None]
        self.module = [None]
        self.calls = {}

    def __call__(self, x, dims, *, traditional, base, scale, offset, freqs=None, **_):
        rows = [scale * float(base) ** (-2 * pair / dims) for pair in range(dims // 2)] \
            if freqs is None else [scale / each for each in freqs.tolist()]
        seen = {"inv_freq": rows, "pairing": "interleaved" if traditional else "half"}
        self.calls.setdefault(self.layer[-1], []).append((self.module[-1], seen, x))
        return x


@contextlib.contextmanager
def spied():
    spy = Spy()
    mx.fast.rope = spy
    try:
        yield spy
    finally:
        mx.fast.rope = fast_rope


def watched(cls, stack, value_of):
    """Makes calls of the class's instances push value_of(instance) on the stack."""
    original = cls.__call__

    def call(self, *arguments, **named):
        stack.append(value_of(self))
        try:
            return original(self, *arguments, **named)
        finally:
            stack.pop()
    cls.__call__ = call
    return lambda: setattr(cls, "__call__", original)


def run(model, spy):
    """Runs the model's forward pass and watches its layers and rope modules."""
    layers = {id(layer): index for index, layer in enumerate(model.layers)}
    kinds = {type(layer) for layer in model.layers}
    classes = {type(module) for _, module in model.named_modules()}
    ropes = {cls for cls in classes if re.search("rope|rotary", cls.__name__, re.IGNORECASE)}
    indexers = {cls for cls in classes if "Indexer" in cls.__name__}
    undo = [watched(cls, spy.layer, lambda one: layers.get(id(one))) for cls in kinds]
    undo += [watched(cls, spy.layer, lambda one: "of an indexer") for cls in indexers]
    undo += [watched(cls, spy.module, lambda one: one) for cls in ropes | {nn.RoPE}]
    try:
        model(mx.zeros((1, TOKENS), mx.int32))
    finally:
        for each in undo:
            each()
    return len(model.layers)


def rope_at(module, seen, position):
    """Returns the rope that the module uses at a position, and the factor on its features."""
    if module is None:
        return seen, 1.0
    with spied() as spy:
        module(mx.ones((1, 1, 1, 2 * len(seen["inv_freq"]))), offset=position)
    _, used, x = spy.calls[None][-1]
    return used, x[0, 0, 0, 0].item()


def observed(config, contexts):
    model_class, arguments = classes_of(config)
    model = model_class(arguments.from_dict(config))
    with spied() as spy:
        count = run(model, spy)
    return in_ropes([(layer, rope_of(spy.calls[layer], context)) for layer in range(count)
                     if layer in spy.calls] for context in contexts)


def rope_of(found, context):
    alternatives = {json.dumps(rope_at(module, seen, context - 1)[0]): rope_at(module, seen, 0)[1]
                    for module, seen, _ in found}
    text, factor = next(iter(alternatives.items()))
    return json.loads(text) | {"factor": factor, "kinds": len(alternatives)}


def answer(asked):
    if "names" in asked:
        files = pathlib.Path(inspect.getfile(BaseModelArgs)).parent.glob("*.py")
        return {"names": sorted({file.stem for file in files} | set(MODEL_REMAPPING))}
    return observed(asked["config"], asked["calls"])


def main():
    mx.set_default_device(mx.cpu)
    BaseModelArgs.from_dict = classmethod(from_dict)
    BitLinear.__call__ = lambda self, x: mx.zeros((*x.shape[:-1], self.out_features))  # needs Metal
    sys.modules["hf_olmo"] = types.ModuleType("hf_olmo")  # olmo.py checks that it exists
    answer_lines(answer)


if __name__ == "__main__":
    main()
