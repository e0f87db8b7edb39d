# SPDX-License-Identifier: Apache-2.0
"""T5's buckets and ALiBi's slopes by the models' functions."""

import re

import numpy as np
import torch

from compare import Numbers

DIRECTION = re.compile(r"(bidirectional|causal)_(\d+)_(\d+)")
# Relative bounds. Exponents are at most 8 for MPT, twice the heads for BLOOM, Falcon and PRESS.
SLOPE_BOUND = {"bloom_falcon_press": lambda heads: (2 * heads + 2) * 2.0**-24,
               "mpt_bias_max8": lambda heads: 8 * 2.0**-24}


def bucket_numbers(golden, release):
    """Compares integers, which must be equal."""
    bucket = release.model("t5", "T5Attention").T5Attention._relative_position_bucket
    positions = torch.tensor(golden["relative_position"])
    for name in filter(DIRECTION.fullmatch, golden):
        direction, buckets, most = DIRECTION.fullmatch(name).groups()
        got = bucket(positions, bidirectional=direction == "bidirectional",
                     num_buckets=int(buckets), max_distance=int(most))
        wanted = np.array(golden[name], float)
        yield Numbers(name, wanted, got.double().numpy(), "float64", np.zeros(wanted.shape))


def slope_numbers(golden, release):
    """A slope is the difference of neighbouring keys' biases."""
    press = release.model("bloom", "build_alibi_tensor").build_alibi_tensor
    mpt = release.model("mpt", "build_mpt_alibi_tensor").build_mpt_alibi_tensor
    for heads, slopes in golden["slopes"].items():
        made = {
            "bloom_falcon_press": press(torch.ones(1, 2), int(heads), torch.float32)[:, 0, 1],
            "mpt_bias_max8": -mpt(int(heads), 2, alibi_bias_max=8)[:, 0, 0],
        }
        for name, got in made.items():
            wanted = np.array(slopes[name], np.float32).astype(float)
            yield Numbers(f"slopes[{heads}].{name}", wanted, got.double().numpy(), "float32",
                          SLOPE_BOUND[name](int(heads)) * wanted)
