# SPDX-License-Identifier: Apache-2.0
"""The measurement, in the interpreter that environment.py made: writes the report as JSON."""

import argparse
import gc
import json
import pathlib
import sys

import mlx.core
import numpy
import onnx
import onnxruntime
import torch

import machine
import openvino_peer
import timing
from contestants import Field
from native import Native
from workload import Workload

GROUPS = [(dtype, pairing) for dtype in ("f32", "bf16", "f16")
          for pairing in ("half", "interleaved")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--json", required=True, type=pathlib.Path)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--threads", required=True, type=int)
    parser.add_argument("--seconds", required=True, type=float)
    parser.add_argument("--tokens", required=True, type=int, nargs="+")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    native = Native(options.library)
    report = described(native, options)
    try:
        report["results"] = list(results(Field(native, options.threads), options))
    except timing.DiffersError as error:
        print(f"peers: {error}", file=sys.stderr)
        return 1
    options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


def results(field, options):
    gc.disable()
    for dtype, pairing in GROUPS:
        contestants = list(field.of(dtype, pairing))
        timing.refuse_planted(contestants, Workload(dtype, pairing, tokens=16))
        for tokens in options.tokens:
            work = Workload(dtype, pairing, tokens)
            print(f"== peers: verify and time {work}", file=sys.stderr, flush=True)
            yield from timing.measured(contestants, work, options.seconds)
            gc.collect()


def described(native, options):
    return {
        "schema_version": 1,
        "rotary": {"version": native.rotary_version(), "commit": options.commit,
                   "instruction_set": native.instruction_set()},
        "machine": machine.described(),
        "threads": options.threads,
        "shape": {"query_heads": Workload.query_heads, "key_heads": Workload.key_heads,
                  "head_dim": Workload.head_dim, "first_position": Workload.first},
        "peers": [
            {"name": "ggml", "version": native.ggml_version(), "licence": "MIT",
             "settings": "-O3 -march=native; one graph for q and k, computed in a C loop"},
            {"name": "onnxruntime", "version": onnxruntime.__version__, "licence": "MIT",
             "settings": f"graph made with onnx {onnx.__version__}; bound inputs and outputs; "
                         "for 64 tokens or fewer a chain of 32 layers in each call"},
            {"name": "torch", "version": torch.__version__, "licence": "BSD-3-Clause",
             "settings": f"inference mode, eager and compiled, NumPy {numpy.__version__}; "
                         f"ATEN_CPU_CAPABILITY={machine.variable('ATEN_CPU_CAPABILITY')}, "
                         f"MALLOC_MMAP_MAX_={machine.variable('MALLOC_MMAP_MAX_')}"},
            {"name": "openvino", "version": openvino_peer.version(), "licence": "Apache-2.0",
             "settings": "CPU plugin, one stream; for 64 tokens or fewer a chain of 32 layers"},
            {"name": "mlx", "version": mlx.core.__version__, "licence": "MIT",
             "settings": "CPU device, one thread; for 64 tokens or fewer a chain of 32 layers"},
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
