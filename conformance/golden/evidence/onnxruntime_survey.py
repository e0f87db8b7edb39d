# SPDX-License-Identifier: Apache-2.0
"""Runs onnxruntime-genai's model builder classes on configs. Answers with their cos/sin caches.

    onnxruntime_survey.py BUILDER    the folder with builder.py

Answers as in survey.py; a model has one cache for all layers and contexts.
"""

import ast
import pathlib
import sys
import tempfile

BUILDER = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(BUILDER))

import builders  # noqa: E402
import onnx_ir  # noqa: E402
import torch  # noqa: E402
from transformers import CONFIG_MAPPING, PreTrainedConfig  # noqa: E402

from survey import answer_lines, in_ropes  # noqa: E402


def registry():
    """Yields create_model's (architecture, condition, class) in order."""
    for node in ast.walk(ast.parse((BUILDER / "builder.py").read_text(encoding="utf-8"))):
        if not isinstance(node, ast.If) or "architectures[0] == " not in ast.unparse(node.test):
            continue
        made = [call for each in node.body for call in ast.walk(each)
                if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("Model")]
        names = [each.value for each in ast.walk(node.test)
                 if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        for name in names if made else ():
            yield name, ast.unparse(node.test), ast.unparse(made[0].func)


REGISTRY = list(registry())


def config_of(values):
    known = values["model_type"] in CONFIG_MAPPING
    config = (CONFIG_MAPPING[values["model_type"]] if known else PreTrainedConfig).from_dict(values)
    config.architectures = values["architectures"]
    return config


def class_of(config):
    for name, condition, class_name in REGISTRY:
        if name == config.architectures[0] and eval(condition, {"config": config}):
            from_qwen = __import__("builders.qwen", fromlist=[class_name])
            return getattr(builders, class_name, None) or getattr(from_qwen, class_name)
    raise LookupError("no class for the config")


def observed(values):
    config = config_of(values)
    with tempfile.TemporaryDirectory() as folder:
        made = class_of(config)(config, onnx_ir.DataType.FLOAT, onnx_ir.DataType.FLOAT, "cpu",
                                folder, {})
    made.rope_attrs["cache_length"] = 2
    cos, sin = made.make_rotary_embedding_caches_from_scratch()
    half = cos.shape[-1] // 2
    turns = torch.atan2(sin[1].double(), cos[1].double())[:half]
    pairing = "interleaved" if made.rope_attrs["interleaved"] else "half"
    return {"inv_freq": turns.tolist(), "factor": cos[0][0].item(), "pairing": pairing}


def answer(asked):
    if "names" in asked:
        return {"names": sorted({name for name, _, _ in REGISTRY})}
    rope = observed(asked["config"])
    return in_ropes([(None, rope)] for _ in asked["calls"])


if __name__ == "__main__":
    answer_lines(answer)
