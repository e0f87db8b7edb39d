#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden file of attention: inputs, masks, encodings, and cases that combine them.

    attention_cases.py > tests/golden/attention_encodings.json

makes the file with the pinned release; ./dev golden makes its numbers again and compares.
"""

import json

import numpy as np
import torch

from attention import computed, stored

# batch, queries, keys, heads, key heads, features, features of v. Three heads test ALiBi's slopes
# for a number that is no power of two, and share one key head (MQA). Four heads share two (GQA).
SHAPES = {"prefill": (1, 4, 4, 3, 1, 4, 4), "chunk": (1, 2, 4, 4, 2, 4, 4),
          "padded": (2, 3, 3, 2, 1, 4, 5), "step": (1, 1, 6, 3, 1, 6, 4)}
MASKS = {
    "causal": {"order": "causal"},
    "bidirectional": {"order": "bidirectional"},
    "window": {"order": "causal", "left": 2},
    "two_sided_window": {"order": "bidirectional", "left": 1, "right": 2},
    "padding": {"order": "bidirectional", "keys": [[1, 1, 0], [0, 1, 1]]},
    # The second row's first query sees only padding.
    "causal_padding": {"order": "causal", "keys": [[1, 1, 0], [0, 1, 1]]},
    "packed": {"order": "bidirectional", "documents": [[7, 7, 2, 2]]},
    "causal_packed": {"order": "causal", "documents": [[7, 7, 2, 2]]},
}
FAR = 100000
SPREAD = [[0, 2, 3, 9]]
RESTARTED = [[0, 1, 0, 1]]
# BLOOM's positions: cumsum(mask) - 1, with padding at 0.
COUNTED = [[0, 1, 0], [0, 0, 1]]
# encoding: (inputs, mask, key positions or the first of a range). Queries are the last tokens.
CASES = {
    "none": (("padded", "causal_padding", 0), ("chunk", "bidirectional", 0)),
    "rotary_half": (("prefill", "causal", FAR), ("chunk", "window", 0),
                    ("prefill", "packed", RESTARTED)),
    "rotary_interleaved": (("step", "causal", FAR), ("padded", "causal_padding", 0)),
    "xpos": (("chunk", "causal", 0), ("step", "window", 0)),
    "t5_causal": (("prefill", "causal", SPREAD), ("step", "window", 0)),
    "t5_bidirectional": (("prefill", "bidirectional", SPREAD), ("prefill", "packed", RESTARTED)),
    "alibi": (("prefill", "causal", FAR), ("prefill", "causal_packed", RESTARTED)),
    "alibi_symmetric": (("prefill", "two_sided_window", 0),),
    "alibi_key_position": (("padded", "causal_padding", COUNTED),),
    "kerple_log": (("chunk", "causal", SPREAD), ("padded", "padding", 0)),
    "kerple_power": (("step", "causal", 0), ("prefill", "bidirectional", SPREAD)),
    "fire": (("prefill", "causal", SPREAD), ("step", "bidirectional", FAR)),
    "sandwich": (("chunk", "causal", FAR), ("prefill", "two_sided_window", 0)),
    "shaw_keys": (("prefill", "causal", 0), ("prefill", "causal_packed", RESTARTED)),
    "shaw": (("padded", "padding", 0), ("step", "causal", FAR), ("chunk", "bidirectional", 0)),
    "cope": (("chunk", "causal", 0), ("padded", "causal_padding", 0), ("step", "window", FAR)),
}


def encodings(random):
    """Random learned numbers for 4 heads and 6 features."""
    def numbers(shape, low=-1.0, high=1.0):
        return tensor(random.uniform(low, high, shape))

    # The frequencies are powers of two, so float64 angles are exact at every position.
    rotary = {"kind": "rotary", "base": 4096, "unrotated": 0}
    t5 = {"kind": "t5", "buckets": 8, "max_distance": 12}
    # FIRE's input is between 0 and 1. Two of the units switch at 0.3 and 0.6.
    fire = {"kind": "fire", "epsilon": 1e-6, "c": tensor([0.4]), "threshold": tensor([4.5]),
            "hidden_weight": tensor([0.9, -0.7, 0.6]), "hidden_bias": tensor([-0.27, 0.42, 0.1]),
            "output_weight": numbers((4, 3)), "output_bias": numbers(4)}
    window = {"kind": "shaw", "window": [2, 1], "keys": numbers((4, 6))}
    return {
        "none": {"kind": "none"},
        "rotary_half": {**rotary, "pairing": "half"},
        "rotary_interleaved": {**rotary, "pairing": "interleaved", "unrotated": 2},
        "xpos": {**rotary, "pairing": "interleaved", "xpos": {"scale_base": 16, "center": 3.5}},
        "t5_causal": {**t5, "direction": "causal", "table": numbers((8, 4), -2, 2)},
        "t5_bidirectional": {**t5, "direction": "bidirectional", "table": numbers((8, 4), -2, 2)},
        **{f"alibi{name}": {"kind": "alibi", "form": form}
           for name, form in (("", "causal"), ("_symmetric", "symmetric"),
                              ("_key_position", "key_position"))},
        "kerple_log": {"kind": "kerple_log", "p": numbers(4, 0.1, 2), "a": numbers(4, 0.1, 1)},
        "kerple_power": {"kind": "kerple_power", "a": numbers(4, 0.1, 0.6),
                         "p": numbers(4, 0.4, 1.4)},
        "fire": fire,
        "sandwich": {"kind": "sandwich", "dim": 8},
        "shaw_keys": window,
        "shaw": {**window, "values": numbers((4, 6))},
        "cope": {"kind": "cope", "table": numbers((3, 6))},
    }


def inputs(shape, random):
    batch, queries, keys, heads, of_keys, features, of_v = shape
    return {"q": tensor(random.uniform(-2, 2, (batch, queries, heads, features))),
            "k": tensor(random.uniform(-2, 2, (batch, keys, of_keys, features))),
            "v": tensor(random.uniform(-1, 1, (batch, keys, of_keys, of_v))),
            "d_out": tensor(random.uniform(-1, 1, (batch, queries, heads, of_v)))}


def tensor(array):
    """Rounds to three decimals, so that numbers are short and every reader gets equal ones."""
    array = np.asarray(array)
    return {"shape": list(array.shape), "data": array.round(3).reshape(-1).tolist()}


def case_of(encoding, place):
    name, mask, positions = place
    batch, queries, keys, _, _, features, _ = SHAPES[name]
    if isinstance(positions, int):
        positions = [list(range(positions, positions + keys))] * batch
    # T5 does not divide scores.
    scale = 1.0 if encoding.startswith("t5") else features ** -0.5
    return {"encoding": encoding, "inputs": name, "mask": mask, "scale": scale,
            "query_positions": [row[-queries:] for row in positions], "key_positions": positions}


def main():
    from release import release_of
    from wheels import pins

    torch.set_num_threads(1)
    release = release_of(pins()["default"])
    random = np.random.default_rng(12)
    golden = {
        "name": "attention_encodings",
        "produced_by": f"huggingface/transformers {release.version}, its wheel, for T5's buckets, "
                       "BLOOM's slopes and rotations; conformance/golden/attention.py",
        "torch": f"{torch.__version__} Debian CPU",
        "inputs": {name: inputs(shape, random) for name, shape in SHAPES.items()},
        "masks": MASKS,
        "encodings": encodings(random),
        "cases": [case_of(encoding, place) for encoding, places in CASES.items()
                  for place in places],
    }
    for case in golden["cases"]:
        made = computed(golden, case, release)
        case.update({name: stored(numbers) for name, numbers in made.items()})
    print(golden_text(golden))


def golden_text(golden):
    fields = [f"{json.dumps(field)}: {text_of(value)}" for field, value in golden.items()]
    return "{\n" + ",\n".join(fields) + "\n}"


def text_of(value):
    """JSON text with a line for each entry."""
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, list):
        return "[\n" + ",\n".join(compact(entry) for entry in value) + "\n]"
    lines = [f"{json.dumps(name)}: {compact(entry)}" for name, entry in value.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def compact(value):
    return json.dumps(value, separators=(",", ":"))


if __name__ == "__main__":
    main()
