#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the tool with other libraries' rotary embeddings. In each setting, a library's rotated q
must follow from the frequencies, factor and pairing of `rotary inspect`.

peers.txt pins the wheels. Their functions are cut out and run unchanged in the environment of
`./dev golden --classes`. Exits with 1 if a difference has no entry in REASONS, or an entry has no
difference. xPos is left out, since no config has it.
"""

import dataclasses
import functools
import json
import pathlib
import subprocess
import sys
import types
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))

from definitions import load_definitions  # noqa: E402
from wheels import python_with  # noqa: E402

TOOL = ROOT / "build/release/bin/rotary"
WHEELS = ROOT / "build/golden/peers"
TOKENS, HEAD, TOLERANCE = 256, 64, 1e-4  # above float32's errors, below the effect of a factor 4

HALF, NEIGHBOURS, TO_HALF = "half", "interleaved", "interleaved_to_half"
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 8192}
LINEAR = {"rope_type": "linear", "factor": 4.0}
YARN = {"rope_type": "yarn", "factor": 16.0, "beta_fast": 32.0, "beta_slow": 1.0,
        "original_max_position_embeddings": 4096}
BASES = (10000, 100000, 500000)
REASONS = {
    ("litgpt", "yarn"): "LitGPT's ramp runs the other way: fast pairs are divided by the factor",
    ("esm", "interleaved"): "esm pairs neighbours and gives them cos and sin of halves"}


def code(wheel, path, *names, base=None):
    """Returns a file's definitions, for the CPU. base: the RotaryEmbedding that it imports."""
    import einops
    import torch

    class Module(torch.nn.Module):
        Config = object

    on_cpu = types.SimpleNamespace(**vars(torch))
    on_cpu.cuda = types.SimpleNamespace(current_device=lambda: "cpu")
    sys.modules[path] = types.ModuleType(path)  # dataclass looks there
    given = {"torch": on_cpu, "nn": torch.nn, "Tensor": torch.Tensor, "Module": Module,
             "dataclass": dataclasses.dataclass, "lru_cache": functools.lru_cache,
             "autocast": torch.autocast, "rearrange": einops.rearrange, "repeat": einops.repeat,
             **{name: getattr(torch, name) for name in ("stack", "cat", "arange", "is_tensor")},
             **({"RotaryEmbedding": base} if base else {})}
    archive = zipfile.ZipFile(next(WHEELS.glob(f"{wheel}-*.whl")))
    scope = load_definitions(archive.read(path).decode(), names, given, path)
    return [scope[name] for name in names]


def heads_first(turn):
    return lambda q: turn(q.swapaxes(1, 2)).swapaxes(1, 2)


# Each function below yields a name, config keys, a pairing, and a function that rotates q [1,
# tokens, heads, features] to positions 0, 1, 2, ...

def curated_transformers():
    make, = code("curated_transformers", "curated_transformers/layers/embeddings.py",
                 "RotaryEmbeddings")
    for base in BASES:
        yield "default", {"rope_theta": base}, HALF, heads_first(make(HEAD, base=base))


def esm():
    make, = code("esm", "esm/layers/rotary.py", "RotaryEmbedding")

    def turn(size=HEAD, **keys):
        return lambda q: make(size, **keys)(q, q)[0]
    for base in BASES:
        yield "default", {"rope_theta": base}, HALF, turn(base=base)
    yield "partial", {"partial_rotary_factor": 0.5}, HALF, turn(32)
    yield "linear", {"rope_scaling": LINEAR}, HALF, turn(scaling_factor=4.0)
    yield "interleaved", {}, NEIGHBOURS, turn(interleaved=True)


def litgpt():
    import torch
    tables, halves, to_halves = code("litgpt", "litgpt/model.py", "build_rope_cache", "apply_rope",
                                     "apply_rope_interleave")

    def turn(apply=halves, size=HEAD, **keys):
        rows = [each[None] for each in tables(TOKENS, size, **keys)]
        return heads_first(lambda q: torch.cat([apply(q[..., :size], *rows), q[..., size:]], -1))
    for base in BASES:
        yield "default", {"rope_theta": base}, HALF, turn(base=base)
    yield "interleave", {}, TO_HALF, turn(to_halves)
    yield "partial", {"partial_rotary_factor": 0.25}, HALF, turn(size=16)
    for own in ({"condense_ratio": 4}, {"extra_config": {"factor": 4.0}}):
        yield "linear", {"rope_scaling": LINEAR}, HALF, turn(**own)
    yield "llama3", {"rope_scaling": LLAMA3}, HALF, turn(
        extra_config=LLAMA3 | {"original_max_seq_len": 8192})
    yield "yarn", {"rope_scaling": YARN | {"attention_factor": 1.0}}, HALF, turn(
        extra_config=YARN | {"original_max_seq_len": 4096})


def megatron_core():
    folder = "megatron/core/models/common/embeddings/"
    apply, = code("megatron_core", folder + "rope_utils.py", "_apply_rotary_pos_emb_bshd")
    plain, = code("megatron_core", folder + "rotary_pos_embedding.py", "RotaryEmbedding")
    yarn, = code("megatron_core", folder + "yarn_rotary_pos_embedding.py", "YarnRotaryEmbedding",
                 base=plain)

    def turn(make=plain, part=1.0, pairing=HALF, **keys):
        found = make(HEAD, rotary_percent=part, rotary_interleaved=pairing == NEIGHBOURS,
                     cp_group=types.SimpleNamespace(size=lambda: 1), **keys).get_emb(TOKENS)
        freqs, factor = found if isinstance(found, tuple) else (found, 1.0)
        return lambda q: apply(q.swapaxes(0, 1), freqs, pairing == NEIGHBOURS, pairing == TO_HALF,
                               factor).swapaxes(0, 1)
    for pairing in (HALF, NEIGHBOURS, TO_HALF):
        for base in BASES:
            yield "default", {"rope_theta": base}, pairing, turn(pairing=pairing, rotary_base=base)
        yield "partial", {"partial_rotary_factor": 0.5}, pairing, turn(pairing=pairing, part=0.5)
        yield "linear", {"rope_scaling": LINEAR}, pairing, turn(
            pairing=pairing, seq_len_interpolation_factor=4.0)
        yield "llama3", {"rope_scaling": LLAMA3}, pairing, turn(pairing=pairing, rope_scaling=True)
    for keys, own in (({}, {}), ({"beta_fast": 16.0}, {"beta_fast": 16.0}),
                      ({"truncate": False}, {"correction_range_round_to_int": False}),
                      ({"mscale": 1.0, "mscale_all_dim": 0.5},) * 2):
        own = {"mscale": None, "mscale_all_dim": None} | own
        yield "yarn", {"rope_scaling": YARN | keys}, HALF, turn(
            yarn, scaling_factor=16.0, original_max_position_embeddings=4096, **own)


def timm():
    """DINOv3's patches: a 16 by 16 grid with coordinates between -1 and 1."""
    make, apply = code("timm", "timm/layers/pos_embed_sincos.py", "RotaryEmbeddingDinoV3",
                       "apply_rot_embed_cat")
    for base in BASES:
        table = make(HEAD, base).get_embed([16, 16])
        yield "dinov3", {"model_type": "dinov3_vit", "rope_theta": base}, None, heads_first(
            lambda q, table=table: apply(q, table, half=True))


def torchtitan():
    makers = code("torchtitan", "torchtitan/models/common/rope.py", "ComplexRoPE", "CosSinRoPE")
    for make, pairing in zip(makers, (NEIGHBOURS, HALF)):
        def turn(make=make, **keys):
            rope = make(make.Config(dim=HEAD, max_seq_len=TOKENS, **keys))
            return lambda q: rope(q, q)[0]
        for base in BASES:
            yield "default", {"rope_theta": base}, pairing, turn(theta=base)
        for truncate in (True, False):
            scaling = YARN | {"attention_factor": 1.0, "truncate": truncate}
            yield "yarn", {"rope_scaling": scaling}, pairing, turn(
                scaling="yarn", truncate=truncate, rope_factor=16.0, original_seq_len=4096)
        if pairing == NEIGHBOURS:
            yield "llama3", {"rope_scaling": LLAMA3}, pairing, turn(scaling="llama")


def torchtune():
    for path, cls, pairing, scaling in (
            ("modules/", "RotaryPositionalEmbeddings", NEIGHBOURS, {}),
            ("models/phi3/_", "Phi3RotaryPositionalEmbeddings", HALF, {}),
            ("models/llama3_1/_", "Llama3ScaledRoPE", NEIGHBOURS, LLAMA3)):
        make, = code("torchtune", f"torchtune/{path}position_embeddings.py", cls)
        for base in BASES:
            yield cls, {"rope_theta": base, "rope_scaling": scaling}, pairing, make(
                HEAD, TOKENS, base)
    yield cls, {"rope_scaling": LLAMA3 | {"factor": 32.0}}, pairing, make(
        HEAD, TOKENS, scale_factor=32)


def x_transformers():
    make, apply = code("x_transformers", "x_transformers/x_transformers.py", "RotaryEmbedding",
                       "apply_rotary_pos_emb")

    def turn(size=HEAD, **keys):
        freqs, scale = make(size, **keys).forward_from_seq_len(TOKENS)
        return heads_first(lambda q: apply(q, freqs, scale))
    for base in BASES:
        yield "default", {"rope_theta": base}, NEIGHBOURS, turn(base=base)
    yield "partial", {"partial_rotary_factor": 0.5}, NEIGHBOURS, turn(32)
    yield "linear", {"rope_scaling": LINEAR}, NEIGHBOURS, turn(interpolation_factor=4.0)
    yield "rescaled", {"rope_theta": 10000 * 4 ** (64 / 62)}, NEIGHBOURS, turn(
        base_rescale_factor=4.0)


def resolved(keys, pairing):
    config = {"model_type": "peer", "hidden_size": HEAD, "num_attention_heads": 1,
              "num_hidden_layers": 1, "rope_theta": 1e4, "max_position_embeddings": 65536} | keys
    command = [TOOL, "inspect", "-", "--json", *(["--pairing", pairing] if pairing else [])]
    said = subprocess.check_output(command, input=json.dumps(config), text=True)
    return json.loads(said)["rotary"][0]


def expected(q, rope):
    import numpy as np
    along = (np.arange(16) + 0.5) / 8 - 1
    at = (np.stack(np.meshgrid(along, along, indexing="ij"), -1).reshape(-1, 2)
          if rope["axes"] else np.arange(TOKENS)[:, None])
    inv_freq, size = np.array(rope["inv_freq"]), rope["rotary_dim"]
    angles = (at[:, rope["axis_of_pair"] or [0] * len(inv_freq)] * inv_freq)[:, None]
    cos, sin = (rope["attention_factor"] * wave(angles) for wave in (np.cos, np.sin))
    halves, neighbours = ((slice(0, size // 2), slice(size // 2, size)),
                          (slice(0, size, 2), slice(1, size, 2)))
    x, y = (q[..., each] for each in (halves if rope["pairing"] == HALF else neighbours))
    first, second = neighbours if rope["pairing"] == NEIGHBOURS else halves
    out = q.copy()
    out[..., first], out[..., second] = x * cos - y * sin, y * cos + x * sin
    return out


def compare():
    """Returns the number of unexpected results."""
    import torch
    sys.path.append(str(next(WHEELS.glob("einops-*.whl"))))
    torch.manual_seed(1)
    q = torch.rand(1, TOKENS, 2, HEAD) * 2 - 1
    surprises = 0
    for peer in (curated_transformers, esm, litgpt, megatron_core, timm, torchtitan, torchtune,
                 x_transformers):
        agree = 0
        for name, keys, pairing, turn in peer():
            apart = abs(turn(q).numpy() - expected(q.double().numpy(), resolved(keys, pairing)))
            reason, agrees = REASONS.get((peer.__name__, name)), bool(apart.max() < TOLERANCE)
            agree += agrees
            surprises += agrees == (reason is not None)
            if reason or not agrees:
                print(f"{peer.__name__} {name} {pairing} {json.dumps(keys)}: off by "
                      f"{apart.max():.2g}: {reason or 'no reason is known'}")
        print(f"{peer.__name__}: {agree} settings agree", flush=True)
    return surprises


def main():
    if not any(WHEELS.glob("*.whl")):
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                        "--require-hashes", "--only-binary=:all:", "--python-version", "3.12",
                        "--dest", WHEELS, "--requirement", HERE / "peers.txt"], check=True)
    settings = json.loads((HERE.parent / "classes/settings.json").read_text())
    python = python_with(settings["python"], ROOT / "build/golden/environments")
    return subprocess.run([python, "-B", __file__, "compare"], check=False).returncode


if __name__ == "__main__":
    sys.exit(compare() > 0 if sys.argv[1:] else main())
