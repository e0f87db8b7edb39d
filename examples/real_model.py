#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a released model from its GGUF file. NumPy multiplies matrices; rotary does RoPE, KV cache
and attention. It continues a text greedily.

Run: real_model.py FILE.gguf [TEXT [TOKENS]] with a llama-like model (SmolLM2) or Gemma 3. Packages:
numpy; gguf, which dequantizes the weights; and transformers with torch for text.
"""

import pathlib
import re
import sys

import gguf
import numpy as np
import rotary

# Another tensor, such as a bias or an expert, means a model that this example cannot compute.
TENSORS = re.compile(r"(token_embd|output_norm|output|rope_freqs|blk\.\d+\.("
                     r"attn_(norm|q|k|v|q_norm|k_norm|output)|post_attention_norm|"
                     r"ffn_(norm|gate|up|down)|post_ffw_norm))\.weight")


ACTIVATIONS = {  # SiLU, in terms of tanh, which does not overflow; and GELU
    "llama": lambda x: x / 2 * (1 + np.tanh(x / 2)),
    "gemma3": lambda x: x / 2 * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)))}


class Unsupported(Exception):
    """A model that this example cannot run; the message names it."""


class RealModel:
    """frequencies: by kind of layer. A caller may replace them by scaled ones."""

    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.architecture = reader.get_field("general.architecture").contents()
        unknown = [t.name for t in reader.tensors if not TENSORS.fullmatch(t.name)]
        blocks = self._number(reader, "block_count")
        if self.architecture not in ACTIVATIONS or unknown:
            raise Unsupported(f"{path} has a {self.architecture} model"
                              f"{' with ' + unknown[0] if unknown else ''}; this example runs "
                              "llama and gemma3 without biases and experts")
        if self.architecture == "gemma3" and blocks == 62:
            raise Unsupported(f"{path} has Gemma 3 27B, whose scores have another scale")
        self.weights = {t.name: gguf.dequantize(t.data, t.tensor_type) for t in reader.tensors}
        self.activation = ACTIVATIONS[self.architecture]
        self.positions = rotary.resolve(path)  # how each layer uses positions
        self.frequencies = {each.layer_type: each.spec.frequencies()
                            for each in self.positions.rotary}
        self.epsilon = self._number(reader, "attention.layer_norm_rms_epsilon")
        self.window = self._number(reader, "attention.sliding_window")
        self.kv_heads = self._number(reader, "attention.head_count_kv")
        self.head_dim = self.positions.rotary[0].spec.head_dim

    def _number(self, reader, key):
        field = reader.get_field(f"{self.architecture}.{key}")
        return None if field is None else field.contents()

    def caches(self, slots):
        """[layers, keys or values, batch, slots, heads, features]"""
        return np.zeros((len(self.positions.layers), 2, 1, slots, self.kv_heads, self.head_dim),
                        np.float32)

    def run(self, tokens, caches, slot, offset=0):
        """Runs new tokens after the first `slot` cached ones; returns the last layer's output
        [tokens, features]. A prompt is many tokens, a decode step one. The text's first token is at
        position `offset`."""
        at = range(offset + slot, offset + slot + len(tokens))
        # This step's exact cos and sin, shared by all layers of a kind.
        rows = {kind: each.rotations(at) for kind, each in self.frequencies.items()}
        x = self.weights["token_embd.weight"][tokens]
        if self.architecture == "gemma3":
            x = x * np.float32(x.shape[-1] ** 0.5)
        for number, layer in enumerate(self.positions.layers):
            rotations = rows[layer.rotary.layer_type]
            attention = self._attention(number, layer, x, caches[number], (slot, rotations))
            x = x + self._norm(number, "post_attention_norm", attention)
            x = x + self._norm(number, "post_ffw_norm", self._feed_forward(number, x))
        return self._rms(x, self.weights["output_norm.weight"])

    def logits(self, x):
        head = self.weights.get("output.weight", self.weights["token_embd.weight"])
        return x @ head.T

    def _attention(self, number, layer, x, cache, step):
        slot, rotations = step
        keys, values = cache
        h = self._norm(number, "attn_norm", x)
        q, k, v = (self._linear(number, name, h).reshape(1, len(x), -1, self.head_dim)
                   for name in ("attn_q", "attn_k", "attn_v"))
        q = self._norm(number, "attn_q_norm", q)
        k_weight = self.weights.get(f"blk.{number}.attn_k_norm.weight")
        norm = None if k_weight is None else rotary.KeyNorm(
            epsilon=self.epsilon, over="each_head", order="before_rotation", weight=k_weight)
        # append normalises, rotates and stores keys in one pass; attend rotates queries.
        rotary.append(keys, k, v_cache=values, v=v, slots=slot, layout="bthd",
                      rotations=rotations, norm=norm)
        sliding = layer.rotary.layer_type == "sliding_attention"
        seen = slot + len(x)
        out = rotary.attend(
            q, keys[:, :seen], values[:, :seen], layout="bthd", causal=True,
            scale=layer.rotary.softmax_factor * self.head_dim**-0.5, q_rotations=rotations,
            cached_keys=self.frequencies[layer.rotary.layer_type],
            left=self.window - 1 if sliding else None, softcap=self.positions.softcap)
        return self._linear(number, "attn_output", out.reshape(len(x), -1))

    def _feed_forward(self, number, x):
        h = self._norm(number, "ffn_norm", x)
        gate = self.activation(self._linear(number, "ffn_gate", h))
        return self._linear(number, "ffn_down", gate * self._linear(number, "ffn_up", h))

    def _linear(self, number, name, x):
        return x @ self.weights[f"blk.{number}.{name}.weight"].T

    def _norm(self, number, name, x):
        """Returns x unchanged if the model has no such norm."""
        weight = self.weights.get(f"blk.{number}.{name}.weight")
        return x if weight is None else self._rms(x, weight)

    def _rms(self, x, weight):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.epsilon) * weight


def greedy(model, tokens, count):
    """Yields the most probable next token, count times."""
    tokens = list(tokens)
    caches, slot = model.caches(len(tokens) + count), 0
    for _ in range(count):
        last = model.run(tokens[slot:], caches, slot)[-1:]
        slot = len(tokens)
        tokens.append(int(model.logits(last).argmax()))
        yield tokens[-1]


def main(path, text="The capital of France is", count=12):
    from transformers import AutoTokenizer
    file = pathlib.Path(path)
    try:
        model = RealModel(path)
    except Unsupported as error:
        raise SystemExit(str(error)) from None
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    said = tokenizer.decode(list(greedy(model, tokenizer(text).input_ids, int(count))))
    print(text + said)


if __name__ == "__main__":
    main(*sys.argv[1:])
