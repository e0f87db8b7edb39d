#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures SmolLM2's perplexity by position under scaling rules, beyond its trained length.

    positions.py SmolLM2.gguf TEXT FOLDER LENGTH [RULE...]    each token's loss, into FOLDER
    positions.py FOLDER LENGTH OUT.svg                        a table and a figure of the losses

LENGTH is in tokens. The rules stretch the trained length to LENGTH; dynamic does so from the first
token on. A run that was stopped continues: its cache stays in FOLDER until the end. Packages: as
for examples/real_model.py. gnuplot draws the figure.
"""

import pathlib
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))

TRAINED, PIECE, BIN = 8192, 512, 2048
RULES = {
    "none": {"rope_type": "default"},
    "linear": {"rope_type": "linear", "factor": None},
    "NTK": {"rope_type": "ntk", "alpha": None},
    "dynamic": {"rope_type": "dynamic", "factor": None,
                "original_max_position_embeddings": TRAINED},
    "YaRN": {"rope_type": "yarn", "factor": None, "original_max_position_embeddings": TRAINED}}


def run(model, tokens, rule, folder):
    length, path = len(tokens) - 1, folder / f"{rule}-{len(tokens) - 1}.f64"
    scaling = {key: length / TRAINED if value is None else value
               for key, value in RULES[rule].items()}
    spec = model.positions.rotary[0].spec.replace(scaling=scaling)
    model.frequencies[None] = spec.frequencies(length)
    done = path.stat().st_size // 8 if path.exists() else 0
    held = path.with_suffix(".cache")
    caches = np.memmap(held, np.float32, "r+" if done else "w+",
                       shape=model.caches(length).shape) if done < length else None
    for first in range(done, length, PIECE):
        last = min(first + PIECE, length)
        logits = model.logits(model.run(tokens[first:last], caches, first)).astype(np.float64)
        logits -= logits.max(-1, keepdims=True)
        losses = (np.log(np.exp(logits).sum(-1)) -
                  logits[np.arange(last - first), tokens[first + 1:last + 1]])
        caches.flush()
        with path.open("ab") as file:
            losses.tofile(file)
        print(f"{rule} {last} of {length}: {np.exp(losses.mean()):.2f}", flush=True)
    held.unlink(missing_ok=True)


def report(folder, length, out):
    firsts, curves = range(0, int(length), BIN), {}
    print("| from position |", *(f"{first:,} |" for first in firsts))
    print("|---" * (len(firsts) + 1) + "|")
    for rule in RULES:
        path = pathlib.Path(folder, f"{rule}-{length}.f64")
        if path.exists() and len(losses := np.fromfile(path)) == int(length):
            curves[rule] = [np.exp(losses[first:first + BIN].mean()) for first in firsts]
            print(f"| {rule} |", *(f"{each:.3g} |" for each in curves[rule]))
    lines = ", ".join(f"'-' with linespoints linewidth 2 title '{rule}'" for rule in curves)
    points = "".join("".join(f"{first + BIN / 2} {each}\n" for first, each in zip(firsts, curve))
                     + "e\n" for curve in curves.values())
    subprocess.run(["gnuplot"], text=True, check=True, input=(
        f"set terminal svg size 760,420 background 'white' font 'sans-serif,14'\n"
        f"set output '{out}'\nset logscale y\nset yrange [3:*]\nset grid\nset key top left\n"
        f"set xlabel 'position (trained to {TRAINED})'\nset ylabel 'perplexity'\n"
        f"set arrow from {TRAINED}, graph 0 to {TRAINED}, graph 1 nohead dashtype 2\n"
        f"plot {lines}\n{points}"))


def main(path, text, folder, length, *rules):
    from real_model import RealModel
    from transformers import AutoTokenizer
    file, folder = pathlib.Path(path), pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    tokens = np.array(tokenizer(pathlib.Path(text).read_text(encoding="utf-8")).input_ids)
    for rule in rules or RULES:
        run(RealModel(path), tokens[:int(length) + 1], rule, folder)


if __name__ == "__main__":
    (report if len(sys.argv) == 4 else main)(*sys.argv[1:])
