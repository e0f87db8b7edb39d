#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps of a golden file what the tests use, and who made it.

    trim.py SOURCE.json > TRIMMED.json

Three kinds of source: rotated tensors (config, positions, q, k and what became of them),
frequencies (config and inv_freq) and ggml_vs_hf_probe (the largest differences of cos). Numbers of
float32 tensors are written with the fewest digits that read back as the same float32, those of
half_precision runs as the same bfloat16 or float16.
"""

import json
import struct
import sys

PROVENANCE = ("name", "produced_by", "torch", "source", "config_origin", "note")
TENSOR_FIELDS = ("config", "positions", "positions_thw", "position_ids_hw", "patch_grid_hw",
                 "layout", "head_dim", "rotary_dim", "theta", "scale_base", "inv_freq", "q", "k",
                 "v", "q_out", "k_out", "q_step_offset5", "v_out_if_rotary_value",
                 "half_precision")
PROBES = ("llama2 plain", "gpt-oss")
FREQUENCY_FIELDS = ("family", "config")
RESULT_FIELDS = ("seq_len", "seq_len_form", "rope_type", "function", "head_dim", "rotary_dim",
                 "attention_scaling", "inv_freq_f32", "inv_freq_f64_reference")
OPTIONAL_RESULT_FIELDS = ("layer_type", "softmax_scale_multiplier")


def as_float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def as_float16(value):
    return struct.unpack("<e", struct.pack("<e", value))[0]


def as_bfloat16(value):
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    nearest = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16
    return struct.unpack("<f", struct.pack("<I", nearest))[0]


ROUND = {"float32": as_float32, "float16": as_float16, "bfloat16": as_bfloat16}


def shortest(value, dtype="float32"):
    for digits in range(1, 10):
        candidate = float(f"{value:.{digits}g}")
        if ROUND[dtype](candidate) == ROUND[dtype](value):
            return candidate
    return value


def trim_tensor(tensor):
    if tensor["dtype"] not in ROUND:
        raise SystemExit(f"dtype must be one of {', '.join(ROUND)}, got {tensor['dtype']}")
    data = [shortest(value, tensor["dtype"]) for value in tensor["data"]]
    return {**tensor, "data": data}


def trim_half_precision(runs, golden):
    """The outputs; the inputs are q and k rounded to the dtype, which is checked."""
    for dtype, run in runs.items():
        for name in ("q", "k"):
            rounded = [ROUND[dtype](value) for value in golden[name]["data"]]
            if [as_float32(value) for value in run[f"{name}_in"]["data"]] != rounded:
                raise SystemExit(f"{name}_in of {dtype} must be {name} rounded to it")
    return {dtype: {name: trim_tensor(run[name]) for name in ("q_out", "k_out")}
            for dtype, run in runs.items()}


def trim_result(result):
    trimmed = {field: result[field] for field in RESULT_FIELDS}
    for field in OPTIONAL_RESULT_FIELDS:
        if result.get(field) is not None:
            trimmed[field] = result[field]
    trimmed["inv_freq_f32"] = [shortest(value) for value in trimmed["inv_freq_f32"]]
    return trimmed


def trim_field(field, golden):
    value = golden[field]
    if field == "half_precision":
        return trim_half_precision(value, golden)
    return trim_tensor(value) if isinstance(value, dict) and "data" in value else value


def trim_probe(golden):
    """Of the comparison of ggml, Transformers and exact values: one position axis."""
    return {name: value for name, value in golden.items() if name.startswith(PROBES)}


def trim(golden):
    if any(name.startswith(PROBES) for name in golden):
        return trim_probe(golden)
    trimmed = {field: golden[field] for field in PROVENANCE if field in golden}
    fields = FREQUENCY_FIELDS if "results" in golden else TENSOR_FIELDS
    for field in fields:
        if field in golden:
            trimmed[field] = trim_field(field, golden)
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
