# SPDX-License-Identifier: Apache-2.0
"""Runs q and k of a golden file through one model's rotary embedding."""

import dataclasses
import re
import types

import numpy as np
import torch

from compare import FREQUENCY_BOUND, Numbers, rotated_bound, table_bound

MODEL = re.compile(r"transformers/models/(\w+)/")
# Models that pair features 2i and 2i + 1; others pair i and i + rotary_dim/2.
ADJACENT = {"glm4", "gptj", "roformer", "deepseek_v2", "llama4"}
# Rope parameters for files without a config.
ROPE_PARAMETERS = {
    "deepseek_v2": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 40,
                    "original_max_position_embeddings": 4096, "beta_fast": 32, "beta_slow": 1,
                    "mscale": 0.707, "mscale_all_dim": 0.707},
    "llama4": {"rope_type": "default", "rope_theta": 500000.0},
    "gemma4": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
               "rope_theta": 1000000.0},
}
# Files with positions on several axes: model, rotary class and function.
AXES = {
    "qwen2_vl_mrope": ("qwen2_vl", "Qwen2VLRotaryEmbedding", "apply_rotary_pos_emb"),
    "qwen2_vl_vision_2d": ("qwen2_vl", "Qwen2VLVisionRotaryEmbedding",
                           "apply_rotary_pos_emb_vision"),
    "pixtral_vision_2d": ("pixtral", "PixtralVisionRotaryEmbedding", "apply_rotary_pos_emb"),
}
OUTPUTS = {"q": "q_out", "k": "k_out", "v": "v_out_if_rotary_value"}


@dataclasses.dataclass
class Rotation:
    """A model's functions that make and apply tables, and its frequencies and factor."""

    tables: object  # a tensor -> {name in the golden file: table for the positions}
    turn: object  # tensors, tables -> rotated tensors
    inv_freq: np.ndarray
    factor: float = 1.0


def rotated_numbers(golden, release):
    model = MODEL.search(next(iter(golden["source"].values())))[1]
    make = of_axes if golden.get("name") in AXES else MAKERS.get(model, by_rotary_class)
    rotation = make(golden, release, model)
    for dtype, prefix, inputs, held in runs(golden):
        tables = rotation.tables(inputs["q"])
        turned = rotation.turn(list(inputs.values()), tables)
        for name in tables.keys() & held.keys():
            yield Numbers(prefix + name, doubles(as_tensor(held[name], dtype)),
                          doubles(tables[name]), dtype,
                          bound_of_table(name, golden, rotation))
        for (key, tensor), result in zip(inputs.items(), turned):
            bound = bound_of_turned(tensor, dtype, (golden, rotation, model in ADJACENT))
            wanted = doubles(as_tensor(held[OUTPUTS[key]], dtype))
            yield Numbers(prefix + OUTPUTS[key], wanted, doubles(result), dtype, bound)


def runs(golden):
    """Yields (dtype, name prefix, inputs, output holder) for each dtype in the file."""
    inputs = {key: as_tensor(golden[key], "float32")
              for key, output in OUTPUTS.items() if key in golden and output in golden}
    yield "float32", "", inputs, golden
    for dtype, held in golden.get("half_precision", {}).items():
        # Rounds the float32 inputs once if the file has none of this dtype.
        halves = {key: as_tensor(held.get(f"{key}_in", golden[key]), dtype)
                  for key in inputs if OUTPUTS[key] in held}
        yield dtype, f"half_precision.{dtype}.", halves, held


def by_rotary_class(golden, release, model):
    """A Rotation by a class that makes tables, and by a function that applies them."""
    source = golden["source"]
    class_name = next(name for name in source if name.endswith("RotaryEmbedding"))
    apply_name = next(name for name in source if name.startswith("apply_"))
    code = release.model(model, class_name, apply_name)
    rotary = getattr(code, class_name)(config_of(golden, release, model))
    apply = getattr(code, apply_name)

    def tables(tensor):
        made = rotary(tensor, torch.tensor([golden["positions"]]))
        if isinstance(made, tuple):
            return {"cos": made[0], "sin": made[1]}
        return {"freqs_cis_real": made.real, "freqs_cis_imag": made.imag}

    def turn(tensors, made):
        if "cos" in made:
            return apply(*tensors, made["cos"], made["sin"])
        return apply(*tensors, torch.complex(made["freqs_cis_real"], made["freqs_cis_imag"]))

    return Rotation(tables, turn, doubles(rotary.inv_freq), rotary.attention_scaling)


def config_of(golden, release, model):
    if "config" in golden:
        return release.config(model, golden["config"])
    return release.config(model, {
        "head_dim": golden["q"]["shape"][-1],
        "hidden_size": golden["q"]["shape"][-1],
        "num_attention_heads": 1,
        "max_position_embeddings": max(golden["positions"]) + 1,
        "rope_parameters": dict(ROPE_PARAMETERS[model]),
    })


def gemma4(golden, release, model):
    """Makes tables for a layer type. Applies them to one tensor after the other."""
    code = release.model(model, "Gemma4TextRotaryEmbedding", "apply_rotary_pos_emb")
    config = config_of(golden, release, model)
    layer = "full_attention"
    config.layer_types = [layer]
    config.rope_parameters = {layer: config.rope_parameters}
    rotary = code.Gemma4TextRotaryEmbedding(config)
    inv_freq = rotary.full_attention_inv_freq

    def tables(tensor):
        cos, sin = rotary(tensor, torch.tensor([golden["positions"]]), layer)
        return {"cos": cos, "sin": sin, "inv_freq": inv_freq}

    def turn(tensors, made):
        return [code.apply_rotary_pos_emb(tensor, made["cos"], made["sin"]) for tensor in tensors]

    return Rotation(tables, turn, doubles(inv_freq))


def gptj(golden, release, model):
    """Makes a table row per position. Slices rotary features as GPT-J's attention layer does."""
    code = release.model(model, "create_sinusoidal_positions", "apply_rotary_pos_emb")
    rotary_dim = golden["rotary_dim"]
    rows = code.create_sinusoidal_positions(max(golden["positions"]) + 1, rotary_dim)
    sin, cos = rows[golden["positions"]][None].chunk(2, dim=-1)

    def turn(tensors, made):
        for tensor in tensors:
            turned = code.apply_rotary_pos_emb(
                tensor[..., :rotary_dim], made["sin"], made["cos"])
            yield torch.cat([turned, tensor[..., rotary_dim:]], dim=-1)

    return Rotation(lambda tensor: {"sin": sin, "cos": cos}, turn, powers(rotary_dim))


def roformer(golden, release, model):
    code = release.model(model, "RoFormerSinusoidalPositionalEmbedding", "RoFormerSelfAttention")
    dim = golden["q"]["shape"][-1]
    positions = golden["positions"]
    embedding = code.RoFormerSinusoidalPositionalEmbedding(max(positions) + 1, dim)
    rows = embedding.create_weight()[positions][None, None]

    def turn(tensors, made):
        return code.RoFormerSelfAttention.apply_rotary_position_embeddings(
            made["table_rows"], *tensors)

    return Rotation(lambda tensor: {"table_rows": rows}, turn, powers(dim))


def of_axes(golden, release, _):
    model, class_name, apply_name = AXES[golden["name"]]
    code = release.model(model, class_name, apply_name)
    head_dim, at = golden["q"]["shape"][-1], torch.tensor(coordinates(golden))
    if "config" in golden:
        config, at = release.config(model, golden["config"]), at[:, None]
    else:
        config, at = types.SimpleNamespace(head_dim=head_dim, rope_parameters={
            "rope_type": "axial", "rope_theta": 10000.0}), at.T
    rotary = getattr(code, class_name)(config)

    def tables(tensor):
        rows = [each[None] if model == "pixtral" else each for each in rotary(tensor, at)]
        return dict(zip(("cos", "sin"), rows))

    def turn(tensors, made):
        return getattr(code, apply_name)(*tensors, made["cos"], made["sin"])

    # The frequencies may repeat for each axis.
    return Rotation(tables, turn, np.resize(doubles(rotary.inv_freq), head_dim // 2))


def coordinates(golden):
    """[axes][tokens]: the file's, or those of its grid, row by row."""
    if "patch_grid_hw" in golden:
        return np.indices(golden["patch_grid_hw"]).reshape(2, -1)
    if "position_ids_hw" in golden:
        return np.array(golden["position_ids_hw"]).T
    return np.array(golden.get("positions_thw", [golden.get("positions")]))


MAKERS = {"gemma4": gemma4, "gptj": gptj, "roformer": roformer}


def powers(rotary_dim):
    """Returns frequencies of models without a rotary class. Only bounds need them."""
    return 10000.0 ** (-np.arange(0, rotary_dim, 2) / rotary_dim)


def bound_of_table(name, golden, rotation):
    """The bound of frequencies, or of cos and sin [tokens, 1] for the fastest pair."""
    if name == "inv_freq":
        return FREQUENCY_BOUND * rotation.inv_freq
    positions = np.array(golden["positions"], float)[:, None]
    return table_bound(positions, rotation.inv_freq.max(), rotation.factor)


def bound_of_turned(tensor, dtype, made_by):
    """A bound per feature, by the largest coordinate; unrotated features keep their bits."""
    golden, rotation, adjacent = made_by
    x, pairs = doubles(tensor), len(rotation.inv_freq)
    first = np.arange(pairs) * 2 if adjacent else np.arange(pairs)
    second = first + (1 if adjacent else pairs)
    layout = golden["layout"].replace("(packed)", "").split()[0].rstrip(",")
    shape = [1] * x.ndim
    shape[layout.split(",").index("T")] = -1
    positions = coordinates(golden).max(axis=0).reshape(shape)
    table = table_bound(positions, rotation.inv_freq, rotation.factor)
    bound = np.zeros(x.shape)
    bound[..., first] = bound[..., second] = rotated_bound(
        table, np.hypot(x[..., first], x[..., second]), rotation.factor, dtype)
    return bound


def as_tensor(tensor, dtype):
    """The tensor rounded to its type, since files keep only enough digits to read numbers back."""
    numbers = torch.tensor(tensor["data"], dtype=torch.float64).reshape(tensor["shape"])
    return numbers.to(getattr(torch, dtype))


def doubles(tensor):
    return tensor.detach().double().numpy()
