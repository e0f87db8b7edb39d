# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/float32_frequencies.json: float32 inv_freq by Transformers 5.23.0, for some
specs of each scaling rule. Needs transformers and torch.

    float32_frequencies.py > tests/golden/float32_frequencies.json
"""

import json

import torch
import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

LLAMA3 = [{"factor": 8, "low_freq_factor": 1, "high_freq_factor": 4,
           "original_max_position_embeddings": 8192},
          {"factor": 32, "low_freq_factor": 1, "high_freq_factor": 4,
           "original_max_position_embeddings": 8192},
          {"factor": 5.5, "low_freq_factor": 1.25, "high_freq_factor": 7,
           "original_max_position_embeddings": 6000}]
YARN = [{"factor": 4, "original_max_position_embeddings": 32768},
        {"factor": 40, "original_max_position_embeddings": 4096, "mscale": 0.707,
         "mscale_all_dim": 0.707},
        {"factor": 32, "original_max_position_embeddings": 4096, "truncate": False},
        {"factor": 2.5, "original_max_position_embeddings": 5000, "beta_fast": 20,
         "beta_slow": 3}]
DYNAMIC = [{"factor": 2, "original_max_position_embeddings": 2048},
           {"factor": 3.3, "original_max_position_embeddings": 4096}]
# (the rule's parameters, contexts)
RULES = {
    "default": ([{}], [None]),
    "linear": ([{"factor": 4}, {"factor": 2.7}], [None]),
    "dynamic": (DYNAMIC, [1000, 5000, 16384, 100003]),
    "yarn": (YARN, [None]),
    "longrope": ([{"original_max_position_embeddings": 4096, "factor": 32}], [4000, 5000]),
    "llama3": (LLAMA3, [None]),
    "proportional": ([{"partial_rotary_factor": 0.25},
                      {"partial_rotary_factor": 0.5, "factor": 8}], [None]),
}
BASES = [10000, 500000, 150000]
DIMENSIONS = [80, 128]


class Config:
    """The config members that the functions read, for one layer type."""

    def __init__(self, dimension, base, parameters):
        self.head_dim = dimension
        self.hidden_size, self.num_attention_heads = dimension, 1
        original = parameters.get("original_max_position_embeddings", 4096)
        self.max_position_embeddings = original
        self.rope_parameters = parameters | {"rope_theta": base}

    def standardize_rope_params(self):
        """Does nothing: the parameters are already standard."""


def lists(dimension):
    pairs = range(dimension // 2)
    return {"short_factor": [round(1 + pair / 100, 4) for pair in pairs],
            "long_factor": [round(1.05 + pair * pair / 20, 4) for pair in pairs]}


def case(rope_type, parameters, dimension, base, context):
    if rope_type == "longrope":
        parameters = parameters | lists(dimension)
    config = Config(dimension, base, parameters)
    function = ROPE_INIT_FUNCTIONS["linear" if rope_type == "default" else rope_type]
    if rope_type == "default":
        config.rope_parameters["factor"] = 1.0
    # A class passes no length in its constructor, and a tensor in later calls.
    length = None if context is None else torch.tensor(context)
    inv_freq, _ = function(config, device="cpu", seq_len=length)
    spec = {"head_dim": dimension, "base": base, "pairing": "half", "numerics": "transformers"}
    if rope_type != "default":
        spec["scaling"] = {"rope_type": rope_type} | parameters
    return {"rule": rope_type, "spec": spec, "context_tokens": context,
            "inv_freq": [float(each) for each in inv_freq]}


def main():
    cases = [case(rope_type, parameters, dimension, base, context)
             for rope_type, (rules, contexts) in RULES.items() for parameters in rules
             for dimension in DIMENSIONS for base in BASES for context in contexts]
    head = {"name": "float32_frequencies",
            "produced_by": "conformance/golden/float32_frequencies.py",
            "transformers": transformers.__version__, "torch": torch.__version__}
    print(json.dumps(head)[:-1] + ', "cases": [')
    print(",\n".join(json.dumps(each) for each in cases))
    print("]}")


if __name__ == "__main__":
    main()
