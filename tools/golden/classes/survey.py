# SPDX-License-Identifier: Apache-2.0
"""What each rotary class of a transformers release makes of its own configs, one JSON line each.

Runs in the environment that scratch.py makes: it imports the release and a torch that can. A line
has the config, the frequencies and factor of each layer type, and which layers rotate by the
model's own forward pass on torch's meta device, which has shapes and no numbers.
"""

import ast
import copy
import dataclasses
import importlib
import inspect
import json
import pathlib
import sys
import types

import torch
import transformers

MODELS = pathlib.Path(transformers.__file__).parent / "models"
TOKENS = 4
ROTATION = ("apply_rotary", "apply_rotary_emb", "rotate_queries")


@dataclasses.dataclass(frozen=True)
class Use:
    """A place that makes a rotary module of a config: a class of a modeling file."""

    module: types.ModuleType
    rotary: type
    config: type
    models: list  # the classes that make this rotary module of this config


def main():
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    without_numbers()
    wanted = sys.argv[1:]
    for use in uses():
        if wanted and use.config.model_type not in wanted:
            continue
        for name, change in VARIANTS.items():
            line = examined(use, name, change)
            if line is not None:
                print(json.dumps(line), flush=True)


def uses():
    """Every pair of a rotary class and a config that some class makes it of, each once."""
    found = {}
    for path in sorted(MODELS.glob("*/modeling_*.py")):
        source = path.read_text(encoding="utf-8")
        if "RotaryEmbedding(" not in source:
            continue
        module = importlib.import_module(f"transformers.models.{path.parent.name}.{path.stem}")
        for rotary, config, model in uses_in(module, ast.parse(source)):
            use = found.setdefault((rotary, config), Use(module, rotary, config, []))
            use.models.append(model)
    return found.values()


def uses_in(module, tree):
    rotaries = {name: one for name, one in inspect.getmembers(module, inspect.isclass)
                if "Rotary" in name and one.__module__ == module.__name__
                and "config" in inspect.signature(one.__init__).parameters}
    for node in tree.body:
        if not isinstance(node, ast.ClassDef) or node.name in rotaries:
            continue
        model = getattr(module, node.name)
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and getattr(call.func, "id", None) in rotaries:
                config = config_of(module, model, call)
                if config is not None:
                    yield rotaries[call.func.id], config, model


def config_of(module, model, call):
    """The class of the config that the call passes: config or a part of it."""
    parameter = inspect.signature(model.__init__).parameters.get("config")
    config = parameter.annotation if parameter else inspect.Parameter.empty
    if not inspect.isclass(config):
        config = getattr(model, "config_class", None)
    if not inspect.isclass(config) or not hasattr(config, "model_type"):
        return None
    given = [word.value for word in call.keywords if word.arg == "config"] + call.args
    part = ast.unparse(given[0]).removeprefix("self.")
    for name in part.split(".")[1:]:
        config = config.sub_configs.get(name)
        if config is None:
            return None
    return config


def of_rule(**parameters):
    """A change of a config's rope parameters: of all dictionaries of a nested one."""
    def change(config):
        rope = copy.deepcopy(config.rope_parameters)
        nested = all(isinstance(each, dict) for each in rope.values())
        for each in rope.values() if nested else [rope]:
            if each.get("rope_type", "default") != "default":
                return None
            each.update(parameters)
        return {"rope_parameters": rope}
    return change


def longrope(config):
    pairs = rotary_pairs(config)
    if pairs is None:
        return None
    short = [1 + 0.01 * i for i in range(pairs)]
    change = of_rule(rope_type="longrope", factor=4.0, original_max_position_embeddings=2048,
                     short_factor=short, long_factor=[3 * each for each in short])(config)
    return change and change | {"original_max_position_embeddings": 2048,
                                "max_position_embeddings": 8192}


def rotary_pairs(config):
    dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    rope = config.rope_parameters
    if any(isinstance(each, dict) for each in rope.values()):
        return None
    return int(dim * rope.get("partial_rotary_factor", 1.0)) // 2


VARIANTS = {
    "class": lambda config: {},
    "linear": of_rule(rope_type="linear", factor=4.0),
    "dynamic": of_rule(rope_type="dynamic", factor=2.0),
    "yarn": of_rule(rope_type="yarn", factor=4.0, original_max_position_embeddings=2048),
    "llama3": of_rule(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                      original_max_position_embeddings=2048),
    "longrope": longrope,
}


def examined(use, name, change):
    line = {"folder": use.module.__name__.split(".")[-2], "class": use.rotary.__name__,
            "config_class": use.config.__name__, "model_type": use.config.model_type,
            "variant": name,
            "is_axial": hasattr(use.rotary, "compute_axial_rope_parameters")}
    try:
        config = use.config()
        changed = change(config) if line["is_axial"] is False else {}
        if changed is None or (name != "class" and (line["is_axial"] or not changed)):
            return None
        config = use.config(**changed)
        line["config"] = config.to_dict()
        line["diff"] = config.to_diff_dict()
        context = context_of(config, name)
        line |= {"context": context, "ropes": ropes_of(use.rotary, config, context)}
        if name == "class":
            line |= rotating_layers(use, config)
    except Exception as error:  # whatever others' code raises is an answer
        line["error"] = f"{type(error).__name__}: {error}"
        return line if name == "class" else None
    return line


def context_of(config, variant):
    trained = getattr(config, "max_position_embeddings", None)
    return 2 * trained if variant in ("dynamic", "longrope") and trained else None


def ropes_of(rotary, config, context):
    """label -> frequencies and factor, in a context of so many tokens."""
    module = rotary(config=config)
    labels = [name.removesuffix("inv_freq").removesuffix("_")
              for name, _ in module.named_buffers()
              if name.endswith("inv_freq") and "original" not in name]
    if context is not None:
        grow(module, labels, context)
    return {label: {"inv_freq": getattr(module, prefixed(label, "inv_freq")).tolist(),
                    "factor": float(getattr(module, prefixed(label, "attention_scaling")))}
            for label in labels}


def prefixed(label, name):
    return f"{label}_{name}" if label else name


def grow(module, labels, context):
    last = torch.tensor([[context - 1]])
    for label in labels:
        module(torch.zeros(1, 1, 1), last, *([label] if label else []))


def rotating_layers(use, config):
    """Layers of the model whose forward pass calls a function that rotates."""
    why = ""
    for model in use.models:
        for inputs in (of_ids, of_embeddings):
            try:
                return {"rotating": sorted(run(use.module, model, copy.deepcopy(config), inputs))}
            except Exception as error:
                why = why or f"{type(error).__name__}: {error}".splitlines()[0]
    return {"rotating": None, "no_run": why}


def of_ids(_):
    return {"input_ids": torch.zeros(1, TOKENS, dtype=torch.long)}


def of_embeddings(config):
    return {"inputs_embeds": torch.zeros(1, TOKENS, config.hidden_size)}


def run(module, model_class, config, inputs):
    config._attn_implementation = "eager"
    with torch.device("meta"):
        model = model_class(config).eval()
    rotating, stack = set(), []
    for part in model.modules():
        if isinstance(getattr(part, "layer_idx", None), int):
            part.register_forward_pre_hook(lambda one, _: stack.append(one.layer_idx))
            part.register_forward_hook(lambda *_: forget(stack))
        if "Experts" in type(part).__name__:  # which experts run depends on numbers
            part.forward = lambda hidden, *_, **__: hidden
    originals = {name: one for name, one in vars(module).items()
                 if callable(one) and name.lstrip("_").startswith(ROTATION)}
    for name, one in originals.items():
        setattr(module, name, recorded(one, rotating, stack))
    try:
        with torch.no_grad(), torch.device("meta"):
            model(**inputs(config), use_cache=False)
    finally:
        for name, one in originals.items():
            setattr(module, name, one)
    return rotating


def forget(stack):
    stack.pop()


def without_numbers():
    """Makes conditions on tensors of the meta device false: they have no numbers."""
    of_numbers = torch.Tensor.__bool__
    torch.Tensor.__bool__ = lambda one: False if one.is_meta else of_numbers(one)


def recorded(function, rotating, stack):
    def call(*arguments, **named):
        rotating.add(stack[-1] if stack else None)
        return function(*arguments, **named)
    return call


if __name__ == "__main__":
    main()
