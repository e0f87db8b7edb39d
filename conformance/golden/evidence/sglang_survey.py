# SPDX-License-Identifier: Apache-2.0
"""Runs SGLang's models and table code on configs (stand_ins.py).

    sglang_survey.py SGLANG    the folder with sglang/ of its wheel
"""

import ast
import functools
import importlib
import pathlib
import sys

import torch

from stand_ins import (GIVEN, SEEN, Anything, CustomOp, Settings, as_module, functions_of, install,
                       observed)
from survey import answer_lines

SGLANG = pathlib.Path(sys.argv[1]) / "sglang"
LEFT_OUT = ("utils", "registry")


class Stage:
    """Replaces the stages of a layer, which declare_ffn and declare_attn make."""

    def __init__(self, **facts):
        vars(self).update(facts)

    def __getattr__(self, name):
        return Anything()


class Cpu(str):
    """Replaces the results of two get_device functions: a name, and an object with a device."""

    device = "cpu"

    def __new__(cls):
        return super().__new__(cls, "cpu")


class Alone(Settings):
    """Settings of a single device, which is both first and last."""

    def __getattr__(self, name):
        found = {"is_": True, "_size": 1, "_rank": 0, "rank_in_group": 0, "_group": self}
        return next((value for part, value in found.items() if part in name),
                    super().__getattr__(name))


def layer_of(frame):
    """Returns the layer index that the nearest frame has in a local variable, or None."""
    while frame is not None:
        for name in ("layer_id", "layer_idx", "layer_index"):
            if isinstance(frame.f_locals.get(name), int):
                return frame.f_locals[name]
        frame = frame.f_back
    return None


def get_rope(*arguments, device=None, **named):
    made = Anything()
    SEEN.append((layer_of(sys._getframe(1)), arguments[:8], named, made))
    return made


def make_layers(count, layer_fn, *_, pp_rank=None, prefix="", **__):
    layers = torch.nn.ModuleList([as_module(layer_fn(idx=index, prefix=f"{prefix}.{index}"))
                                  for index in range(count)])
    return layers if pp_rank is None else (layers, 0, count)


@functools.cache
def registry():
    """{architecture: module}, by each module's EntryClass."""
    found = {}
    for path in sorted((SGLANG / "srt/models").glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "EntryClass":
                found |= {each.id: path.stem for each in ast.walk(node.value)
                          if isinstance(each, ast.Name)}
    return found


def made_by(config, name, _):
    NORMALIZE(config)
    module = importlib.import_module(f"sglang.srt.models.{registry()[name]}")
    getattr(module, name)(config)


def answer(asked):
    if "names" in asked:
        return {"names": sorted(registry())}
    return observed(made_by, TABLE_CODE, asked)


NORMALIZE = functions_of(SGLANG / "srt/utils/hf_transformers_patches.py",
                         ("normalize_rope_scaling_compat",))["normalize_rope_scaling_compat"]
GIVEN |= functions_of(SGLANG / "srt/utils/hf_transformers/common.py", ("get_rope_config",))
GIVEN |= {"get_rope": get_rope, "get_rope_wrapper": get_rope, "BaseFusedOp": CustomOp,
          "declare_ffn": Stage, "declare_attn": Stage,
          "append_stages": lambda *_, **__: (Anything(), Anything()), "get_device": Cpu,
          "get_moe_impl_class": lambda *_: type("Experts", (Anything,), {}),
          "get_parallel": Alone, "make_layers": make_layers,
          "make_pp_layers": functools.partial(make_layers, pp_rank=0),
          "get_pp_group": Alone, "get_pp_indices": lambda count, *_: (0, count),
          "get_attention_tp_size": lambda: 1,
          "get_attention_tp_rank": lambda: 0,
          "add_prefix": lambda name, prefix: f"{prefix}.{name}" if prefix else name}
torch.Tensor.cuda = lambda self, *_, **__: self
torch.compile = lambda function=None, **_: function or (lambda each: each)
TABLE_CODE = install(SGLANG, "sglang.srt.layers.rotary_embedding", ("sglang.srt.models.",),
                     LEFT_OUT)

if __name__ == "__main__":
    answer_lines(answer)
