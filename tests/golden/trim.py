#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps of a golden file what the tests use, and who made it.

    trim.py SOURCE.json > TRIMMED.json

Two kinds of source: rotated tensors (config, positions, q, k and what became of them) and
frequencies (config and inv_freq). Numbers of float32 tensors are written with the fewest digits
that read back as the same float32.
"""

import json
import struct
import sys

PROVENANCE = ("name", "produced_by", "torch", "source", "config_origin", "note")
TENSOR_FIELDS = ("config", "positions", "layout", "rotary_dim", "theta", "q", "k", "q_out", "k_out")
FREQUENCY_FIELDS = ("family", "config")
RESULT_FIELDS = ("seq_len", "seq_len_form", "rope_type", "function", "head_dim", "rotary_dim",
                 "attention_scaling", "inv_freq_f32", "inv_freq_f64_reference")
OPTIONAL_RESULT_FIELDS = ("layer_type", "softmax_scale_multiplier")


def as_float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def shortest(value):
    for digits in range(1, 10):
        candidate = float(f"{value:.{digits}g}")
        if as_float32(candidate) == as_float32(value):
            return candidate
    return value


def trim_tensor(tensor):
    if tensor["dtype"] != "float32":
        raise SystemExit(f"dtype must be float32, got {tensor['dtype']}")
    return {**tensor, "data": [shortest(value) for value in tensor["data"]]}


def trim_result(result):
    trimmed = {field: result[field] for field in RESULT_FIELDS}
    for field in OPTIONAL_RESULT_FIELDS:
        if result.get(field) is not None:
            trimmed[field] = result[field]
    trimmed["inv_freq_f32"] = [shortest(value) for value in trimmed["inv_freq_f32"]]
    return trimmed


def trim(golden):
    trimmed = {field: golden[field] for field in PROVENANCE if field in golden}
    fields = FREQUENCY_FIELDS if "results" in golden else TENSOR_FIELDS
    for field in fields:
        if field in golden:
            value = golden[field]
            is_tensor = isinstance(value, dict) and "data" in value
            trimmed[field] = trim_tensor(value) if is_tensor else value
    if "results" in golden:
        trimmed["results"] = [trim_result(result) for result in golden["results"]]
    return trimmed


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as source:
        trimmed = trim(json.load(source))
    # One field on each line: a change of one tensor is one line of the diff.
    lines = [f"{json.dumps(field)}: {json.dumps(value, separators=(',', ':'))}"
             for field, value in trimmed.items()]
    print("{\n" + ",\n".join(lines) + "\n}")


if __name__ == "__main__":
    main()
