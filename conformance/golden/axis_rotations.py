# SPDX-License-Identifier: Apache-2.0
"""Rotates q and k of a golden file by one model's classes, at positions on several axes."""

import types

import numpy as np
import torch

from compare import Numbers, rotated_bound, table_bound
from rotations import OUTPUTS, as_tensor, doubles


def axis_numbers(golden, release):
    positions, rotary, apply = MAKERS[golden["name"]](golden, release)
    inputs = [as_tensor(golden[key], "float32") for key in ("q", "k")]
    cos, sin = rotary(inputs[0], positions)
    for key, tensor, turned in zip(("q", "k"), inputs, apply(*inputs, cos, sin)):
        yield Numbers(OUTPUTS[key], doubles(as_tensor(golden[OUTPUTS[key]], "float32")),
                      doubles(turned), "float32", bound_of(golden, rotary, tensor))


def mrope(golden, release):
    code = release.model("qwen2_vl", "Qwen2VLRotaryEmbedding", "apply_rotary_pos_emb")
    rotary = code.Qwen2VLRotaryEmbedding(release.config("qwen2_vl", golden["config"]))
    return torch.tensor(golden["positions_thw"])[:, None], rotary, code.apply_rotary_pos_emb


def qwen2_vl_vision(golden, release):
    code = release.model("qwen2_vl", "Qwen2VLVisionRotaryEmbedding", "apply_rotary_pos_emb_vision")
    rotary = code.Qwen2VLVisionRotaryEmbedding(axial(golden))
    return places(golden), rotary, code.apply_rotary_pos_emb_vision


def pixtral(golden, release):
    code = release.model("pixtral", "PixtralVisionRotaryEmbedding", "apply_rotary_pos_emb")
    rotary = code.PixtralVisionRotaryEmbedding(axial(golden))

    def apply(q, k, cos, sin):
        return code.apply_rotary_pos_emb(q, k, cos[None], sin[None])

    return places(golden), rotary, apply


MAKERS = {"qwen2_vl_mrope": mrope, "qwen2_vl_vision_2d": qwen2_vl_vision,
          "pixtral_vision_2d": pixtral}


def axial(golden):
    return types.SimpleNamespace(rope_parameters={"rope_type": "axial", "rope_theta": 10000.0},
                                 head_dim=golden["q"]["shape"][-1])


def places(golden):
    """Coordinates [patches][row, column]: the file's, or its grid's, row by row."""
    if "position_ids_hw" in golden:
        return torch.tensor(golden["position_ids_hw"])
    rows, columns = golden["patch_grid_hw"]
    return torch.cartesian_prod(torch.arange(rows), torch.arange(columns))


def bound_of(golden, rotary, tensor):
    """A bound for each feature, by the token's largest coordinate: any pair may rotate by it."""
    x = doubles(tensor)
    pairs = x.shape[-1] // 2
    inv_freq = np.resize(doubles(rotary.inv_freq), pairs)  # repeated for each axis
    positions = (np.array(golden["positions_thw"]) if "positions_thw" in golden
                 else places(golden).numpy().T)
    shape = [1] * x.ndim
    shape[golden["layout"].replace("(packed)", "").split(",").index("T")] = -1
    table = table_bound(positions.max(axis=0).reshape(shape), inv_freq, 1.0)
    bound = rotated_bound(table, np.hypot(x[..., :pairs], x[..., pairs:]), 1.0, "float32")
    return np.concatenate([bound, bound], axis=-1)
