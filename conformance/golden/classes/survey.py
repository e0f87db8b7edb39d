# SPDX-License-Identifier: Apache-2.0
"""Runs each rotary class of a Transformers release on its own configs; prints a JSON line for each.

    survey.py SETTINGS.json [MODEL_TYPE]...

Runs in classes.py's environment. A line has the config, and each layer type's frequencies, factor
and rows. It also has the layers that rotate in the model's forward pass on torch's meta device,
which has shapes but no numbers. Exceptions of other projects' code are answers.
"""

import ast
import collections
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
POSITIONS = (0, 1, 4095, 131071)
ROTATION = ("apply_rotary", "rotate_queries")


@dataclasses.dataclass(frozen=True)
class Use:
    """A rotary class, a config for it, and the models that use both."""

    module: types.ModuleType
    rotary: type
    config: type
    models: list


def main():
    prepare()
    settings = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    wanted = sys.argv[2:]
    for use in uses():
        if wanted and use.config.model_type not in wanted:
            continue
        complete = settings["complete"].get(use.config.__name__, {})
        for variant in ("class", *RULES):
            line = examined(use, complete, variant)
            if line is not None:
                print(json.dumps(line), flush=True)


def prepare():
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    torch.distributions.Distribution.set_default_validate_args(False)  # validation needs numbers
    # Conditions on meta tensors are false, since these have no numbers.
    of_numbers = torch.Tensor.__bool__
    torch.Tensor.__bool__ = lambda one: False if one.is_meta else of_numbers(one)


def uses():
    found = {}
    for path in sorted(MODELS.glob("*/modeling_*.py")):
        source = path.read_text(encoding="utf-8")
        if "RotaryEmbedding(" not in source:
            continue
        module = importlib.import_module(f"transformers.models.{path.parent.name}.{path.stem}")
        for rotary, config, model in uses_in(module, ast.parse(source)):
            found.setdefault((rotary, config), Use(module, rotary, config, [])).models.append(model)
    return [*found.values(), *borrowed()]


def borrowed():
    """Yields a Use for config classes without modeling code, with the models of Auto classes."""
    for config in transformers.CONFIG_MAPPING.values():
        folder = pathlib.Path(inspect.getfile(config)).parent
        if any(folder.glob("modeling_*.py")) or config not in transformers.MODEL_MAPPING:
            continue
        model = transformers.MODEL_MAPPING[config]
        module = importlib.import_module(model.__module__)
        source = pathlib.Path(module.__file__).read_text(encoding="utf-8")
        for rotary, _, user in uses_in(module, ast.parse(source)):
            if user is model:
                yield Use(module, rotary, config, [model])


def uses_in(module, tree):
    """Finds where a modeling file constructs a rotary module from a config."""
    rotaries = {name: one for name, one in inspect.getmembers(module, inspect.isclass)
                if "Rotary" in name and one.__module__ == module.__name__
                and "config" in inspect.signature(one.__init__).parameters}
    for node in tree.body:
        if not isinstance(node, ast.ClassDef) or node.name in rotaries:
            continue
        model = getattr(module, node.name)
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and getattr(call.func, "id", None) in rotaries:
                config = config_of(model, call)
                if config is not None:
                    yield rotaries[call.func.id], config, model


def config_of(model, call):
    """The class of the config that the call passes: the model's, or one inside it."""
    parameter = inspect.signature(model.__init__).parameters.get("config")
    config = parameter.annotation if parameter else None
    if not hasattr(config, "model_type"):
        config = getattr(model, "config_class", None)
    if not hasattr(config, "model_type"):
        return None
    if "max_position_embeddings" not in vars(config()) and "decoder" in config.sub_configs:
        return config.sub_configs["decoder"]  # t5gemma annotates with the full config
    given = [word.value for word in call.keywords if word.arg == "config"] + call.args
    for name in ast.unparse(given[0]).removeprefix("self.").split(".")[1:]:
        config = config.sub_configs.get(name)
        if config is None:
            return None
    return config


ORIGINAL, TRAINED = 2048, 8192
RULES = {
    "linear": {"factor": 4.0},
    "dynamic": {"factor": 2.0},
    "yarn": {"factor": 4.0, "original_max_position_embeddings": ORIGINAL},
    "llama3": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": ORIGINAL},
    "longrope": {"factor": 4.0, "original_max_position_embeddings": ORIGINAL},
}


def lists(pairs):
    """LongRoPE's lists."""
    short = [1 + 0.01 * i for i in range(pairs)]
    return {"short_factor": short, "long_factor": [3 * each for each in short]}


def changes(config, rule):
    """Returns the config keys that give a default rope the rule; None if that is not possible."""
    rope, made = copy.deepcopy(config.rope_parameters), {}
    nested = [each for each in rope.values() if isinstance(each, dict)]
    parameters = {"rope_type": rule} | RULES[rule]
    if rule == "longrope":
        if nested:
            return None
        dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        parameters |= lists(int(dim * rope.get("partial_rotary_factor", 1.0)) // 2)
        made = {"original_max_position_embeddings": ORIGINAL, "max_position_embeddings": TRAINED}
    for each in nested or [rope]:
        if each.get("rope_type", "default") != "default":
            return None
        each.update(parameters)
    return {"rope_parameters": rope} | made


# Classes with several axes that read only rope_theta.
WITHOUT_RULES = ("Llama4VisionRotaryEmbedding",)


def examined(use, complete, variant):
    """Returns a config's line, or None if the rule does not apply."""
    line = {"folder": use.module.__name__.split(".")[-2], "class": use.rotary.__name__,
            "config_class": use.config.__name__, "model_type": use.config.model_type,
            "variant": variant,
            "is_axial": hasattr(use.rotary, "compute_axial_rope_parameters")}
    try:
        config = use.config(**complete)
        if variant != "class":
            reads_rules = not line["is_axial"] and use.rotary.__name__ not in WITHOUT_RULES
            changed = changes(config, variant) if reads_rules else None
            if changed is None:
                return None
            config = use.config(**complete | changed)
        trained = getattr(config, "max_position_embeddings", None)
        context = 2 * trained if variant in ("dynamic", "longrope") and trained else None
        line |= {"config": config.to_dict(), "context": context, "positions": POSITIONS,
                 "ropes": ropes_of(use.rotary, config, context),
                 "axes": axes_of(use.rotary(config=config))}
        if variant == "class":
            line |= rotating_layers(use, config)
    except Exception as error:
        if variant != "class":
            return None
        line["error"] = text_of(error)
    return line


def text_of(error):
    return f"{type(error).__name__}: {error}".splitlines()[0]


def labels_of(module):
    return [name.removesuffix("inv_freq").removesuffix("_")
            for name, _ in module.named_buffers()
            if name.endswith("inv_freq") and "original" not in name]


def axes_of(module):
    """label -> each channel's axis and frequency; empty for one axis. Runs the class's own
    recombination on frequencies that are 0 except on one axis."""
    if not hasattr(module, "recomposition_frequencies"):
        return {}
    found = {}
    for label in labels_of(module):
        prefix = f"{label}_" if label else ""
        inv_freq = getattr(module, prefix + "inv_freq")
        takes_label = "layer_type" in inspect.signature(module.recomposition_frequencies).parameters
        labels = [label] if takes_label else []
        channels = {}
        for axis in range(axis_count(module)):
            ids = torch.zeros(axis_count(module), 1)
            ids[axis] = 1
            angles = in_shape(module, ids)[..., None] * inv_freq
            made = module.recomposition_frequencies(angles, *labels)
            channels |= {channel: (axis, value)
                         for channel, value in enumerate(made.flatten().tolist()) if value}
        found[label] = [channels[channel] for channel in sorted(channels)]
    return found


def takes_columns_first(module):
    """Whether the model passes a patch as (column, row). Here a patch is (row, column)."""
    name = type(module).__name__
    return "Vision" in name and name.startswith(("Muse", "Sam", "EdgeTam", "Gemma4")) or (
        name.startswith("Sam3ViT"))


def axis_count(module):
    name = type(module).__name__
    if "HunYuan" in name:
        return len(module.mrope_section)
    is_text = not hasattr(module, "compute_axial_rope_parameters")
    return 3 if (is_text and "NeoMME" not in name) or "MiniMax" in name else 2


def in_shape(module, ids):
    """Coordinates [axes][tokens], in the shape and order of the class's position_ids."""
    if takes_columns_first(module):
        ids = ids.flip(0)
    if not hasattr(module, "compute_axial_rope_parameters"):
        return ids[:, None, :]
    return ids.T[None] if "Gemma4" in type(module).__name__ else ids.T


def ropes_of(rotary, config, context, positions=POSITIONS):
    """label -> frequencies and factor in this context. Without a context (None) also the rows at
    `positions`, unless that is None."""
    module = rotary(config=config)
    found = {} if labels_of(module) else of_table(module)
    for label in labels_of(module):
        asked = positions if context is None else [0, context - 1]
        rows = rows_of(module, label, asked) if asked else None
        prefix = f"{label}_" if label else ""
        found[label] = {"inv_freq": getattr(module, prefix + "inv_freq").tolist(),
                        "factor": float(getattr(module, prefix + "attention_scaling"))}
        if context is None:
            found[label]["rows"] = rows
        elif rows is not None:  # PhiMoE's attribute lacks the factor for a context
            found[label]["factor"] = rows["cos"][0][0]
    return found


def of_table(module):
    """Like ropes_of, for GPT-J's class, which only keeps a table of sines and cosines."""
    sines, cosines = module.embed_positions[1].double().chunk(2)
    return {"": {"inv_freq": torch.atan2(sines, cosines).tolist(), "factor": 1.0}}


def rows_of(module, label, positions):
    """cos and sin at text positions, as the class returns them; None if the class fails."""
    arguments = (torch.zeros(1, 1, 1), torch.tensor([positions]))
    try:
        made = module(*arguments, *([label] if label else []))
    except Exception:
        return None
    if torch.is_tensor(made):  # complex numbers
        made = (made.real, made.imag)
    rows = [part.reshape(len(positions), -1).tolist() for part in made]
    return {"cos": rows[0], "sin": rows[1]}


def rotating_layers(use, config):
    """How often each layer calls a rotating function."""
    why = ""
    for model in use.models + whole_models(use):
        for inputs in (of_ids, of_embeddings):
            try:
                calls = run(use.module, model, copy.deepcopy(config), inputs)
                return {"rotating": sorted(calls.items(), key=str)}
            except Exception as error:
                why = why or text_of(error)
    return {"rotating": None, "no_run": why}


def whole_models(use):
    """Models with the same config, whose layers may make rotary modules."""
    return [one for name, one in inspect.getmembers(use.module, inspect.isclass)
            if name.endswith("Model") and one.__module__ == use.module.__name__
            and one not in use.models
            and getattr(inspect.signature(one.__init__).parameters.get("config"), "annotation",
                        None) is use.config]


def of_ids(_):
    return {"input_ids": torch.zeros(1, TOKENS, dtype=torch.long)}


def of_embeddings(config):
    return {"inputs_embeds": torch.zeros(1, TOKENS, config.hidden_size)}


def run(module, model_class, config, inputs):
    config._attn_implementation = "eager"
    with torch.device("meta"):
        model = model_class(config).eval()
    calls, stack = collections.Counter(), [None]
    for part in model.modules():
        if isinstance(getattr(part, "layer_idx", None), int):
            part.register_forward_pre_hook(lambda one, _: stack.append(one.layer_idx))
            # pop() would return a number, which replaces the layer's output.
            part.register_forward_hook(lambda *_: stack.__delitem__(-1))
        if "Experts" in type(part).__name__:  # numbers decide which experts run
            part.forward = lambda hidden, *_, **__: hidden
    originals = {name: one for name, one in vars(module).items()
                 if callable(one) and name.lstrip("_").startswith(ROTATION)}
    for name, one in originals.items():
        setattr(module, name, counted(one, calls, stack))
    try:
        with torch.no_grad(), torch.device("meta"):
            model(**inputs(config), use_cache=False)
    finally:
        for name, one in originals.items():
            setattr(module, name, one)
    return calls


def counted(function, calls, stack):
    """Counts the function's calls for the innermost layer, except inside a counted call."""
    def call(*arguments, **named):
        if stack[-1] != "rotates":
            calls[stack[-1]] += 1
        stack.append("rotates")
        try:
            return function(*arguments, **named)
        finally:
            stack.pop()
    return call


if __name__ == "__main__":
    main()
