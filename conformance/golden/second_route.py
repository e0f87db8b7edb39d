#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes randomly drawn cells of evidence.txt a second time (docs/theory/dialects.md).

    second_route.py SEED COUNT TRANSFORMERS RELEASES MLX

Transformers: the interpreter TRANSFORMERS runs only the rotary class, with the release in
RELEASES/VERSION. mlx-lm: the interpreter MLX rotates unit vectors with the rope modules. Other
engines: formulas from their source (second_route_formulas.py). Exits with 1 if a cell differs.
"""

import json
import math
import pathlib
import random
import sys

import numpy as np

GOLDEN = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(GOLDEN / "evidence"))

from cells import Model, cases, first_case  # noqa: E402
from judge import SAME, asked  # noqa: E402
from names import READINGS, ROOT  # noqa: E402
from second_route_formulas import of_formula  # noqa: E402
from sizes import OWN, SIZES  # noqa: E402

RELEASES = json.loads((GOLDEN / "releases.json").read_text(encoding="utf-8"))["lines"]
SMALL = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4,
         "num_key_value_heads": 4}
# Keys without which the model does not exist or does not rotate.
MORE = {"granitemoehybrid": {"position_embedding_type": "rope"},
        "mpt": {"n_layers": 4, "n_heads": 4, "d_model": 256},
        "paddleocr_vl_text": {"head_dim": 64},
        "stablelm": {"use_qkv_bias": False, "layer_norm_eps": 1e-5}}


def drawn(seed, count):
    short = [".".join(each.split(".")[:2]) for each in RELEASES]
    found = []
    for line in (ROOT / "src/model/dialects/evidence.txt").read_text().splitlines()[1:]:
        head, _, families = line.partition(" | ")
        engine, first, last, kind, *names = head.split()
        looked_at = (short[short.index(first):short.index(last) + 1]
                     if engine == "transformers" else [first])
        if kind in ("run", "read"):
            found += [(engine, release, family, cell) for release in looked_at
                      for family in families.split() for cell in names]
    return random.Random(seed).sample(sorted(found), count)


def model_of(dialect, family, pairs=32):
    own = {"model_type": family} | MORE.get(family, {})
    if dialect.startswith("transformers"):
        return Model(family, own | SMALL, pairs=pairs)
    keys, whole = SIZES | OWN.get(family, {}) | own, family.removesuffix("_text")
    if whole == family:
        return Model(family, keys, pairs=pairs)
    return Model(whole, {"model_type": whole, "text_config": keys}, pairs=pairs, path="text_config")


def of_class(engine, release, tried, interpreters):
    version = next((each for each in RELEASES if each.startswith(release + ".")), "")
    command = [interpreters[engine], "-B", GOLDEN / "second_route_classes.py", engine]
    if engine == "transformers":
        path = pathlib.Path(interpreters["releases"], version).resolve()
        command = ["env", f"PYTHONPATH={path}", *command]
    return asked(command, tried)


def difference(reading, theirs):
    """Returns the numbers' largest relative difference; infinite if only one side refuses."""
    if reading["refusal"] or isinstance(theirs, str):
        return 0.0 if reading["refusal"] and isinstance(theirs, str) else math.inf
    last = len(theirs) - 1 if reading["lengths"] == "whole_context" else 0
    return max(map(apart, reading["calls"][last:], theirs[last:]))


def apart(ropes, others):
    """Returns a rope's largest distance to the nearest other; infinite if one side has none."""
    if not ropes or not others:
        return 0.0 if ropes == others else math.inf
    def between(one, other):
        return max(abs(one / other - 1)) if one.shape == other.shape else math.inf
    sides = [list(map(numbers, ropes)), list(map(numbers, others))]
    return float(max(min(between(one, other) for other in those)
                     for these, those in (sides, sides[::-1]) for one in these))


def numbers(rope):
    inv_freq, factor = (rope["inv_freq"], rope["factor"]) if isinstance(rope, dict) else rope
    return np.array([*sorted(map(abs, inv_freq), reverse=True), factor])


def said(calls):
    """Returns the middle pair's frequency in the last call, and the factor."""
    if isinstance(calls, str):
        return "refuses"
    if not calls[-1]:
        return "does not rotate"
    found = numbers(calls[-1][0])
    return f"{found[(len(found) - 1) // 2]:.7g}, {found[-1]:.7g}"


def is_read(reading):
    """Whether the library read the config. If not, it makes no claim."""
    return "error" not in reading and not any(
        "error" in rope for call in reading.get("calls", []) for rope in call)


def row(engine, release, family, cell, interpreters):
    dialect = engine.replace("_", ".") + (f"@{release}" if engine == "transformers" else "")
    first = first_case(model_of(dialect, family))
    ropes = asked(READINGS, [first | {"dialect": dialect}])[0].get("calls", [[]])[-1]
    pairs = len(ropes[0].get("inv_freq", [])) if ropes else 0
    model = model_of(dialect, family, pairs or 32)
    tried = [each for each in [first, *cases(model)] if each["cell"] == cell]
    read = asked(READINGS, [each | {"dialect": dialect} for each in tried])
    both = [(each, reading) for each, reading in zip(tried, read) if is_read(reading)]
    if not both:
        return [f"{dialect} `{family}` `{cell}`", "is not read", "", "", "left out"]
    tried, readings = zip(*both)
    theirs = (of_class(engine, release, tried, interpreters) if engine in interpreters
              else [of_formula(engine, each) for each in tried])
    if None in theirs:
        return [f"{dialect} `{family}` `{cell}`", "", "has no second route", "", "left out"]
    largest = max(map(difference, readings, theirs))
    ours = [reading["refusal"] or reading["calls"] for reading in readings]
    shown = [" / ".join(dict.fromkeys(map(said, side))) for side in (ours, theirs)]
    return [f"{dialect} `{family}` `{cell}`", *shown, f"{largest:.1e}",
            "agrees" if largest <= SAME else "differs"]


def main():
    seed, count = map(int, sys.argv[1:3])
    interpreters = dict(zip(("transformers", "releases", "mlx"), sys.argv[3:], strict=True))
    print("| cell | `read_as` | second route | apart | |\n|---|---|---|---|---|")
    verdicts = set()
    for cell in drawn(seed, count):
        columns = row(*cell, interpreters)
        print(f"| {' | '.join(columns)} |", flush=True)
        verdicts.add(columns[-1])
    return 1 if "differs" in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
