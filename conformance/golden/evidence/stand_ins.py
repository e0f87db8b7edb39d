# SPDX-License-Identifier: Apache-2.0
"""Records the arguments of get_rope in vLLM's and SGLang's models, and the table code's results.

A model's own __init__ runs. Imports that are not about rope become stand-ins. A layer's rope is
the one that its __init__ makes.
"""

import ast
import contextlib
import importlib.util
import json
import math
import sys
import types

import torch
import torch._dynamo  # before imports are replaced
import transformers
from transformers import CONFIG_MAPPING

from survey import in_ropes


class Base:
    """The base of classes whose own base is a stand-in."""

    __class_getitem__ = classmethod(lambda cls, item: cls)

    def __init__(self, *arguments, **named):
        super().__init__()


class Anything(torch.nn.Module):
    """Replaces anything that a model imports: a function, object, list or base class."""

    def __init__(self, *arguments, **named):
        super().__init__()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *arguments, **named):
        # As a decorator, returns what it decorates.
        is_decorator = len(arguments) == 1 and not named and callable(arguments[0]) and \
            not isinstance(arguments[0], Anything)
        return arguments[0] if is_decorator else Anything()

    def __getitem__(self, key):
        return Anything()

    def __setitem__(self, key, value):
        pass

    def __setattr__(self, name, value):
        self.__dict__[name] = value

    def __instancecheck__(self, instance):
        return False

    def __mro_entries__(self, bases):
        return (type("StandIn", (Base,), {}),)

    def __bool__(self):
        return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0

    def __index__(self):
        return 1


for operator in ("add", "sub", "mul", "mod", "floordiv", "truediv", "pow", "and", "or"):
    for reflected in ("", "r"):
        setattr(Anything, f"__{reflected}{operator}__", lambda self, other: self)
for comparison in ("lt", "le", "gt", "ge"):
    setattr(Anything, f"__{comparison}__", lambda self, other: False)


class CustomOp(torch.nn.Module):
    def __init__(self, *_, **__):
        super().__init__()

    register = staticmethod(lambda *_, **__: lambda cls: cls)
    enabled = classmethod(lambda cls: False)


class Module(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return GIVEN.get(name) or Anything()


class StandIns:
    """Finds stand-ins for engine modules other than models and tables, and for missing modules."""

    def __init__(self, package, own, left_out):
        self.package, self.own, self.left_out = package, own, left_out

    def find_spec(self, name, path=None, target=None):
        root = name.split(".")[0]
        if root in ABSENT and self.is_asked_by_transformers():
            return None
        if root != self.package.name:
            return importlib.util.spec_from_loader(name, self) if root in ABSENT else None
        file = self.package.parent.joinpath(*name.split("."))
        for source in (file / "__init__.py", file.with_suffix(".py")):
            if name.startswith(self.own) and source.exists() and \
                    name.split(".")[-1] not in self.left_out:
                return importlib.util.spec_from_file_location(
                    name, source, submodule_search_locations=[str(file)]
                    if source.name == "__init__.py" else None)
        return importlib.util.spec_from_loader(name, self)

    def is_asked_by_transformers(self):
        """Whether Transformers, not the engine, is the nearest importer."""
        frame = sys._getframe(2)
        while frame is not None:
            root = frame.f_globals.get("__name__", "").split(".")[0]
            if root in ("transformers", "torch", self.package.name):
                return root != self.package.name
            frame = frame.f_back
        return False

    def create_module(self, spec):
        return Module(spec.name)

    def exec_module(self, module):
        pass


ABSENT = frozenset("""
    flashinfer triton einops flash_attn xformers compressed_tensors cv2 librosa mistral_common
    timm mamba_ssm causal_conv1d tilelang soundfile terratorch pydantic openai msgspec zmq
    cloudpickle scipy torchaudio humming cutlass helion quack numba partial_json_parser cbor2
    cachetools blake3 xgrammar diskcache tpu_inference open_clip resampy av aiter
    vllm sgl_kernel
""".split())


SEEN = []  # (layer, arguments, named, get_rope's result)
LAYERS = []  # layers whose __init__ is running


def get_rope(*arguments, **named):
    made = Anything()
    SEEN.append((LAYERS[-1] if LAYERS else None, arguments, named, made))
    return made


def in_layer(index, make, **named):
    LAYERS.append(index)
    try:
        return as_module(make(**named))
    finally:
        LAYERS.pop()


def as_module(layer):
    return layer if isinstance(layer, torch.nn.Module) else Anything()


# Names that every module of stand-ins has.
GIVEN = {"get_rope": get_rope, "CustomOp": CustomOp, "divide": lambda a, b: a // b,
         "PPMissingLayer": type("PPMissingLayer", (), {}),
         "get_tensor_model_parallel_world_size": lambda *_, **__: 1,
         "get_tensor_model_parallel_rank": lambda *_, **__: 0}


def install(package, tables, own, left_out):
    """Makes imports find stand-ins; returns the engine's get_rope."""
    for mark in ("_mark_tower_model", "_mark_language_model", "_mark_composite_model",
                 "configure_mm_token_handling"):
        setattr(torch.nn.Module, mark, lambda self, *_, **__: contextlib.nullcontext())
    transformers.logging.set_verbosity_error()
    sys.meta_path.insert(0, StandIns(package, (tables, *own), left_out))
    module = importlib.import_module(tables)
    found = module.get_rope
    vars(module).update({name: each for name, each in GIVEN.items() if name.startswith("get_rope")})
    return found


def config_of(values):
    """Makes the config with Transformers' class. Other families get OTHERWISE for missing keys."""
    values = {key: value for key, value in values.items() if key != "architectures"}
    known = values["model_type"] in CONFIG_MAPPING
    cls = CONFIG_MAPPING[values["model_type"]] if known else transformers.PreTrainedConfig
    return cls.from_dict(values if known else OTHERWISE | values)


# Config keys of models that ship their class.
OTHERWISE = {"kv_channels": 64, "embedding_size": 64, "hidden_act": "silu",
             "padded_vocab_size": 64, "add_bias_linear": False,
             "embedding_dropout": 0.0, "num_layers": 8, "first_k_dense_replace": 1,
             "activation_function": "silu", "moe_layer_freq": 1, "scale_emb": 1.0,
             "scale_depth": 1.0, "dim_model_base": 256, "use_bias": False, "use_qkv_bias": False,
             "n_shared_experts": 1, "norm_topk_prob": True, "multi_query_attention": False,
             "multi_query_group_num": 2, "num_shared_experts": 1, "index_topk": 16}


class Settings(types.SimpleNamespace):
    """Settings of vLLM or SGLang; unset members are stand-ins."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()


def functions_of(path, names, **given):
    """Loads these functions of a file without the rest of it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    scope = given | {"math": math, "logger": Anything(), "Any": object,
                     "PreTrainedConfig": transformers.PreTrainedConfig}
    body = [node for node in tree.body
            if isinstance(node, ast.FunctionDef) and node.name in names]
    for node in body:
        node.body = [each for each in node.body if not isinstance(each, ast.ImportFrom)]
    exec(compile(ast.Module(body, []), str(path), "exec"), scope)
    return scope


def observed(made_by, table_code, asked):
    """Returns the answer to `asked`. made_by(config, name, calls) makes the model."""
    calls = []
    for context in asked["calls"]:
        config = config_of(asked["config"])
        SEEN.clear()
        with torch.device("meta"):
            made_by(config, asked["config"]["architectures"][0], asked["calls"])
        calls.append(ropes_of_layers(table_code, context))
    return in_ropes(calls)


def ropes_of_layers(table_code, context):
    cache, layers, kinds = {}, {}, {}
    for layer, arguments, named, made in SEEN:
        if layer is None:  # a block of a vision tower
            continue
        key = repr((arguments, named))
        if key not in cache:
            cache[key] = numbers_of(table_code(*arguments, **named), context)
        layers[layer] = dict(cache[key])
        if not vars(made).get("is_neox_style", True):  # ernie 4.5 sets it later
            layers[layer]["pairing"] = "interleaved"
        kinds.setdefault(layer, set()).add(json.dumps(layers[layer]))
    if SEEN and not layers:
        raise LookupError("a rope that no layer makes")
    return [(layer, rope | {"kinds": len(kinds[layer])}) for layer, rope in sorted(layers.items())]


def numbers_of(rope, context):
    """Returns a table's frequencies, factor and pairing."""
    table = getattr(rope, "cos_sin_cache", None)
    if table is None:
        original = rope.original_max_position_embeddings
        is_long = getattr(rope, "use_long_rope", context > original)  # SGLang decides by the call
        table = rope.long_short_cos_sin_cache[original if is_long else 0:]
    cos, sin = (part.double() for part in table[1].chunk(2, -1))
    return {"inv_freq": torch.atan2(sin, cos).tolist(),
            "factor": table[0][0].item(),
            "pairing": "half" if getattr(rope, "is_neox_style", True) else "interleaved"}
