# SPDX-License-Identifier: Apache-2.0
"""Times the package's calls beside torch's on one thread. Prefill is verified first. Contenders
alternate in many rounds, and the fastest round counts. Usage: bench.py [--rounds N]"""

import argparse
import subprocess
import sys
import time

import numpy as np
import rotary
import torch
from rotary_embedding_torch import RotaryEmbedding

SHAPES = ((1, 32, 4096, 128), (1, 8, 4096, 128))  # q and k of Llama 3.1 8B, "bhtd"


def least(calls, rounds):
    """Returns the fastest time of each call, in seconds."""
    best = {name: float("inf") for name in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - begin)
    return best


def rotate_half(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


def overheads(rounds):
    """Returns microseconds of rotate(q, k) for one token, nearly all of it overhead of Python."""
    spec = rotary.RotarySpec(head_dim=16, base=1e4, pairing="half")
    rows = spec.frequencies().rotations(range(1))
    q, k = (np.ones((1, heads, 1, 16), np.float32) for heads in (2, 1))
    out, qt, kt = (q.copy(), k.copy()), torch.from_numpy(q), torch.from_numpy(k)
    out_t = torch.empty_like(qt), torch.empty_like(kt)
    calls = {
        "numpy in place": lambda: rows.rotate(q, k, layout="bhtd", inplace=True),
        "numpy out=": lambda: rows.rotate(q, k, layout="bhtd", out=out),
        "numpy new": lambda: rows.rotate(q, k, layout="bhtd"),
        "torch in place": lambda: rows.rotate(qt, kt, layout="bhtd", inplace=True),
        "torch out=": lambda: rows.rotate(qt, kt, layout="bhtd", out=out_t),
        "torch new": lambda: rows.rotate(qt, kt, layout="bhtd"),
    }
    many = {name: (lambda call=call: [call() for _ in range(200)]) for name, call in calls.items()}
    return {name: seconds / 200 * 1e6 for name, seconds in least(many, rounds).items()}


def tensors(dtype):
    return [torch.randn(shape, generator=torch.Generator().manual_seed(1)).to(dtype)
            for shape in SHAPES]


def prefill(dtype, rounds):
    """Returns milliseconds to rotate q and k of 4096 tokens."""
    model = rotary.resolve("llama-3.1-8b")
    f = model.frequencies()
    rows = f.rotations(range(4096))
    cos, sin = (torch.from_numpy(row).to(dtype) for row in f.tables(range(4096)))
    q, k = tensors(dtype)
    eager = lambda: (rotate_half(q, cos, sin), rotate_half(k, cos, sin))  # noqa: E731
    expected = eager()
    for made, other in zip(rows.rotate(q, k, layout="bhtd"), expected):
        error = float((made.float() - other.float()).abs().max())
        assert error < (1e-5 if dtype == torch.float32 else 0.1), error
    q2, k2 = q.clone(), k.clone()
    out = torch.empty_like(q), torch.empty_like(k)
    calls = {
        "in place": lambda: rows.rotate(q2, k2, layout="bhtd", inplace=True),
        "out=": lambda: rows.rotate(q, k, layout="bhtd", out=out),
        "new tensors": lambda: rows.rotate(q, k, layout="bhtd"),
        "clone": lambda: (q.clone(), k.clone()),
        "torch eager": eager,
    }
    compiled = torch.compile(
        lambda q, k, cos, sin: (rotate_half(q, cos, sin), rotate_half(k, cos, sin)))
    theirs = RotaryEmbedding(128, theta=500000)
    calls |= {
        "torch.compile": lambda: compiled(q, k, cos, sin),
        "rotary-embedding-torch": lambda: (theirs.rotate_queries_or_keys(q),
                                           theirs.rotate_queries_or_keys(k)),
    }
    return {name: seconds * 1e3 for name, seconds in least(calls, rounds).items()}


def import_times(rounds):
    """Returns milliseconds that `import` takes in a new process, for NumPy and rotary."""
    def timed(module):
        program = f"import time; a = time.perf_counter(); import {module}"
        command = [sys.executable, "-c", program + "; print(time.perf_counter() - a)"]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    best = {"numpy": float("inf"), "rotary": float("inf")}
    for _ in range(rounds):
        for name in best:
            best[name] = min(best[name], timed(name))
    return {name: seconds * 1e3 for name, seconds in best.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with torch.no_grad():
        results = {
            "overhead, us": overheads(options.rounds),
            "prefill f32, ms": prefill(torch.float32, options.rounds),
            "prefill bf16, ms": prefill(torch.bfloat16, options.rounds),
            "import, ms": import_times(options.rounds),
        }
    for title, times in results.items():
        print(title)
        base = times.get("out=") if "prefill" in title else None
        for name, value in times.items():
            ratio = f"  {value / base:6.2f} of out=" if base else ""
            print(f"  {name:<24}{value:10.2f}{ratio}")


if __name__ == "__main__":
    main()
