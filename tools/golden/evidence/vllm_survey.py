# SPDX-License-Identifier: Apache-2.0
"""What the models of vLLM give its get_rope, and what its table code makes of that.

    vllm_survey.py VLLM    the folder with vllm/ of its wheel

A model's own __init__ runs; what it imports and is not about rope is a stand-in. Lines of standard
input and answers as in mlx_survey.py: a layer's rope is that which its __init__ makes.
"""

import ast
import contextlib
import importlib.util
import json
import pathlib
import re
import sys
import types

import torch
import torch._dynamo  # before there are stand-ins
import transformers
from transformers import CONFIG_MAPPING

VLLM = pathlib.Path(sys.argv[1]) / "vllm"
MODELS = VLLM / "model_executor/models"
TABLES = "vllm.model_executor.layers.rotary_embedding"


class Base:
    """Of classes whose own base is a stand-in."""

    __class_getitem__ = classmethod(lambda cls, item: cls)

    def __init__(self, *arguments, **named):
        super().__init__()


class Anything(torch.nn.Module):
    """Stands for whatever a model imports: any call, attribute, item or base class."""

    def __init__(self, *arguments, **named):
        super().__init__()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *arguments, **named):
        # As a decorator it leaves what it decorates.
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
    """A module of stand-ins."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return GIVEN.get(name) or Anything()


def is_asked_by_transformers():
    """Whether the nearest of the two that import is transformers."""
    frame = sys._getframe(2)
    while frame is not None:
        root = frame.f_globals.get("__name__", "").split(".")[0]
        if root in ("transformers", "torch", "vllm"):
            return root != "vllm"
        frame = frame.f_back
    return False


class StandIns:
    """Finds every module of vllm but its models and tables, and others that are not there."""

    def find_spec(self, name, path=None, target=None):
        root = name.split(".")[0]
        if root in ABSENT and is_asked_by_transformers():
            return None
        if root == "vllm":
            file = VLLM.parent.joinpath(*name.split("."))
            is_own = name.startswith("vllm.model_executor.models.") or \
                name.startswith("vllm.models.") or name.startswith(TABLES)
            for source in (file / "__init__.py", file.with_suffix(".py")):
                if is_own and source.exists() and name.split(".")[-1] not in STAND_INS:
                    return importlib.util.spec_from_file_location(
                        name, source, submodule_search_locations=[str(file)]
                        if source.name == "__init__.py" else None)
            return importlib.util.spec_from_loader(name, self)
        return importlib.util.spec_from_loader(name, self) if root in ABSENT else None

    def create_module(self, spec):
        return Module(spec.name)

    def exec_module(self, module):
        pass


STAND_INS = ("utils", "interfaces", "interfaces_base", "registry", "adapters", "config")
ABSENT = frozenset("""
    flashinfer triton einops flash_attn xformers compressed_tensors cv2 librosa mistral_common
    timm mamba_ssm causal_conv1d tilelang soundfile terratorch pydantic openai msgspec zmq
    cloudpickle scipy torchaudio humming cutlass helion quack numba partial_json_parser cbor2
    cachetools blake3 xgrammar diskcache tpu_inference open_clip resampy av aiter
""".split())


class Calls:
    """get_rope, with the layer whose __init__ runs."""

    def __init__(self):
        self.prefixes, self.seen = [], []

    def get_rope(self, *arguments, **named):
        made = Anything()
        self.seen.append((self.prefixes[-1] if self.prefixes else None, arguments, named, made))
        return made


CALLS = Calls()


def make_layers(count, make, prefix):
    layers = []
    for index in range(count):
        CALLS.prefixes.append(index)
        try:
            layers.append(make(prefix=f"{prefix}.{index}"))
        finally:
            CALLS.prefixes.pop()
    return 0, count, torch.nn.ModuleList(
        [layer if isinstance(layer, torch.nn.Module) else Anything() for layer in layers])


def extract_layer_index(prefix, *_, **__):
    return int(re.findall(r"\d+", prefix)[0])


def one(*_, **__):
    return 1


def zero(*_, **__):
    return 0


def registered_model(vllm_config, hf_config=None, prefix="", architectures=None, **_):
    settings = vllm_config.with_hf_config(hf_config) if hf_config is not None else vllm_config
    name = (architectures or settings.model_config.hf_config.architectures)[0]
    return model_of(name)(vllm_config=settings, prefix=prefix)


CURRENT = []
GIVEN = {"get_current_vllm_config": lambda: CURRENT[0],
         "init_vllm_registered_model": registered_model,
         "make_layers": make_layers, "extract_layer_index": extract_layer_index,
         "maybe_prefix": lambda prefix, name: f"{prefix}.{name}" if prefix else name,
         "get_tensor_model_parallel_world_size": one, "get_tensor_model_parallel_rank": zero,
         "get_quark_ocp_mx_group_size": lambda *_, **__: None,
         "get_pp_group": lambda: types.SimpleNamespace(
             world_size=1, rank_in_group=0, is_first_rank=True, is_last_rank=True),
         "CustomOp": CustomOp, "PPMissingLayer": type("PPMissingLayer", (), {}),
         "StageMissingLayer": type("StageMissingLayer", (), {}),
         "divide": lambda a, b: a // b, "get_rope": CALLS.get_rope,
         "cdiv": lambda a, b: -(-a // b)}


def registry():
    """{architecture: (module, class)} of the models of text."""
    found = {}
    tree = ast.parse((MODELS / "registry.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in (
                "_TEXT_GENERATION_MODELS", "_MULTIMODAL_MODELS", "_EMBEDDING_MODELS"):
            for key, value in zip(node.value.keys, node.value.values):
                if isinstance(value, ast.Tuple):
                    found[key.value] = tuple(ast.literal_eval(value))
    return found


def functions_of(path, names):
    """These functions of a file of vLLM, run apart from the rest of it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    scope = {"math": __import__("math"), "logger": Anything(), "Any": object,
             "PreTrainedConfig": transformers.PreTrainedConfig, "getattr_iter": getattr_iter,
             "ALLOWED_LAYER_TYPES": ("full_attention", "sliding_attention", "chunked_attention",
                                     "linear_attention")}
    body = [node for node in tree.body
            if isinstance(node, ast.FunctionDef) and node.name in names]
    for node in body:
        node.body = [each for each in node.body if not isinstance(each, ast.ImportFrom)]
    exec(compile(ast.Module(body, []), str(path), "exec"), scope)
    return scope


def getattr_iter(config, names, default=None, warn=False):
    return next((getattr(config, name) for name in names if hasattr(config, name)), default)


PATCH = functions_of(VLLM / "transformers_utils/config.py",
                     ("is_rope_parameters_nested", "patch_legacy_rope_type",
                      "patch_rope_parameters"))["patch_rope_parameters"]


def config_of(values):
    values = {key: value for key, value in values.items() if key != "architectures"}
    known = values["model_type"] in CONFIG_MAPPING  # others come with their own code
    cls = CONFIG_MAPPING[values["model_type"]] if known else transformers.PreTrainedConfig
    config = cls.from_dict(values if known else OTHERWISE | values)
    PATCH(config)
    PATCH(config.get_text_config())
    return config


# For configs whose class comes with the model.
OTHERWISE = {"kv_channels": 64, "embedding_size": 64, "hidden_act": "silu",
             "padded_vocab_size": 64, "add_bias_linear": False,
             "embedding_dropout": 0.0, "num_layers": 8, "first_k_dense_replace": 1,
             "activation_function": "silu", "moe_layer_freq": 1, "scale_emb": 1.0,
             "scale_depth": 1.0, "dim_model_base": 256, "use_bias": False, "use_qkv_bias": False,
             "n_shared_experts": 1, "norm_topk_prob": True, "multi_query_attention": False,
             "multi_query_group_num": 2, "num_shared_experts": 1, "index_topk": 16}


class Settings(types.SimpleNamespace):
    """vLLM's own config: what is not said is a stand-in."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()


def model_of(name):
    module_name, class_name = REGISTRY[name]
    full = module_name if module_name.startswith("vllm.") else \
        f"vllm.model_executor.models.{module_name}"
    return getattr(importlib.import_module(full), class_name)


GIVEN["current_platform"] = Settings(device_type="meta")


def made_by(config, name, context):
    text = config.get_text_config()
    model_config = Settings(hf_config=config, hf_text_config=text, max_model_len=context,
                            dtype=torch.float32)
    settings = Settings(model_config=model_config, cache_config=Settings(), quant_config=None,
                        scheduler_config=Settings(), lora_config=None, speculative_config=None,
                        parallel_config=Settings(pipeline_parallel_size=1, tensor_parallel_size=1))
    settings.with_hf_config = lambda other, **_: Settings(**vars(settings) | {
        "model_config": Settings(**vars(model_config) | {"hf_config": other})})
    CURRENT[:] = [settings]
    CALLS.seen.clear()
    with torch.device("meta"):
        model_of(name)(vllm_config=settings, prefix="")
    return text.num_hidden_layers


def table_of(arguments, named, cache):
    """The frequencies and factor of vLLM's own table for these arguments."""
    key = repr((arguments, named))
    if key not in cache:
        cache[key] = numbers_of(table_code(*arguments, **named))
    return cache[key]


def numbers_of(rope):
    table = getattr(rope, "cos_sin_cache", None)
    if table is None:
        original = rope.original_max_position_embeddings
        table = rope.long_short_cos_sin_cache[original if rope.use_long_rope else 0:]
    cos, sin = (part.double() for part in table[1].chunk(2, -1))
    return {"inv_freq": torch.atan2(sin, cos).tolist(),
            "factor": table[0][0].item(),
            "pairing": "half" if getattr(rope, "is_neox_style", True) else "interleaved"}


def observed(asked):
    calls = []
    for context in asked["contexts"]:
        config = config_of(asked["config"])
        count = made_by(config, asked["config"]["architectures"][0],
                        max(*asked["contexts"], config.get_text_config().max_position_embeddings))
        layers = [None] * count
        cache, kinds = {}, [set() for _ in range(count)]
        for layer, arguments, named, made in CALLS.seen:
            if layer is None:  # of a tower's blocks
                continue
            layers[layer] = dict(table_of(arguments, named, cache))
            if not vars(made).get("is_neox_style", True):  # Ernie 4.5 sets it afterwards
                layers[layer]["pairing"] = "interleaved"
            kinds[layer].add(json.dumps(layers[layer]))
        if CALLS.seen and not any(layers):
            raise LookupError("a rope that no layer makes")
        calls.append([each and each | {"kinds": len(kind)} for each, kind in zip(layers, kinds)])
    return {"calls": calls}


def main():
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = {"names": sorted(REGISTRY)} if "names" in asked else observed(asked)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(answer), file=answers, flush=True)


for mark in ("_mark_tower_model", "_mark_language_model", "_mark_composite_model",
             "configure_mm_token_handling"):
    setattr(torch.nn.Module, mark, lambda self, *_, **__: contextlib.nullcontext())
torch.nn.Module.quant_config = None
transformers.logging.set_verbosity_error()
sys.meta_path.insert(0, StandIns())
REGISTRY = registry()
TABLE_CODE = importlib.import_module(TABLES)
table_code = TABLE_CODE.get_rope
TABLE_CODE.get_rope = CALLS.get_rope

if __name__ == "__main__":
    main()
