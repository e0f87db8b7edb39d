# SPDX-License-Identifier: Apache-2.0
"""Measures rotations of every dtype and pairing."""

import gc
import sys

import numpy
import onnx

import goals
import machine
import timing
from contestants import Field
from workload import Workload

GROUPS = [(dtype, pairing) for dtype in ("f32", "bf16", "f16")
          for pairing in ("half", "interleaved")]
SETTINGS = {
    "ggml": "-O3 -march=native; one graph for q and k, computed in a C loop",
    "onnxruntime": f"graph made with onnx {onnx.__version__}; bound inputs and outputs; "
                   "for 64 tokens or fewer a chain of 32 layers in each call",
    "torch": f"inference mode, eager and compiled, NumPy {numpy.__version__}; "
             f"{machine.of_torch()}",
    "openvino": "CPU plugin, one stream; for 64 tokens or fewer a chain of 32 layers",
    "mlx": "CPU device, one thread; for 64 tokens or fewer a chain of 32 layers",
}


def report(library, options):
    found = {"schema_version": 1,
             "shape": {"query_heads": Workload.query_heads, "key_heads": Workload.key_heads,
                       "head_dim": Workload.head_dim, "first_position": Workload.first},
             "results": list(results(Field(library, options.threads), options))}
    return found | {"goals": goals.evaluate(found)}


def results(field, options):
    for dtype, pairing in GROUPS:
        contestants = list(field.of(dtype, pairing))
        timing.refuse_planted(contestants, Workload(dtype, pairing, tokens=16))
        for tokens in options.tokens:
            work = Workload(dtype, pairing, tokens)
            print(f"== peers: verify and time {work}", file=sys.stderr, flush=True)
            yield from timing.measured(contestants, work, options.seconds)
            gc.collect()
