# SPDX-License-Identifier: Apache-2.0
"""The measurement of attention, with one thread: writes the report as JSON."""

import argparse
import dataclasses
import functools
import gc
import json
import pathlib
import random
import sys
import time
from typing import Callable

import torch

import attention_native
import machine
from attention_torch import Eager
from attention_verify import Accuracy, largest_error
from attention_work import AttentionWork

FEWEST_ROUNDS = 5
LONG_NS = 20_000_000  # a call of this length finds in the caches what it put there itself
PEAK_STEPS = 500_000


@dataclasses.dataclass(frozen=True)
class Form:
    peer: str
    encoding: str
    how: str = "inside"  # torch: prepared, broadcast or recomputed
    cache: str = "f32"
    accuracy: Accuracy = Accuracy()

    def name(self):
        return f"{self.peer} {self.encoding} {self.how} {self.cache}"


def forms():
    for encoding in ("none", "rope", "alibi", "t5"):
        yield Form("rotary", encoding)
    for encoding in ("none", "rope", "alibi", "t5"):
        yield Form("ggml", encoding, accuracy=Accuracy(angles="ggml", mask="f16"))
    yield Form("ggml", "none", cache="f16", accuracy=Accuracy(cache="f16", mask="f16"))
    yield Form("torch", "none", "prepared")
    yield Form("torch", "rope", "prepared", accuracy=Accuracy(angles="float32"))
    yield Form("torch", "alibi", "prepared")
    yield Form("torch", "alibi", "broadcast", accuracy=Accuracy(offset="absolute"))
    yield Form("torch", "t5", "prepared")
    yield Form("torch", "t5", "recomputed")


def make(library, form, work):
    if form.peer == "torch":
        return Eager(work, form.encoding, form.how)
    return attention_native.Native(library, form.peer, work, form)


class DiffersError(Exception):
    """A contestant computes something else."""


def verified(runner, form, work):
    """Its error; and every other encoding's definition must refuse the same result."""
    runner.result = functools.lru_cache(runner.result)
    error = largest_error(runner, work, form.encoding, form.accuracy)
    if not error <= 1:
        raise DiffersError(f"{form.name()}, {work}: must be within its bound, got an error of "
                           f"{error:.3g} times that")
    for other in {"none", "rope", "alibi", "t5"} - {form.encoding}:
        if largest_error(runner, work, other, form.accuracy) <= 1:
            raise DiffersError(f"{form.name()}, {work}: must differ from {other}")
    return error


class Timed:
    def __init__(self, run):
        self.run, self.best = run, float("inf")
        self.long = self.once() >= LONG_NS

    def once(self):
        start = time.thread_time_ns()
        self.run()
        return time.thread_time_ns() - start

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


def measured(library, tokens, seconds):
    """Of one size: the peak, and a result for each form."""
    work, field = AttentionWork(tokens), list(forms())
    runners = [make(library, form, work) for form in field]
    try:
        errors = [verified(runner, form, work) for runner, form in zip(runners, field)]
        operations = library.attention_peak(PEAK_STEPS)
        peak = Timed(lambda: library.attention_peak(PEAK_STEPS))
        timed = [Timed(runner.run) for runner in runners]
        rounds = rounds_of([peak, *timed], seconds)
        results = [{"peer": form.peer, "encoding": form.encoding, "how": form.how,
                    "cache": form.cache, "tokens": tokens, "ms": round(each.best / 1e6, 4),
                    "rounds": rounds, "of_bound": float(f"{error:.3g}"),
                    "held_bytes": runner.held_bytes()}
                   for form, runner, each, error in zip(field, runners, timed, errors)]
    finally:
        for runner in runners:
            runner.free()
    return {"tokens": tokens, "gigaflops": round(operations / peak.best, 1)}, results


def sgemm_gigaflops(size=1024):
    left, right = torch.randn(size, size), torch.randn(size, size)
    timed = Timed(lambda: torch.mm(left, right))
    for _ in range(FEWEST_ROUNDS):
        timed.sample()
    return round(2 * size**3 / timed.best, 1)


def described(library, options):
    return {
        "schema_version": 1,
        "kind": "attention",
        "rotary": {"version": library.rotary_version().decode(), "commit": options.commit,
                   "instruction_set": library.rotary_instruction_set().decode()},
        "machine": machine.described(),
        "threads": 1,
        "shape": {"heads": AttentionWork.heads, "head_dim": AttentionWork.head_dim},
        "peers": [
            {"name": "ggml", "version": library.peers_ggml_version().decode(), "licence": "MIT",
             "settings": "-O3 -march=native; flash_attn_ext, one graph, one thread"},
            {"name": "torch", "version": torch.__version__, "licence": "BSD-3-Clause",
             "settings": "eager, inference mode, one thread; "
                         f"ATEN_CPU_CAPABILITY={machine.variable('ATEN_CPU_CAPABILITY')}, "
                         f"MALLOC_MMAP_MAX_={machine.variable('MALLOC_MMAP_MAX_')}, OpenBLAS, "
                         f"OPENBLAS_CORETYPE={machine.variable('OPENBLAS_CORETYPE')}"},
        ],
        "sgemm_gigaflops": sgemm_gigaflops(),
    }


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--json", required=True, type=pathlib.Path)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--seconds", required=True, type=float)
    parser.add_argument("--tokens", required=True, type=int, nargs="+")
    return parser.parse_args()


def main():
    options = parsed()
    torch.set_num_threads(1)
    gc.disable()
    library = attention_native.load(options.library)
    report = described(library, options) | {"peaks": [], "results": []}
    try:
        for tokens in options.tokens:
            print(f"== peers: verify and time attention over {tokens} tokens", file=sys.stderr,
                  flush=True)
            peak, results = measured(library, tokens, options.seconds)
            report["peaks"].append(peak)
            report["results"] += results
            gc.collect()
    except DiffersError as error:
        print(f"peers: {error}", file=sys.stderr)
        return 1
    options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
