# SPDX-License-Identifier: Apache-2.0
"""Runs an engine's classes on configs (second_route.py). Prints a JSON line per config: the
[frequencies, factor] of each rope in each call, an exception's name, or null without a class.

    second_route_classes.py transformers | mlx
"""

import importlib
import inspect
import json
import math
import pathlib
import sys


def of_transformers(asked):
    import torch
    import transformers
    models = pathlib.Path(transformers.__file__).parent / "models"
    family = asked["config"]["model_type"]
    path = next((path for path in sorted(models.glob("*/configuration_*.py"))
                 if f'model_type = "{family}"' in path.read_text(encoding="utf-8")), None)
    if path is None:
        return None  # the full model's class reads it
    modules = [importlib.import_module(f"transformers.models.{path.parent.name}.{stem}")
               for stem in (path.stem, path.stem.replace("configuration", "modeling"))]
    classes = [dict(inspect.getmembers(module, inspect.isclass)) for module in modules]
    config = next(one for one in classes[0].values() if getattr(one, "model_type", "") == family)
    config = config.from_dict(asked["config"])
    part = getattr(config, "partial_rotary_factor", 1)
    heads = getattr(config, "num_attention_heads", 0)
    size = getattr(config, "head_dim", None) or (config.hidden_size // heads if heads else 0)
    given = {"config": config, "dim": int(size * part),
             "max_position_embeddings": getattr(config, "max_position_embeddings", None),
             "base": getattr(config, "rope_theta", None)}
    calls = [[] for _ in asked["calls"]]
    if {"create_sinusoidal_positions", "RoFormerModel"} & vars(modules[1]).keys():
        return None  # the model makes the rows
    for name, one in classes[1].items():
        if not name.endswith("RotaryEmbedding") or "Vision" in name or "Scaling" in name:
            continue
        takes = inspect.signature(one.__init__).parameters
        rotary = one(**{key: value for key, value in given.items() if key in takes})
        labels = [name.removesuffix("_inv_freq") for name, _ in rotary.named_buffers()
                  if name.endswith("_inv_freq") and "original" not in name] or [None]
        for call, tokens in zip(calls, asked["calls"]):
            call += [of_rows(*rows_of(rotary, torch, tokens, label)) for label in labels]
    return calls


def rows_of(rotary, torch, tokens, label):
    """Returns cos and sin at position 1, as the class returns them."""
    ids = torch.arange(tokens)[None]
    after = (label,) if label else ()
    if "seq_len" in inspect.signature(rotary.forward).parameters:
        ids, after = tokens, ()
    try:
        rows = rotary(torch.zeros(1, 1, 8), ids, *after)
    except IndexError:  # three position axes
        rows = rotary(torch.zeros(1, 1, 8), ids.expand(3, 1, tokens), *after)
    if isinstance(rows, torch.Tensor):  # complex: one number per pair
        rows = [part.repeat_interleave(2, -1) for part in (rows.real, rows.imag)]
    return [part.double().reshape(-1, tokens, part.shape[-1])[0, 1].tolist() for part in rows]


def of_rows(cos, sin):
    angles = [math.atan2(y, x) for x, y in zip(cos, sin)]
    return [sorted(angles)[::2], math.hypot(cos[0], sin[0])]  # each pair has two features


def of_mlx(asked):
    import mlx.core as mx
    from mlx_lm.utils import _get_classes
    model_class, arguments = _get_classes(asked["config"])
    model = model_class(arguments.from_dict(asked["config"]))
    ropes = []
    for _, module in model.named_modules():
        if "RoPE" in type(module).__name__:
            size = getattr(module, "dims", None) or module.dim
            turned = module(mx.eye(size).reshape(size, 1, 1, size), offset=1)[:, 0, 0].tolist()
            cos = [row[i] for i, row in enumerate(turned)]
            sin = [math.hypot(*row[:i], *row[i + 1:]) for i, row in enumerate(turned)]
            ropes.append(of_rows(cos, sin))
    return [ropes] * len(asked["calls"])


def main():
    answer = {"transformers": of_transformers, "mlx": of_mlx}[sys.argv[1]]
    for line in sys.stdin:
        try:
            print(json.dumps(answer(json.loads(line))), flush=True)
        except Exception as error:  # other projects' code refuses
            print(json.dumps(type(error).__name__), flush=True)


if __name__ == "__main__":
    main()
