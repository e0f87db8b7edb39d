# SPDX-License-Identifier: Apache-2.0
"""Measures attention of every shape."""

import concurrent.futures
import dataclasses
import functools
import gc
import sys

import numpy as np

import machine
from attention_forms import forms, make
from attention_verify import largest_error
from attention_work import AttentionWork, Shape
from runner import Called
from timing import DiffersError, Running, require_within, rounds_of

FEWEST_ROUNDS = 5
PEAK_STEPS = 500_000
FEW_KEYS = 100
GROUPED = {"heads": 32, "key_heads": 8, "head_dim": 128}  # Llama 3 8B
SETTINGS = {
    "ggml": "-O3 -march=native; flash_attn_ext, one graph",
    "torch": f"inference mode; {machine.of_torch()}",
    "openvino": "CPU plugin, one stream, ScaledDotProductAttention",
    "onnxruntime": "GroupQueryAttention with do_rotary; bound inputs and outputs",
    "mlx": "CPU device, fast.scaled_dot_product_attention, one thread",
}


def refuse_others(library, shape, options):
    """Checks that no result passes as another encoding's. Uses few keys, because the bounds must be
    narrower than the differences between encodings."""
    work = AttentionWork(shape)
    for form in forms(shape):
        runner = make(library, form, work, options.threads)
        runner.result = functools.lru_cache(runner.result)
        for other in {"none", "rope", "alibi", "t5"} - {form.encoding}:
            if largest_error(runner, work, other, form.accuracy) <= 1:
                raise DiffersError(f"{form.name()}, {shape}: must differ from {other}")
        runner.free()


class Roofline(Called):
    """The machine's limit with all threads: multiply-adds in a prefill, float32 reads of k and v in
    a decode step."""

    def __init__(self, library, work, threads):
        self.pool = concurrent.futures.ThreadPoolExecutor(threads)
        self.unit = "read_gigabytes" if work.shape.is_decode() else "gigaflops"
        if work.shape.is_decode():
            parts = [part for each in (work.k, work.v)
                     for part in np.array_split(each.reshape(-1), threads)]
            self.amount = sum(part.nbytes for part in parts)
            self.tasks = [functools.partial(library.attention_read, part.ctypes.data, part.nbytes)
                          for part in parts]
        else:
            self.amount = threads * library.attention_peak(PEAK_STEPS)
            self.tasks = threads * [functools.partial(library.attention_peak, PEAK_STEPS)]

    def call(self):
        if len(self.tasks) == 1:
            self.tasks[0]()
            return
        for each in [self.pool.submit(task) for task in self.tasks]:
            each.result()


def measured(library, shape, options):
    """Returns the shape, its roofline, and a result for each form."""
    few = min(FEW_KEYS, shape.keys)
    refuse_others(library, dataclasses.replace(
        shape, queries=min(few, shape.queries), keys=few), options)
    work = AttentionWork(shape)
    running = [Running(form, make(library, form, work, options.threads)) for form in forms(shape)]
    try:
        for each in running:
            form = each.contestant
            each.verdict = largest_error(each.runner, work, form.encoding, form.accuracy)
            require_within(each.verdict, f"{form.name()}, {shape}")
        roofline = Roofline(library, work, options.threads)
        timed_roofline = Running(None, roofline)
        rounds = rounds_of([timed_roofline, *running], options.seconds, FEWEST_ROUNDS)
        results = [result_of(each) for each in running]
    finally:
        for each in running:
            each.runner.free()
    return {"queries": shape.queries, "keys": shape.keys, "heads": shape.heads,
            "key_heads": shape.key_heads, "head_dim": shape.head_dim, "rounds": rounds,
            roofline.unit: round(roofline.amount / timed_roofline.best, 1), "results": results}


def result_of(each):
    form, held = each.contestant, each.runner.held_bytes()
    return {"peer": form.peer, "encoding": form.encoding, "how": form.how, "dtype": form.dtype,
            "ms": round(each.best / 1e6, 4), "of_bound": float(f"{each.verdict:.3g}"),
            } | ({} if held is None else {"held_bytes": held})


def report(library, options):
    shapes = [Shape(tokens, tokens) for tokens in options.tokens]
    shapes += [Shape(1, options.keys), Shape(1, options.keys, **GROUPED)]
    found = {"schema_version": 2, "kind": "attention", "shapes": []}
    for shape in shapes:
        print(f"== peers: verify and time attention: {shape}", file=sys.stderr, flush=True)
        found["shapes"].append(measured(library, shape, options))
        gc.collect()
    return found
