#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/first_positions.json: where the rows of two embeddings first differ.

    first_positions.py [--write]

Uses only NumPy and its own formulas, with 80-bit angles at each position and no phase arithmetic.
Without --write: compares.
"""

import json
import pathlib
import sys

import numpy as np

PATH = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/first_positions.json"
TOLERANCE = 2.0**-8
REAL = np.longdouble


def plain(spec):
    pairs = np.arange(0, spec["rotary_dim"], 2, dtype=REAL)
    return REAL(spec["base"]) ** (-pairs / spec["rotary_dim"])


def yarn(spec, rule):
    """_compute_yarn_parameters of Transformers."""
    dim, base = spec["rotary_dim"], spec["base"]
    length, factor = rule["original_max_position_embeddings"], REAL(rule["factor"])

    def pair_of(turns):
        return dim * np.log(length / (turns * 2 * np.pi)) / (2 * np.log(base))

    low, high = pair_of(32), pair_of(1)
    if rule.get("truncate", True):
        low, high = np.floor(low), np.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    ramp = np.clip((np.arange(dim // 2, dtype=REAL) - low) / (high - low), 0, 1)
    inv_freq = plain(spec)
    return inv_freq * (1 - ramp) + inv_freq / factor * ramp, 0.1 * np.log(factor) + 1


def llama3(spec, rule):
    inv_freq = plain(spec)
    turns = rule["original_max_position_embeddings"] * inv_freq / (2 * REAL(np.pi))
    low, high = rule["low_freq_factor"], rule["high_freq_factor"]
    smooth = np.clip((turns - low) / (high - low), 0, 1)
    return inv_freq * (smooth + (1 - smooth) / rule["factor"]), 1


def frequencies(spec):
    rule = spec.get("scaling", {"rope_type": "default"})
    if rule["rope_type"] == "default":
        return plain(spec), 1
    if rule["rope_type"] == "linear":
        return plain(spec) / rule["factor"], 1
    if rule["rope_type"] == "explicit":
        return np.array(rule["inv_freq"], REAL), rule["attention_factor"]
    return {"yarn": yarn, "llama3": llama3}[rule["rope_type"]](spec, rule)


def rows(spec, positions):
    inv_freq, factor = frequencies(spec)
    angles = positions[:, None].astype(REAL) * inv_freq
    return factor * np.cos(angles), factor * np.sin(angles)


def apart(one, other, positions):
    """The larger difference of cos and sin, [positions, pairs]."""
    mine, theirs = rows(one, positions), rows(other, positions)
    return np.maximum(abs(mine[0] - theirs[0]), abs(mine[1] - theirs[1]))


def difference(one, other, context):
    first, at_first, pairs = None, 0.0, set()
    for begin in range(0, context, 8192):
        far = apart(one, other, np.arange(begin, min(begin + 8192, context)))
        pairs |= set(np.flatnonzero((far > TOLERANCE).any(axis=0)).tolist())
        where = np.flatnonzero((far > TOLERANCE).any(axis=1))
        if first is None and len(where):
            first, at_first = begin + int(where[0]), float(far[where[0]].max())
    drift = frequencies(one)[0] - frequencies(other)[0]
    head, dim = one["head_dim"], one["rotary_dim"]
    angles = np.minimum(abs(drift) * (context - 1), np.pi)
    squares = [frequencies(spec)[1] ** 2 for spec in (one, other)]
    change = abs(squares[0] - squares[1] * np.exp(1j * angles.astype(np.complex128)))
    distances = [2**k for k in range(64) if 2**k < context - 1] + [context - 1]
    likeness = [float((2 * np.cos(drift * d).sum() + head - dim) / head) for d in distances]
    least = int(np.argmin(likeness))
    return {"first_position": first, "at_first": at_first, "pairs": sorted(pairs),
            "largest_angle_error": float(angles.max()),
            "largest_angle_pair": int(angles.argmax()),
            "largest_score_change": float(change.max()),
            "least_correlation": likeness[least], "least_correlation_distance": distances[least]}


def spec(base, scaling=None, rotary_dim=128, head_dim=128):
    made = {"head_dim": head_dim, "rotary_dim": rotary_dim, "base": base, "pairing": "half"}
    return made | ({"scaling": scaling} if scaling else {})


LLAMA3 = {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4,
          "original_max_position_embeddings": 8192}
GPT_OSS = {"rope_type": "yarn", "factor": 32, "original_max_position_embeddings": 4096,
           "truncate": False}
QWEN = {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 32768}
CASES = [
    ("Llama 3.1 without its rule", spec(500000, LLAMA3), spec(500000), 131072),
    ("Llama 3.2's factor", spec(500000, LLAMA3), spec(500000, LLAMA3 | {"factor": 32}), 131072),
    ("a lost base", spec(500000), spec(10000), 8192),
    ("linear scaling that is lost", spec(10000, {"rope_type": "linear", "factor": 8}),
     spec(10000), 16384),
    ("gpt-oss with a ramp between whole pairs", spec(150000, GPT_OSS, 64, 64),
     spec(150000, GPT_OSS | {"truncate": True}, 64, 64), 131072),
    ("YaRN that is off", spec(1000000, QWEN), spec(1000000), 131072),
    ("a base that float32 has, at a million tokens", spec(1000000), spec(999999.4375), 1048576),
    ("nearly alike, part of the head", spec(10000, None, 32, 80), spec(10000.01, None, 32, 80),
     1048576),
    ("alike", spec(10000), spec(10000), 1048576),
    ("steps across the drifts that are too large",
     *(spec(10000, {"rope_type": "explicit", "inv_freq": [rate], "attention_factor": 0.0028}, 2, 2)
       for rate in (0.5, -2.0)), 32),
]


def main():
    cases = [{"title": title, "one": one, "other": other, "context_tokens": context}
             | difference(one, other, context) for title, one, other, context in CASES]
    if sys.argv[1:] == ["--write"]:
        made = ",\n".join("  " + json.dumps(case) for case in cases)
        PATH.write_text('{"produced_by": "conformance/golden/first_positions.py", "cases": [\n'
                        + made + "\n]}\n")
        return 0
    recorded = json.loads(PATH.read_text())["cases"]
    for now, then in zip(cases, recorded, strict=True):
        if now["first_position"] != then["first_position"] or now["pairs"] != then["pairs"]:
            print(f"first_positions: {now['title']}: {now} is not {then}", file=sys.stderr)
            return 1
    print(f"{len(cases)} cases as recorded")
    return 0


if __name__ == "__main__":
    sys.exit(main())
