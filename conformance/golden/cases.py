# SPDX-License-Identifier: Apache-2.0
"""Makes each golden file again: runs its inputs through the code that it names, in one release."""

import re

import numpy as np
import torch

from absolute import absolute_numbers
from attention import attention_numbers
from biases import bucket_numbers, slope_numbers
from compare import FREQUENCY_BOUND, Numbers
from relative_biases import bias_numbers
from rotations import AXES, rotated_numbers

# Files whose numbers our own expressions make again, though other code may have made them first.
RESTATED = {"relative_biases": bias_numbers, "attention_encodings": attention_numbers}
MAKER = "huggingface/transformers"
MADE_BY = {"ggml_vs_hf_probe": "ggml"}  # a file that does not name its maker
DEFAULT = re.compile(r"(\w+)\.compute_default_rope_parameters \((\w+)\)")


class NoCase(Exception):
    """A golden file that cannot be made again here, or lacks necessary facts."""


def reason_against(name, golden):
    """Returns why the file cannot be made again here, or None if it can."""
    maker = golden.get("produced_by") or golden.get("source") or MADE_BY.get(name, MAKER)
    if isinstance(maker, list):  # packages of PyPI
        maker = ", ".join(maker)
    return None if name in RESTATED or maker.startswith(MAKER) else f"made by {maker}"


def remade(golden, release):
    """Returns all numbers of the golden file, with the release's results for its inputs."""
    if golden.get("name") in RESTATED:
        return RESTATED[golden["name"]](golden, release)
    if "models" in golden:
        return frequency_numbers(golden["models"], release)
    if "calls" in golden:
        return state_numbers(golden, release)
    if "sinusoidal" in golden and "grids" in golden:
        return absolute_numbers(golden, release)
    if golden.get("name") in AXES or (
            "q" in golden and "positions" in golden and isinstance(golden.get("source"), dict)):
        return rotated_numbers(golden, release)
    if "relative_position" in golden:
        return bucket_numbers(golden, release)
    if "slopes" in golden:
        return slope_numbers(golden, release)
    raise NoCase("no case makes this file again; conformance/golden/cases.py")


def frequency_numbers(models, release):
    for name, golden in models.items():
        for index, result in enumerate(golden["results"]):
            where = f"{name}.results[{index}]"
            config = release.config(golden["family"], golden["config"])
            inv_freq, factor = frequencies(result, config, release)
            wanted = np.array(result["inv_freq_f32"], np.float32)
            yield Numbers(f"{where}.inv_freq_f32", wanted, inv_freq.numpy(), "float32",
                          FREQUENCY_BOUND * np.abs(wanted))
            yield exact(f"{where}.attention_scaling", result["attention_scaling"], factor)
            if "softmax_scale_multiplier" in result:
                scale = release.model(golden["family"], "yarn_apply_mscale").yarn_apply_mscale
                yield exact(f"{where}.softmax_scale_multiplier",
                            result["softmax_scale_multiplier"], scale(config.rope_parameters, 1.0))


def exact(name, wanted, got):
    """A number that Python computes in double, with log and sqrt within a few ulp."""
    return Numbers(name, np.array([wanted]), np.array([float(got)]), "float64",
                   np.array([8 * 2.0**-52 * abs(wanted)]))


def frequencies(result, config, release):
    layer = {} if result.get("layer_type") is None else {"layer_type": result["layer_type"]}
    if result["rope_type"] == "default":
        match = DEFAULT.fullmatch(result["function"])
        if match is None:
            raise NoCase(f"function must name class and model, got {result['function']}")
        rotary = getattr(release.model(match[2], match[1]), match[1])
        return rotary.compute_default_rope_parameters(config, **layer)
    length = result.get("seq_len")
    if result.get("seq_len_form") == "tensor_int64":
        length = torch.tensor(length)
    function = release.rope_utils["ROPE_INIT_FUNCTIONS"][result["rope_type"]]
    return function(config, None, seq_len=length, **layer)


def state_numbers(golden, release):
    """Calls one rotary embedding with one length after another."""
    keys = golden["config"]
    rotary = release.model("llama", "LlamaRotaryEmbedding").LlamaRotaryEmbedding(
        release.config("llama", {
            "head_dim": keys["head_dim"], "hidden_size": keys["head_dim"],
            "num_attention_heads": 1,
            "max_position_embeddings": keys["max_position_embeddings"],
            "rope_parameters": {"rope_type": "dynamic", "factor": keys["factor"],
                                "rope_theta": keys["theta"]}}))
    for index, call in enumerate(golden["calls"]):
        rotary(torch.zeros(1), torch.tensor([[0, call["max_position_id"]]]))
        wanted = np.array([call["inv_freq_last"]])
        yield Numbers(f"calls[{index}].inv_freq_last", wanted, rotary.inv_freq[-1:].numpy(),
                      "float32", FREQUENCY_BOUND * wanted)
        if "max_seq_len_cached" in call:
            yield exact(f"calls[{index}].max_seq_len_cached", call["max_seq_len_cached"],
                        rotary.max_seq_len_cached)
