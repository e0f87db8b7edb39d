#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/axis_rows.json: rows of cos and sin for positions on several axes, by the
rotary classes of Transformers and Diffusers.

    axis_rows.py > tests/golden/axis_rows.json

Needs torch 2.15.0, transformers 5.23.0 and diffusers 0.42.1 from PyPI. A case has a small config
that the tool reads, its class, and coordinates of three tokens [axes][tokens]. For each layer type
it has cos and sin [tokens][pairs], and which channels share a pair's values: half, blocks (half
within each of two parts) or interleaved.
"""

import importlib
import json
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent / "classes"))
import survey  # noqa: E402

COORDINATES = ((3, 7, 100), (5, 2, 41), (1, 11, 23), (0, 4, 2))
TOKENS = len(COORDINATES[0])
DIGITS = 9
VISION = {"num_hidden_layers": 2, "depth": 2, "num_heads": 2, "num_attention_heads": 2,
          "hidden_size": 64, "embed_dim": 64, "head_dim": 32,
          "memory_attention_hidden_size": 64, "memory_attention_num_attention_heads": 2,
          "memory_attention_num_layers": 2}
TEXT = {"num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}


def text(head_dim, section, **rope):
    parameters = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": section} | rope
    return TEXT | {"hidden_size": 2 * head_dim, "head_dim": head_dim,
                   "rope_parameters": parameters, "max_position_embeddings": 16384}


LAYERS = {"layer_types": ["sliding_attention", "full_attention"]}
TEXTS = {
    "qwen2_vl_text": [text(32, [4, 6, 6]), text(32, [4, 6, 6], **YARN)],
    **dict.fromkeys(("qwen2_5_vl_text", "qwen2_5_omni_text", "qwen2_5_omni_talker",
                     "paddleocr_vl_text", "glm4v_text", "glm_ocr_text"), [text(32, [4, 6, 6])]),
    "qwen3_vl_text": [text(32, [6, 5, 5]), text(32, [8, 4, 4], **YARN)],
    **dict.fromkeys(("qwen3_vl_moe_text", "qwen3_omni_moe_text", "qwen3_omni_moe_talker_text",
                     "cosmos3_edge_text"), [text(32, [6, 5, 5])]),
    **dict.fromkeys(("qwen3_5_text", "qwen3_5_moe_text", "qwen4_exp_text"),
                    [text(128, [6, 5, 5], partial_rotary_factor=0.25)]),
    **dict.fromkeys(("glm4v_moe_text", "glm_image_text"),
                    [text(64, [4, 6, 6], partial_rotary_factor=0.5)]),
    "ernie4_5_vl_moe_text": [text(32, [6, 6, 4])],
    "cohere_compass_text": [text(32, [6, 5, 5]) | LAYERS | {"rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0,
                              "mrope_section": [6, 5, 5]},
        "full_attention": None}}],
    "neomme": [TEXT | LAYERS | {"hidden_size": 64, "head_dim": 32, "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0,
                              "partial_rotary_factor": 1.0},
        "full_attention": {"rope_type": "default", "rope_theta": 1000000.0,
                           "partial_rotary_factor": 0.25}}}],
}


def main():
    survey.prepare()
    cases = [case for use in survey.uses() for case in cases_of(use)]
    cases += [llama4(), *centred(), *diffusion()]
    rows = ",\n".join(json.dumps(each, sort_keys=True) for each in cases)
    made_by = [f"{name}=={importlib.import_module(name).__version__}"
               for name in ("torch", "transformers", "diffusers")]
    print(f'{{"produced_by": {json.dumps(made_by)}, "cases": [\n{rows}\n]}}')


def cases_of(use):
    if not hasattr(use.rotary, "recomposition_frequencies"):
        return
    model_type = use.config.model_type
    for given in TEXTS.get(model_type) or [of_vision(use.config)]:
        if model_type == "hunyuan_vl_text":
            continue
        config = use.config(**given)
        ropes, axes = ropes_of(use.rotary(config=config))
        yield {"class": use.rotary.__name__, "config": {"model_type": model_type} | given,
               "coordinates": COORDINATES[:axes], "ropes": ropes}


def of_vision(config_class):
    config = config_class()
    names = [name for name in VISION
             if name in vars(config) and getattr(config, name) is not None]
    small = {name: VISION[name] for name in names}
    try:
        config_class(**small)
        return small
    except Exception:  # the class has lists per layer or dependent sizes
        return {name: getattr(config, name) for name in names}


def ropes_of(module):
    """Returns label -> rows, and the number of axes of the class's positions."""
    axes = survey.axis_count(module)
    ids = survey.in_shape(module, torch.tensor(COORDINATES[:axes]))
    return {label: rows_of(*module(torch.zeros(1, 1, 1), ids, *([label] if label else [])))
            for label in survey.labels_of(module)}, axes


def rows_of(cos, sin):
    cos, sin = (part.reshape(TOKENS, -1).double() for part in (cos, sin))
    half = cos.shape[1] // 2
    quarter = half // 2
    pick = {"half": lambda row: (row[:, :half], row[:, half:]),
            "interleaved": lambda row: (row[:, ::2], row[:, 1::2]),
            "blocks": lambda row: (torch.cat([row[:, :quarter], row[:, half:half + quarter]], 1),
                                   torch.cat([row[:, quarter:half], row[:, half + quarter:]], 1))}
    for name, parts in pick.items():
        if all(torch.equal(*parts(row)) for row in (cos, sin)):
            return {"same": name, "cos": rounded(parts(cos)[0]), "sin": rounded(parts(sin)[0])}
    raise ValueError("no two channels share their values")


def rounded(rows):
    return [[round(value, DIGITS) for value in row] for row in rows.tolist()]


def of_pairs(name, config, coordinates, angles):
    """A case from a class that returns angles, or cos + i sin, for each pair."""
    cos, sin = (angles.real, angles.imag) if angles.is_complex() else (angles.cos(), angles.sin())
    return {"class": name, "config": config, "coordinates": coordinates,
            "ropes": {"": {"same": "interleaved", "cos": rounded(cos.double()),
                           "sin": rounded(sin.double())}}}


def llama4():
    from transformers.models.llama4 import modeling_llama4 as llama
    given = {"hidden_size": 64, "num_attention_heads": 2, "num_hidden_layers": 2,
             "image_size": 56, "patch_size": 14}
    rotary = llama.Llama4VisionRotaryEmbedding(llama.Llama4VisionConfig(**given))
    table = rotary(torch.zeros(1)).reshape(17, -1)
    return of_pairs("Llama4VisionRotaryEmbedding", {"model_type": "llama4_vision_model"} | given,
                    [[1, 2, 0], [1, 3, 0]], table[[0, 6, 16]])


def centred():
    """Classes that compute patch coordinates themselves, here for two rows of three patches."""
    given = {"hidden_size": 64, "num_attention_heads": 2, "num_hidden_layers": 2}
    for folder, name in (("dinov3_vit", "DINOv3ViTRopePositionEmbedding"),
                         ("eomt_dinov3", "EomtDinov3RotaryEmbedding"),
                         ("sapiens2", "Sapiens2RopePositionEmbedding")):
        module = importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")
        config_class = getattr(module, next(
            each for each in vars(module) if each.endswith("Config") and each != "PreTrainedConfig"
            and getattr(vars(module)[each], "model_type", None) == folder))
        config = config_class(**given, patch_size=16)
        picture = torch.zeros(1, 3, 32, 48)
        cos, sin = getattr(module, name)(config).eval()(picture)
        make = module.get_patches_center_coordinates
        centres = make(2, 3, dtype=torch.float32, device=picture.device)[[0, 2, 4]]
        yield {"class": name, "config": {"model_type": folder} | given,
               "coordinates": centres.T.double().tolist(),
               "ropes": {"": rows_of(cos[[0, 2, 4]], sin[[0, 2, 4]])}}


def diffusion():
    from diffusers.models.transformers import (transformer_flux, transformer_flux2,
                                               transformer_qwenimage, transformer_wan)
    sizes = {"attention_head_dim": 32, "num_attention_heads": 2, "num_layers": 2}
    for name, embedding, dims, theta in (
            ("FluxTransformer2DModel", transformer_flux.FluxPosEmbed, [8, 12, 12], 10000),
            ("Flux2Transformer2DModel", transformer_flux2.Flux2PosEmbed, [8, 8, 8, 8], 2000)):
        ids = torch.tensor(COORDINATES[:len(dims)])
        yield {"class": embedding.__name__, "coordinates": ids.tolist(),
               "config": sizes | {"_class_name": name, "num_single_layers": 1,
                                  "axes_dims_rope": dims},
               "ropes": {"": rows_of(*embedding(theta, dims)(ids.T))}}
    rope = transformer_qwenimage.QwenEmbedRope(10000, [8, 12, 12], scale_rope=True)
    yield of_pairs("QwenEmbedRope",
                   sizes | {"_class_name": "QwenImageTransformer2DModel",
                            "axes_dims_rope": [8, 12, 12]},
                   [[0, 0, 0], [-2, -1, 1], [-1, 0, 1]],
                   rope([(1, 4, 5)], torch.device("cpu"), 1)[0][[2, 8, 19]])
    wan = transformer_wan.WanRotaryPosEmbed(32, (1, 2, 2), 1024)
    cos, sin = (part.reshape(2, 3, 4, -1) for part in wan(torch.zeros(1, 1, 2, 6, 8)))
    picked = ([0, 1, 1], [1, 0, 2], [3, 2, 0])
    yield {"class": "WanRotaryPosEmbed", "coordinates": picked,
           "config": {"_class_name": "WanTransformer3DModel", "rope_max_seq_len": 1024} | sizes,
           "ropes": {"": rows_of(cos[picked], sin[picked])}}


if __name__ == "__main__":
    main()
