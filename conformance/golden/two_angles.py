#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/two_angles.json: heads rotated by the code of HunYuan-VL and V-JEPA 2, whose
pairs have two angles.

    two_angles.py > tests/golden/two_angles.json

Needs torch 2.15.0 and transformers 5.23.0 from PyPI. Coordinates are [axes][tokens]. `x`
[tokens][features] is drawn from N(0, 1). Only HunYuan-VL's cases have `cos` and `sin`
[tokens][features], because only its class returns them.
"""

import json
import types

import torch
import transformers
from transformers.models.hunyuan_vl import configuration_hunyuan_vl, modeling_hunyuan_vl
from transformers.models.vjepa2.modeling_vjepa2 import VJEPA2RopeAttention

COORDINATES = ((3, 7, 100, 0), (5, 2, 41, 0), (1, 11, 23, 0), (0, 4, 2, 0))
DIGITS = 9


def main():
    torch.manual_seed(23)
    cases = [hunyuan_vl(32, [4, 4, 4, 4]), hunyuan_vl(24, [3, 5, 2, 2]), vjepa2(22), vjepa2(64)]
    rows = ",\n".join(json.dumps(each, sort_keys=True) for each in cases)
    made_by = [f"{module.__name__}=={module.__version__}" for module in (torch, transformers)]
    print(f'{{"produced_by": {json.dumps(made_by)}, "cases": [\n{rows}\n]}}')


def hunyuan_vl(head_dim, sections):
    config = configuration_hunyuan_vl.HunYuanVLTextConfig(
        hidden_size=2 * head_dim, num_attention_heads=2, num_key_value_heads=2, head_dim=head_dim,
        num_hidden_layers=1, rope_parameters={"rope_type": "default", "rope_theta": 10000.0,
                                              "mrope_section": sections})
    positions = torch.tensor(COORDINATES[:len(sections)])
    x = torch.randn(1, 1, positions.shape[1], head_dim)
    rotary = modeling_hunyuan_vl.HunYuanVLRotaryEmbedding(config)
    cos, sin = rotary(x, positions[:, None])
    turned, _ = modeling_hunyuan_vl.apply_rotary_pos_emb(x, x, cos, sin)
    return {"model": "hunyuan_vl", "head_dim": head_dim, "sections": sections, "base": 10000.0,
            "coordinates": positions.tolist(), "x": numbers(x[0, 0]), "out": numbers(turned[0, 0]),
            "cos": numbers(cos[0]), "sin": numbers(sin[0])}


def vjepa2(head_dim):
    part = 2 * (head_dim // 3 // 2)
    attention = types.SimpleNamespace(d_dim=part, h_dim=part, w_dim=part,
                                      attention_head_size=head_dim)
    positions = torch.tensor(COORDINATES[:3])
    x = torch.randn(1, 1, positions.shape[1], head_dim)
    turned = VJEPA2RopeAttention.apply_rotary_embeddings(
        attention, x, [axis[None, None].float() for axis in positions])
    return {"model": "vjepa2", "head_dim": head_dim, "coordinates": positions.tolist(),
            "x": numbers(x[0, 0]), "out": numbers(turned[0, 0])}


def numbers(tensor):
    return [[float(f"{number:.{DIGITS}g}") for number in row] for row in tensor.tolist()]


if __name__ == "__main__":
    main()
