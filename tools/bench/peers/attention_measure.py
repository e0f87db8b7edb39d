# SPDX-License-Identifier: Apache-2.0
"""The measurement of attention: writes the report as JSON."""

import argparse
import concurrent.futures
import dataclasses
import functools
import gc
import json
import pathlib
import random
import sys
import time

import mlx.core
import numpy as np
import onnxruntime
import torch

import attention_native
import machine
import openvino_peer
from attention_forms import forms, make
from attention_verify import largest_error
from attention_work import AttentionWork, Shape

FEWEST_ROUNDS = 5
LONG_NS = 20_000_000  # a call of this length finds in the caches what it put there itself
PEAK_STEPS = 500_000
FEW_KEYS = 100
GROUPED = {"heads": 32, "key_heads": 8, "head_dim": 128}  # Llama 3 8B


class DiffersError(Exception):
    """A contestant computes something else."""


def verified(runner, form, work):
    """Its error, as a fraction of the bound."""
    error = largest_error(runner, work, form.encoding, form.accuracy)
    if not error <= 1:
        raise DiffersError(f"{form.name()}, {work.shape}: must be within its bound, got an error "
                           f"of {error:.3g} times that")
    return error


def refuse_others(library, shape, options):
    """Every other encoding's definition must refuse a result; over few keys, where bounds are
    narrow beside what keys differ by."""
    work = AttentionWork(shape)
    for form in forms(shape):
        runner = make(library, form, work, options.threads)
        runner.result = functools.lru_cache(runner.result)
        for other in {"none", "rope", "alibi", "t5"} - {form.encoding}:
            if largest_error(runner, work, other, form.accuracy) <= 1:
                raise DiffersError(f"{form.name()}, {shape}: must differ from {other}")
        runner.free()


class Timed:
    """By the wall clock: some peers compute on threads of their own, even with one."""

    def __init__(self, run):
        self.run, self.best = run, float("inf")
        self.long = self.once() >= LONG_NS

    def once(self):
        start = time.perf_counter_ns()
        self.run()
        return time.perf_counter_ns() - start

    def sample(self):
        if not self.long:
            self.run()
        self.best = min(self.best, self.once())


def rounds_of(timed, seconds):
    order, shuffle = list(timed), random.Random(1).shuffle
    end, rounds = time.monotonic() + seconds, 0
    while rounds < FEWEST_ROUNDS or time.monotonic() < end:
        shuffle(order)
        for each in order:
            each.sample()
        rounds += 1
    return rounds


class Roofline:
    """Of all threads: multiply-adds for a prefill, reading k and v in float32 for a decode step."""

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

    def run(self):
        if len(self.tasks) == 1:
            self.tasks[0]()
            return
        for each in [self.pool.submit(task) for task in self.tasks]:
            each.result()


def measured(library, shape, options):
    """Of one shape: what it is, its roofline, and a result for each form."""
    few = min(FEW_KEYS, shape.keys)
    refuse_others(library, dataclasses.replace(
        shape, queries=min(few, shape.queries), keys=few), options)
    work, field = AttentionWork(shape), list(forms(shape))
    runners = [make(library, form, work, options.threads) for form in field]
    try:
        errors = [verified(runner, form, work) for runner, form in zip(runners, field)]
        roofline = Roofline(library, work, options.threads)
        timed_roofline, timed = Timed(roofline.run), [Timed(runner.run) for runner in runners]
        rounds = rounds_of([timed_roofline, *timed], options.seconds)
        results = [result_of(*each) for each in zip(field, runners, timed, errors)]
    finally:
        for runner in runners:
            runner.free()
    return {"queries": shape.queries, "keys": shape.keys, "heads": shape.heads,
            "key_heads": shape.key_heads, "head_dim": shape.head_dim, "rounds": rounds,
            roofline.unit: round(roofline.amount / timed_roofline.best, 1), "results": results}


def result_of(form, runner, timed, error):
    held = runner.held_bytes()
    return {"peer": form.peer, "encoding": form.encoding, "how": form.how, "dtype": form.dtype,
            "ms": round(timed.best / 1e6, 4), "of_bound": float(f"{error:.3g}"),
            } | ({} if held is None else {"held_bytes": held})


def described(library, options):
    torch_settings = (f"inference mode; ATEN_CPU_CAPABILITY="
                      f"{machine.variable('ATEN_CPU_CAPABILITY')}, "
                      f"MALLOC_MMAP_MAX_={machine.variable('MALLOC_MMAP_MAX_')}")
    return {
        "schema_version": 2,
        "kind": "attention",
        "rotary": {"version": library.rotary_version().decode(), "commit": options.commit,
                   "instruction_set": library.rotary_instruction_set().decode()},
        "machine": machine.described(),
        "threads": options.threads,
        "peers": [
            {"name": "ggml", "version": library.peers_ggml_version().decode(), "licence": "MIT",
             "settings": "-O3 -march=native; flash_attn_ext, one graph"},
            {"name": "torch", "version": torch.__version__, "licence": "BSD-3-Clause",
             "settings": torch_settings},
            {"name": "openvino", "version": openvino_peer.version(),
             "licence": "Apache-2.0",
             "settings": "CPU plugin, one stream, ScaledDotProductAttention"},
            {"name": "onnxruntime", "version": onnxruntime.__version__, "licence": "MIT",
             "settings": "GroupQueryAttention with do_rotary; bound inputs and outputs"},
            {"name": "mlx", "version": mlx.core.__version__, "licence": "MIT",
             "settings": "CPU device, fast.scaled_dot_product_attention, one thread"},
        ],
    }


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--json", required=True, type=pathlib.Path)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--seconds", required=True, type=float)
    parser.add_argument("--threads", required=True, type=int)
    parser.add_argument("--tokens", required=True, type=int, nargs="+")
    parser.add_argument("--keys", required=True, type=int)
    return parser.parse_args()


def main():
    options = parsed()
    gc.disable()
    library = attention_native.load(options.library)
    report = described(library, options) | {"shapes": []}
    shapes = [Shape(tokens, tokens) for tokens in options.tokens]
    shapes += [Shape(1, options.keys), Shape(1, options.keys, **GROUPED)]
    try:
        for shape in shapes:
            print(f"== peers: verify and time attention: {shape}", file=sys.stderr, flush=True)
            report["shapes"].append(measured(library, shape, options))
            gc.collect()
    except DiffersError as error:
        print(f"peers: {error}", file=sys.stderr)
        return 1
    options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
