# SPDX-License-Identifier: Apache-2.0
"""Runs vLLM's models and table code on configs (stand_ins.py).

    vllm_survey.py VLLM    the folder with vllm/ of its wheel
"""

import ast
import functools
import importlib
import pathlib
import re
import sys
import types

import torch

from stand_ins import GIVEN, Settings, functions_of, in_layer, install, observed
from survey import answer_lines

VLLM = pathlib.Path(sys.argv[1]) / "vllm"
MODELS = VLLM / "model_executor/models"
LEFT_OUT = ("utils", "interfaces", "interfaces_base", "registry", "adapters", "config")
# In these models every layer makes a rope, but layers without a window (here every fourth) do not
# use it. The forward passes of commandr.py, cohere2_moe.py, exaone4.py and exaone_moe.py show this.
BY_WINDOW = ("cohere2", "cohere2_moe", "exaone4", "exaone4_5", "exaone_moe")
CURRENT = []


def make_layers(count, make, prefix):
    return 0, count, torch.nn.ModuleList(
        [in_layer(index, make, prefix=f"{prefix}.{index}") for index in range(count)])


def registered_model(vllm_config, hf_config=None, prefix="", architectures=None, **_):
    settings = vllm_config.with_hf_config(hf_config) if hf_config is not None else vllm_config
    name = (architectures or settings.model_config.hf_config.architectures)[0]
    return model_of(name)(vllm_config=settings, prefix=prefix)


GIVEN |= {
    "get_current_vllm_config": lambda: CURRENT[0],
    "init_vllm_registered_model": registered_model, "make_layers": make_layers,
    "extract_layer_index": lambda prefix, *_, **__: int(re.findall(r"\d+", prefix)[0]),
    "maybe_prefix": lambda prefix, name: f"{prefix}.{name}" if prefix else name,
    "get_quark_ocp_mx_group_size": lambda *_, **__: None,
    "get_pp_group": lambda: types.SimpleNamespace(
        world_size=1, rank_in_group=0, is_first_rank=True, is_last_rank=True),
    "StageMissingLayer": type("StageMissingLayer", (), {}),
    "current_platform": Settings(device_type="meta"), "cdiv": lambda a, b: -(-a // b)}


def getattr_iter(config, names, default=None, warn=False):
    return next((getattr(config, name) for name in names if hasattr(config, name)), default)


@functools.cache
def registry():
    """{architecture: (module, class)} of text, multimodal and embedding models."""
    found = {}
    tree = ast.parse((MODELS / "registry.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in (
                "_TEXT_GENERATION_MODELS", "_MULTIMODAL_MODELS", "_EMBEDDING_MODELS"):
            for key, value in zip(node.value.keys, node.value.values):
                if isinstance(value, ast.Tuple):
                    found[key.value] = tuple(ast.literal_eval(value))
    return found


PATCH = functions_of(VLLM / "transformers_utils/config.py",
                     ("is_rope_parameters_nested", "patch_legacy_rope_type",
                      "patch_rope_parameters"), getattr_iter=getattr_iter,
                     ALLOWED_LAYER_TYPES=("full_attention", "sliding_attention",
                                          "chunked_attention", "linear_attention")
                     )["patch_rope_parameters"]


def model_of(name):
    module, class_name = registry()[name]
    full = module if module.startswith("vllm.") else f"vllm.model_executor.models.{module}"
    return getattr(importlib.import_module(full), class_name)


def made_by(config, name, contexts):
    PATCH(config)
    text = config.get_text_config()
    PATCH(text)
    model_config = Settings(hf_config=config, hf_text_config=text, dtype=torch.float32,
                            max_model_len=max(*contexts, text.max_position_embeddings))
    settings = Settings(model_config=model_config, cache_config=Settings(), quant_config=None,
                        scheduler_config=Settings(), lora_config=None, speculative_config=None,
                        parallel_config=Settings(pipeline_parallel_size=1, tensor_parallel_size=1))
    settings.with_hf_config = lambda other, **_: Settings(**vars(settings) | {
        "model_config": Settings(**vars(model_config) | {"hf_config": other})})
    CURRENT[:] = [settings]
    model_of(name)(vllm_config=settings, prefix="")


def answer(asked):
    if "names" in asked:
        return {"names": sorted(registry())}
    answered = observed(made_by, TABLE_CODE, asked)
    if asked["config"]["model_type"] in BY_WINDOW:
        answered["calls"] = [[[layer, rope] for layer, rope in call if layer % 4 != 3]
                             for call in answered["calls"]]
    return answered


torch.nn.Module.quant_config = None
TABLE_CODE = install(VLLM, "vllm.model_executor.layers.rotary_embedding",
                     ("vllm.model_executor.models.", "vllm.models."), LEFT_OUT)

if __name__ == "__main__":
    answer_lines(answer)
