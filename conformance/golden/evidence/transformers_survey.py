# SPDX-License-Identifier: Apache-2.0
"""Runs configs in the Transformers release that is on PYTHONPATH (survey.py).

The release's own class and model run each config on a few tokens, with meaningless weights. Ropes
come from the arguments of the rotating functions in each layer. If the model does not run, its
rotary modules are called. For {"base": family}, answers the smallest config.json and layer types.
"""

import collections
import copy
import functools
import importlib
import inspect
import pathlib
import re
import signal
import sys

import torch
import transformers
from transformers import PretrainedConfig, PreTrainedModel

from cells import THETA
from survey import answer_lines, in_ropes

MODELS = pathlib.Path(transformers.__file__).parent / "models"
ROTATES = re.compile(r"^_?(vision_)?apply_.*rot|^rotate_queries")
MASKS = re.compile(r"^create_\w*mask$")
LAYERS = ("layers", "layer", "h", "blocks", "block")
MOST_SECONDS = 30
SMALL = {"vocab_size": 512, "hidden_size": 256, "intermediate_size": 128, "num_hidden_layers": 6,
         "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 64, "pad_token_id": 0,
         "bos_token_id": 1, "eos_token_id": 2, "moe_intermediate_size": 64, "num_experts": 4,
         "num_local_experts": 4, "n_routed_experts": 4, "num_experts_per_tok": 2,
         "n_shared_experts": 1, "n_group": 1, "topk_group": 1, "moe_topk": 1,
         "shared_expert_intermediate_size": 64, "q_lora_rank": 48, "kv_lora_rank": 32,
         "qk_rope_head_dim": 16, "qk_nope_head_dim": 32, "v_head_dim": 32, "index_topk": 4,
         "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
         "sliding_window": 512, "num_nextn_predict_layers": 0}
# Sizes that must not shrink, since smaller ones would contradict other sizes.
KEPT = {"zamba2": ("head_dim",), "recurrent_gemma": ("head_dim",)}
# Additional keys that a family needs to rotate or to be this small.
MORE = {"esm": {"position_embedding_type": "rotary", "mask_token_id": 3},
        "granitemoehybrid": {"position_embedding_type": "rope", "layer_types": ["attention"] * 6},
        "falcon": {"alibi": False}, "qwen2_5_omni_talker": {"embedding_size": 256},
        "zamba2": {"use_mem_rope": True, "layers_block_type": ["mamba"] * 5 + ["hybrid"],
                   "num_mem_blocks": 1},
        "gemma3n_text": {"activation_sparsity_pattern": [0.0] * 6, "num_kv_shared_layers": 2,
                         "layer_types": ["sliding_attention", "full_attention"] * 3,
                         "vocab_size_per_layer_input": 512, "hidden_size_per_layer_input": 16},
        "kyutai_speech_to_text": {"audio_pad_token_id": 1, "audio_bos_token_id": 2,
                                  "codebook_vocab_size": 16},
        "moonshine": {"hidden_size": 160, "decoder_num_attention_heads": 4,
                      "decoder_num_key_value_heads": 4},
        "bamba": {"attn_layer_indices": [0, 2, 4]}, "gptj": {"rotary_dim": 32},
        "codegen": {"rotary_dim": 32}, "jetmoe": {"kv_channels": 64},
        "longcat_flash": {"head_dim": 16, "num_layers": 6, "num_hidden_layers": 6},
        "mimi": {"upsample_groups": 256}, "chameleon": {"vocabulary_map": {"<image>": 4}},
        "dbrx": {"attn_config": {"clip_qkv": 8.0, "kv_n_heads": 4, "rope_theta": THETA},
                 "ffn_config": {"ffn_hidden_size": 64, "moe_num_experts": 4, "moe_top_k": 2}}}


class NoModel(Exception):
    """The release cannot run the config."""


def main():
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    without_weights()
    signal.signal(signal.SIGALRM, too_long)
    answer_lines(answer)


def answer(asked):
    if "names" in asked:
        return {"names": sorted(config_files())}
    if "base" in asked:
        config_class, _ = model_of(asked["base"])
        base = base_of(asked["base"], config_class)
        return {"base": base, "labels": labels_of(config_class, base)}
    return observed(asked["config"], asked["calls"])


def too_long(*_):
    raise TimeoutError(f"longer than {MOST_SECONDS} s")


def without_weights():
    """Leaves weights uninitialised."""
    nothing = lambda *_, **__: None  # noqa: E731
    PreTrainedModel.init_weights = nothing
    PretrainedConfig.__repr__ = lambda _: ""  # from_dict() calls it for a log that nobody reads
    for name, one in inspect.getmembers(torch.nn, inspect.isclass):
        if name in ("Linear", "Embedding", "Conv1d", "Conv2d", "Conv3d", "LayerNorm"):
            one.reset_parameters = nothing


@functools.cache
def config_files():
    """model_type -> the files whose classes have it."""
    found = collections.defaultdict(list)
    for path in sorted(MODELS.glob("*/configuration_*.py")):
        text = path.read_text(encoding="utf-8")
        for name in set(re.findall(r'^    model_type\b.*= "(.+)"', text, re.MULTILINE)):
            found[name].append(path)
    return found


def base_of(family, config_class):
    """The family's smallest config.json, with the names of the release's own class."""
    default = config_class()
    names = getattr(config_class, "attribute_map", None) or {}
    base = {"model_type": family, "pad_token_id": 0}
    for key, value in SMALL.items():
        is_computed = isinstance(getattr(config_class, key, None), property)
        if hasattr(default, key) and not is_computed and key not in KEPT.get(family, ()):
            base[names.get(key, key)] = value
    if "qk_rope_head_dim" in base:
        base.pop("head_dim", None)
    return base | MORE.get(family, {})


def labels_of(config_class, base):
    """Returns the layer types with nested rope parameters, or none if all layers share one."""
    default = config_class(**base)
    rope = getattr(default, "rope_parameters", None) or {}
    nested = [label for label, each in rope.items() if isinstance(each, dict)]
    types = set(getattr(default, "layer_types", None) or ())
    if hasattr(default, "sliding_window_pattern") or hasattr(default, "global_attn_every_n_layers"):
        types |= {"full_attention", "sliding_attention"}
    return nested or sorted(each for each in types if isinstance(each, str))


@functools.cache
def model_of(family):
    """Returns a config class and its model class; the base model if there are several."""
    modules = [importlib.import_module(f"transformers.models.{path.parent.name}.{path.stem}")
               for path in config_files().get(family, [])]
    classes = [one for module in modules for _, one in inspect.getmembers(module, inspect.isclass)
               if one.__module__ == module.__name__ and getattr(one, "model_type", "") == family]
    found = []
    for config_class in classes:
        folder = MODELS / config_class.__module__.split(".")[2]
        for path in folder.glob("modeling_*.py"):
            if path.stem.startswith(("modeling_tf_", "modeling_flax_")):
                continue
            module = importlib.import_module(f"transformers.models.{folder.name}.{path.stem}")
            for name, one in inspect.getmembers(module, inspect.isclass):
                if one.__module__ == module.__name__ and is_model_of(one, config_class):
                    found.append((not name.endswith("Model"), "For" in name, len(name), name,
                                  config_class, one))
    if not found:
        raise NoModel("no model is made of its config class")
    return min(found)[-2:]


def is_model_of(one, config_class):
    if not issubclass(one, PreTrainedModel) or "PreTrained" in one.__name__:
        return False
    parameter = inspect.signature(one.__init__).parameters.get("config")
    given = parameter.annotation if parameter else None
    if given in (config_class, config_class.__name__):
        return True
    is_named = inspect.isclass(given) and issubclass(given, PretrainedConfig)
    return not is_named and one.config_class is config_class


WAYS = {}  # {family: how its first config ran}


def observed(config, calls):
    family = config["model_type"]
    config_class, model_class = model_of(family)
    model = limited(lambda: model_of_config(config_class, model_class, config))
    problems = []
    for way in WAYS.get(family, (run_model, call_modules)):
        try:
            seen = limited(lambda way=way: way(model, calls))
        except Exception as error:
            problems.append(error)
            continue
        WAYS.setdefault(family, (way,))
        return seen
    raise problems[0]


def model_of_config(config_class, model_class, config):
    made = config_class.from_dict(copy.deepcopy(config))
    made._attn_implementation = "eager"
    model = model_class(made).eval()
    for part in model.modules():
        fill_table(part)
    return model


def fill_table(part):
    """Fills a sinusoidal table: it is a weight, so without_weights() left it uninitialised."""
    if hasattr(part, "create_weight"):
        part.weight.data = part.create_weight()
    elif hasattr(part, "_init_weight") and not inspect.signature(part._init_weight).parameters:
        part._init_weight()


def limited(function):
    signal.alarm(MOST_SECONDS)
    try:
        return function()
    finally:
        signal.alarm(0)


def run_model(model, calls):
    """Returns each call's ropes by layer, from the arguments of rotating functions."""
    seen, stack = [], [None]
    originals = [(holder, name, one) for holder in holders_of(model)
                 for name, one in vars(holder).items()
                 if (ROTATES.match(name) or MASKS.match(name)) and
                 (isinstance(one, staticmethod) if inspect.isclass(holder) else callable(one))]
    # pop() would return a number, which replaces the layer's output.
    hooks = [hook for index, layer in layers_of(model) for hook in (
        layer.register_forward_pre_hook(lambda *_, index=index: stack.append(index)),
        layer.register_forward_hook(lambda *_: stack.__delitem__(-1)))]
    for holder, name, one in originals:
        spy = watched(one, seen, stack) if ROTATES.match(name) else without_mask
        setattr(holder, name, staticmethod(spy) if inspect.isclass(holder) else spy)
    try:
        for tokens in calls:
            seen.append({})
            with torch.no_grad():
                model(**inputs_of(model, tokens))
    finally:
        for hook in hooks:
            hook.remove()
        for holder, name, one in originals:
            setattr(holder, name, one)
    if not any(seen) and any("Rotary" in type(part).__name__ for part in model.modules()):
        raise NoModel("no function that rotates was seen")
    return in_ropes(call.items() for call in seen)


def holders_of(model):
    """Returns the modules and classes that define a model's functions."""
    classes = {type(part) for part in model.modules()}
    modules = {sys.modules[one.__module__] for one in classes}
    return [one for one in (*modules, *classes) if getattr(one, "__module__", one.__name__)
            .startswith("transformers.models.")]


def without_mask(*_, **__):
    """Skips the mask: positions do not depend on it, and making it dominates the time."""


def layers_of(model):
    for part in model.modules():
        if re.search("(?<!Parallel)Experts", type(part).__name__):
            part.forward = lambda hidden, *_, **__: hidden  # numbers decide which experts run
        for name, child in part.named_children():
            if name in LAYERS and isinstance(child, torch.nn.ModuleList):
                yield from enumerate(child)


def inputs_of(model, tokens):
    takes = inspect.signature(model.forward).parameters
    given = {"use_cache": False} if "use_cache" in takes else {}
    if "input_ids" in takes:
        return given | {"input_ids": torch.full((1, tokens), 5, dtype=torch.long)}
    return given | {"inputs_embeds": torch.zeros(1, tokens, model.config.hidden_size)}


def watched(function, seen, stack):
    @functools.wraps(function)
    def call(*given, **named):
        rows = rows_of(function, given, named)
        if rows is not None and stack[-1] != "rotates":
            seen[-1].setdefault(stack[-1], rows)
            stack.append("rotates")
            try:
                return function(*given, **named)
            finally:
                stack.pop()
        return function(*given, **named)
    return call


def rows_of(function, given, named):
    """Returns cos and sin of positions 0 and 1 in the arguments, or None."""
    try:
        values = inspect.signature(function).bind(*given, **named).arguments
    except (TypeError, ValueError):
        values = dict(enumerate(given)) | named
    flat = {}
    for name, value in values.items():
        parts = value if isinstance(value, tuple) else [value]
        flat |= {(name, i): part for i, part in enumerate(parts) if torch.is_tensor(part)}
    for part in flat.values():
        if part.is_complex():
            return as_rope(part.real, part.imag)
    if ("cos", 0) in flat and ("sin", 0) in flat:
        return as_rope(flat["cos", 0], flat["sin", 0])
    if ("sinusoidal_pos", 0) in flat:
        sin, cos = flat["sinusoidal_pos", 0].chunk(2, dim=-1)
        return as_rope(cos, sin)
    pairs = [value for value in values.values() if isinstance(value, tuple) and len(value) == 2]
    return as_rope(*pairs[0]) if pairs else None


def as_rope(cos, sin):
    """Returns frequencies and factor of tables whose positions come before features."""
    while cos.shape[-2] == 1 and cos.dim() > 2:
        cos, sin = cos.squeeze(-2), sin.squeeze(-2)
    cos, sin = (part.double().reshape(-1, *part.shape[-2:])[0][:2] for part in (cos, sin))
    angles = torch.atan2(sin[1], cos[1])
    size = len(angles) // 2
    for once, twice in ((angles[:size], angles[size:]), (angles[::2], angles[1::2])):
        if torch.equal(once, twice):
            angles = once
            break
    return {"inv_freq": [float(f"{each:.9g}") for each in angles.tolist()],
            "factor": float(f"{torch.hypot(cos[0], sin[0])[0].item():.9g}")}


def call_modules(model, calls):
    """Calls the model's rotary modules as its layers do; the layer is unknown."""
    seen = []
    for tokens in calls:
        seen.append({})
        for name, part in model.named_modules():
            if "Rotary" in type(part).__name__ and not list(part.children()):
                for label in [each.removesuffix("_inv_freq") for each, _ in part.named_buffers()
                              if each.endswith("_inv_freq") and "original" not in each] or [None]:
                    seen[-1][f"{name} {label}"] = called(part, tokens, label)
    if not any(seen):
        raise NoModel("its model has no rotary module")
    return in_ropes([(None, rope) for rope in call.values()] for call in seen)


def called(part, tokens, label):
    takes = inspect.signature(part.forward).parameters
    x, positions = torch.zeros(1, 1, tokens, 8), torch.arange(tokens)[None]
    for given in ((x, positions, label) if label else (x, positions), (x, tokens),
                  (positions,), (tokens,), (x,), (positions.expand(3, 1, tokens),)):
        if label is None and "seq_len" in takes and given[-1] is positions:
            continue
        try:
            tables = part(*given)
        except Exception:
            continue
        if torch.is_tensor(tables) and not tables.is_complex():
            tables = (tables.cos(), tables.sin())
        elif torch.is_tensor(tables):
            tables = (tables.real, tables.imag)
        return as_rope(*tables)
    raise NoModel(f"{type(part).__name__} was not called")


if __name__ == "__main__":
    main()
