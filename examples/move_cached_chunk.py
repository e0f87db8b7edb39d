#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Moves a text's cached keys to other positions of a prompt: a shift instead of a prefill. Uses
torch tensors. Run: move_cached_chunk.py SmolLM2.gguf. Packages: as for real_model.py."""

import pathlib
import sys

import numpy as np
import rotary
import torch
from real_model import RealModel
from transformers import AutoTokenizer

LICENCE = (pathlib.Path(__file__).parents[1] / "LICENSE").read_text()
YARN = {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 8192}
SETTINGS = {"as trained": {}, "YaRN 4": {"scaling": YARN}, "half of each head": {"rotary_dim": 32}}


def cached(model, tokens, first_position=0):
    """Runs the text alone; returns [layers, keys or values, batch, tokens, heads, features]."""
    caches = torch.from_numpy(model.caches(len(tokens)))
    model.run(tokens, caches, 0, first_position)
    return caches


def answer(model, parts, question):
    """The logits of a question after the cached parts."""
    caches = torch.cat([*parts, torch.from_numpy(model.caches(len(question)))], 3)
    return model.logits(model.run(question, caches, caches.shape[3] - len(question)))


def compare(model, prefix, chunk, question):
    begin, frequencies = len(prefix), model.frequencies[None]
    before, stored = cached(model, prefix), cached(model, chunk)
    moved = stored.clone()
    # Layers are the batch, because they share one embedding. Values do not depend on positions.
    rotary.shift(moved[:, 0, 0], layout="bthd", before=frequencies, positions=range(len(chunk)),
                 new_positions=range(begin, begin + len(chunk)))
    again = cached(model, chunk, begin)
    yield "keys", float((moved - again)[:, 0].abs().max() / again[:, 0].abs().max())
    wanted = answer(model, [before, again], question)
    for what, chunk_cache in (("logits", moved), ("logits without the shift", stored)):
        yield what, np.abs(answer(model, [before, chunk_cache], question) - wanted).max()


def main(path):
    model, file = RealModel(path), pathlib.Path(path)
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    tokens = tokenizer(LICENCE).input_ids
    spec = model.positions.rotary[0].spec
    for name, changes in SETTINGS.items():
        model.frequencies[None] = spec.replace(**changes).frequencies()
        print(name, *(f"{what} {error:.1e}" for what, error in compare(
            model, tokens[:600], tokens[1000:1200], tokens[1200:1210])), sep="; ")


if __name__ == "__main__":
    main(*sys.argv[1:])
