#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the calls of rotary_cuda.h beside copies of the same bytes, empty launches, torch, Liger
and flash-attention. Also measures the errors of cos and sin, beside Transformers' recipe.

  ROTARY_CUDA_LIBRARY=build/cuda/src/librotary.so python3 cuda/bench/bench.py
  python3 cuda/bench/bench.py --only rotate,decode --json numbers.json

Verifies results first. Captures the calls of each contender in a graph and times its replays with
events, one contender after another in each round. Successive calls take different tensors, so that
none finds its data in a cache. Needs torch, triton and this project's Python package. Skips peers
that are not installed.
"""

import argparse
import ctypes
import importlib.util
import json
import statistics
import sys

import torch
import triton

import rotary
import rotary.torch
from rotary import _cuda

Q_HEADS, K_HEADS, HEAD_DIM = 32, 8, 128
SPEC = rotary.RotarySpec(head_dim=HEAD_DIM, base=5e5, pairing="half")
BYTES = {torch.float32: 4, torch.bfloat16: 2, torch.float16: 2}


@triton.jit
def empty_kernel():
    pass


class Bench:
    def __init__(self, rounds):
        self.rounds = rounds
        self.results = {}

    def time(self, title, contenders, calls=20):
        """Returns (minimum, median) of the rounds, in microseconds per call, for each contender."""
        graphs = {}
        for name, call in contenders.items():
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for i in range(3):
                    call(i)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for i in range(calls):
                    call(i)
            graphs[name] = graph
        times = {name: [] for name in graphs}
        for _ in range(self.rounds):
            for name, graph in graphs.items():
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                graph.replay()
                end.record()
                end.synchronize()
                times[name].append(begin.elapsed_time(end) * 1000 / calls)
        made = {name: (min(each), statistics.median(each)) for name, each in times.items()}
        self.results[title] = made
        return made


def table(title, made, against, note=""):
    print(f"\n{title}{note}")
    base = made[against][1]
    for name, (least, median) in made.items():
        print(f"  {name:34} {least:9.2f} us least {median:9.2f} median   {median / base:6.3f} x "
              f"{against}")


def sets_of(make, bytes_each):
    """Makes 2 to 64 sets of tensors, 300 MB if possible, so that reused sets are not in a cache."""
    count = max(2, min(64, 300_000_000 // max(bytes_each, 1) + 1))
    return [make() for _ in range(count)]


def consecutive(first, tokens):
    return _cuda.Positions(kind=1, first=first, tokens=tokens, batch=1, token_stride=1, axes=1)


def eager(x, cos, sin):
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), -1)
    return x * cos + turned * sin


def pair_of(q, k, cos, sin):
    return eager(q, cos, sin), eager(k, cos, sin)


def load_flash_rotary(path):
    """Loads flash_attn's Triton kernel from its file, without the package's compiled part."""
    spec = importlib.util.spec_from_file_location("flash_rotary", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.apply_rotary


def bench_rotate(bench, frequencies, dtype, tokens, flash):
    size = tokens * (Q_HEADS + K_HEADS) * HEAD_DIM * BYTES[dtype]

    def make():
        return (torch.randn(1, tokens, Q_HEADS, HEAD_DIM, device="cuda").to(dtype),
                torch.randn(1, tokens, K_HEADS, HEAD_DIM, device="cuda").to(dtype))

    sets = sets_of(make, size)
    where = consecutive(4096, tokens)
    at = frequencies.at(where)
    positions = torch.arange(4096, 4096 + tokens, device="cuda")
    array = _cuda.positions(positions)
    of_array = frequencies.at(array)
    cos, sin = rotary.torch.tables(SPEC, positions)
    wide = tuple(torch.cat((row, row), -1)[0][None, :, None].to(dtype) for row in (cos, sin))

    def ours(i, at=at):
        q, k = sets[i % len(sets)]
        _cuda.call("rotary_cuda_rotate_qk", _cuda.view(q, "bthd"), _cuda.view(k, "bthd"), at,
                   _cuda.options(q.device))

    # Verifies first: errors against float64 are at most one step of the dtype, or two in float32.
    q, k = (x.clone() for x in sets[0])
    exact = [eager(x.double(), *(torch.cat((row, row), -1)[0][None, :, None].double()
                                 for row in (cos, sin))) for x in (q, k)]
    ours(0)
    unit = {torch.float32: 2**-22, torch.bfloat16: 2**-7, torch.float16: 2**-10}[dtype]
    for got, wanted in zip(sets[0], exact):
        assert ((got.double() - wanted).abs() <= unit * wanted.abs().clamp(min=1)).all()
    pool = [torch.empty(size // BYTES[dtype], dtype=dtype, device="cuda") for _ in range(4)]
    compiled = torch.compile(pair_of, fullgraph=True)
    contenders = {
        "copy of the same bytes": lambda i: pool[i % 4].copy_(pool[(i + 1) % 4]),
        "rotary, rows made in the kernel": ours,
        "rotary, positions an array": lambda i: ours(i, of_array),
        "torch.compile, tables given": lambda i: compiled(*sets[i % len(sets)], *wide),
        "torch eager, tables given": lambda i: pair_of(*sets[i % len(sets)], *wide),
    }
    narrow = tuple(row[0].to(dtype).contiguous() for row in (cos, sin))
    if flash is not None:
        def flash_call(i):
            for x in sets[i % len(sets)]:
                flash(x, *narrow, inplace=True)
        contenders["flash-attention's Triton, in place"] = flash_call
    try:
        from liger_kernel.ops.rope import LigerRopeFunction

        tables = tuple(torch.cat((row, row), -1).to(dtype).contiguous() for row in (cos, sin))
        heads_first = [(q.transpose(1, 2), k.transpose(1, 2)) for q, k in sets]
        contenders["Liger"] = lambda i: LigerRopeFunction.apply(
            *heads_first[i % len(sets)], *tables)
    except ImportError:
        pass
    made = bench.time(f"rotate {dtype} {tokens}", contenders, calls=len(sets) * 2)
    bandwidth = 2 * size / made["copy of the same bytes"][1] / 1e6
    table(f"rotate q and k, {dtype}, {tokens} x ({Q_HEADS} + {K_HEADS}) x {HEAD_DIM}", made,
          "copy of the same bytes", f"; the copy moves {bandwidth:.2f} TB/s")


def kv(k, v):
    class Kv(_cuda._Sized):
        _fields_ = [(name, ctypes.POINTER(_cuda.HeadsView)) for name in "kv"]
    return Kv(k=ctypes.pointer(k), v=ctypes.pointer(v))


class Slots(_cuda._Sized):
    _fields_ = [("kind", ctypes.c_int32), ("reserved", ctypes.c_int32), ("first", ctypes.c_int64),
                ("data", ctypes.c_void_p), ("batch", ctypes.c_int64), ("tokens", ctypes.c_int64),
                ("batch_stride", ctypes.c_int64), ("token_stride", ctypes.c_int64)]


class HeadNorm(_cuda._Sized):
    _fields_ = [("weight", ctypes.c_void_p), ("weight_count", ctypes.c_size_t),
                ("weight_offset", ctypes.c_double), ("epsilon", ctypes.c_double),
                ("over", ctypes.c_int32), ("reserved", ctypes.c_int32)]


class Norms(_cuda._Sized):
    _fields_ = [("q", ctypes.POINTER(HeadNorm)), ("k", ctypes.POINTER(HeadNorm)),
                ("order", ctypes.c_int32), ("reserved", ctypes.c_int32)]


class Step(_cuda._Sized):
    _fields_ = [("q", ctypes.POINTER(_cuda.HeadsView)), ("q_out", ctypes.POINTER(_cuda.HeadsView)),
                ("heads", ctypes.c_void_p), ("cache", ctypes.c_void_p), ("slots", ctypes.c_void_p),
                ("norms", ctypes.c_void_p)]


class Fused:
    """QKV split, norms, rotation and paged append of one layer."""

    def __init__(self, frequencies, batch, tokens, norms):
        heads = Q_HEADS + 2 * K_HEADS
        self.qkv = torch.randn(batch, tokens, heads, HEAD_DIM, device="cuda").bfloat16()
        self.q_out = torch.empty(batch, tokens, Q_HEADS, HEAD_DIM, dtype=torch.bfloat16,
                                 device="cuda")
        pages = (batch * tokens + 15) // 16 + 1
        self.cache = torch.zeros(2, pages, 16, K_HEADS, HEAD_DIM, dtype=torch.bfloat16,
                                 device="cuda")
        self.slots = torch.randperm(pages * 16, device="cuda")[:batch * tokens]
        self.positions = torch.randint(0, 100_000, (batch, tokens), device="cuda")
        self.weight = torch.rand(HEAD_DIM, device="cuda") + 0.5
        q, k, v = self.qkv.split((Q_HEADS, K_HEADS, K_HEADS), 2)
        self.keep = [_cuda.view(x, "bthd") for x in (q, k, v, self.q_out, *self.cache)]
        self.where = _cuda.positions(self.positions)
        self.at = frequencies.at(self.where)
        self.heads = kv(self.keep[1], self.keep[2])
        self.to = kv(self.keep[4], self.keep[5])
        self.map = Slots(kind=3, data=self.slots.data_ptr(), batch=batch, tokens=tokens,
                         batch_stride=tokens, token_stride=1)
        norm = HeadNorm(weight=self.weight.data_ptr(), weight_count=HEAD_DIM, epsilon=1e-6, over=1)
        self.norms = Norms(q=ctypes.pointer(norm), k=ctypes.pointer(norm), order=1)
        self.step = Step(q=ctypes.pointer(self.keep[0]), q_out=ctypes.pointer(self.keep[3]),
                         heads=ctypes.addressof(self.heads), cache=ctypes.addressof(self.to),
                         slots=ctypes.addressof(self.map),
                         norms=ctypes.addressof(self.norms) if norms else None)

    def __call__(self):
        _cuda.call("rotary_cuda_prepare_attention", self.step, self.at,
                   _cuda.options(self.qkv.device))

    def as_torch(self):
        """Does the same work in torch: RMSNorm, rotate_half, index_copy."""
        def norm(x):
            wide = x.float()
            scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
            return (wide * scale * self.weight).to(x.dtype)
        q, k, v = self.qkv.split((Q_HEADS, K_HEADS, K_HEADS), 2)
        if self.step.norms:
            q, k = norm(q), norm(k)
        angle = self.positions[..., None].float() * self.inv_freq
        cos, sin = (torch.cat((row, row), -1)[:, :, None].to(q.dtype)
                    for row in (angle.cos(), angle.sin()))
        self.q_out.copy_(eager(q, cos, sin))
        for cache, made in zip(self.cache, (eager(k, cos, sin), v)):
            cache.view(-1, K_HEADS, HEAD_DIM).index_copy_(0, self.slots,
                                                          made.reshape(-1, K_HEADS, HEAD_DIM))

    inv_freq = None


def bench_fused(bench, frequencies, tokens):
    Fused.inv_freq = torch.tensor(SPEC.frequencies().inv_freq, dtype=torch.float32, device="cuda")
    size = tokens * (Q_HEADS + 2 * K_HEADS) * HEAD_DIM * 2
    pool = [torch.empty(size // 2, dtype=torch.bfloat16, device="cuda") for _ in range(4)]
    sets = {norms: sets_of(lambda: Fused(frequencies, 1, tokens, norms), 2 * size)
            for norms in (False, True)}
    for norms in (False, True):  # verified first
        one = sets[norms][0]
        one.as_torch()
        wanted = one.q_out.float(), one.cache.float()
        one.q_out.zero_(), one.cache.zero_()
        one()
        # Torch rounds the norm, the tables, the products and the sum to bf16, 2^-8 each.
        for got, expected in zip((one.q_out, one.cache), wanted):
            assert ((got.float() - expected).abs() <= 2**-6 * expected.abs().clamp(min=4)).all()
    contenders = {
        "copy of the same bytes": lambda i: pool[i % 4].copy_(pool[(i + 1) % 4]),
        "fused": lambda i: sets[False][i % len(sets[False])](),
        "fused with QK-norm": lambda i: sets[True][i % len(sets[True])](),
        "torch eager with QK-norm": lambda i: sets[True][i % len(sets[True])].as_torch(),
    }
    made = bench.time(f"fused {tokens}", contenders, calls=len(sets[True]) * 2)
    table(f"split, rotate, paged append, bf16, {tokens} tokens", made, "copy of the same bytes")


def bench_decode(bench, frequencies):
    print("\ndecode, bf16, rotate q and k in place; and the fused step (medians, us)")
    print(f"  {'batch':>6} {'empty':>7} {'copy':>7} {'rotate':>7} {'fused':>7} {'+norms':>7} "
          f"{'compile':>8}   rotate : empty + bytes")
    compiled = torch.compile(pair_of, fullgraph=True)
    for batch in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        q = torch.randn(batch, 1, Q_HEADS, HEAD_DIM, device="cuda").bfloat16()
        k = torch.randn(batch, 1, K_HEADS, HEAD_DIM, device="cuda").bfloat16()
        positions = torch.randint(0, 100_000, (batch, 1), device="cuda")
        array = _cuda.positions(positions)
        at = frequencies.at(array)
        views = _cuda.view(q, "bthd"), _cuda.view(k, "bthd")
        plain, normed = (Fused(frequencies, batch, 1, norms) for norms in (False, True))
        wide = tuple(torch.cat((row, row), -1)[:, :, None].bfloat16()
                     for row in rotary.torch.tables(SPEC, positions))
        flat = torch.empty(q.numel() + k.numel(), dtype=torch.bfloat16, device="cuda")
        other = torch.empty_like(flat)
        made = bench.time(f"decode {batch}", {
            "empty": lambda i: empty_kernel[(1,)](),
            "copy": lambda i: other.copy_(flat),
            "rotate": lambda i: _cuda.call("rotary_cuda_rotate_qk", *views, at,
                                           _cuda.options(q.device)),
            "fused": lambda i: plain(),
            "norms": lambda i: normed(),
            "compile": lambda i: compiled(q, k, *wide),
        }, calls=200)
        of = {name: median for name, (_, median) in made.items()}
        floor = of["empty"] + flat.numel() * 4 / 3.0e6
        print(f"  {batch:6} {of['empty']:7.2f} {of['copy']:7.2f} {of['rotate']:7.2f} "
              f"{of['fused']:7.2f} {of['norms']:7.2f} {of['compile']:8.2f}   "
              f"{of['rotate'] / floor:.2f}")


def accuracy(frequencies):
    import mpmath
    import numpy as np

    mpmath.mp.prec = 160
    inv_freq = SPEC.frequencies().inv_freq
    print("\nlargest error of cos and sin, in units of 2^-24; Transformers' recipe on the device: "
          "float32 inv_freq times float32 position")
    print(f"  {'positions from':>15} {'rotary GPU':>11} {'rotary CPU':>11} {'same bits':>10} "
          f"{'transformers':>13}")
    narrow = 1.0 / (SPEC.base ** (torch.arange(0, HEAD_DIM, 2, dtype=torch.int64,
                                              device="cuda").float() / HEAD_DIM))
    for first in (1_000, 32_000, 1_000_000, 2**24 + 1, 100_000_000, 2**31 - 64):
        tokens = 64
        at = torch.arange(first, first + tokens, device="cuda")
        gpu = [x[0].cpu().numpy() for x in rotary.torch.tables(SPEC, at)]
        cpu = SPEC.frequencies().rotations(range(first, first + tokens)).tables(form="pairs")
        cpu = [np.asarray(x)[0] for x in cpu]
        angle = at[:, None].float() * narrow
        theirs = [angle.cos().cpu().numpy(), angle.sin().cpu().numpy()]
        worst = dict.fromkeys(("gpu", "cpu", "theirs"), 0.0)
        for t in range(0, tokens, 4):
            for i in range(HEAD_DIM // 2):
                exact_angle = mpmath.mpf(first + t) * mpmath.mpf(float(inv_freq[i]))
                exact = mpmath.cos(exact_angle), mpmath.sin(exact_angle)
                for name, rows in (("gpu", gpu), ("cpu", cpu), ("theirs", theirs)):
                    for row, true in zip(rows, exact):
                        error = abs(float(mpmath.mpf(float(row[t, i])) - true)) * 2**24
                        worst[name] = max(worst[name], error)
        same = all((a.view(np.uint32) == b.view(np.uint32)).all() for a, b in zip(gpu, cpu))
        print(f"  {first:15} {worst['gpu']:11.3f} {worst['cpu']:11.3f} {str(same):>10} "
              f"{worst['theirs']:13.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="accuracy,rotate,fused,decode")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", help="write all times to this file")
    parser.add_argument("--flash", help="flash_attn/ops/triton/rotary.py of flash-attention")
    options = parser.parse_args()
    if not torch.cuda.is_available() or _cuda.library() is None:
        sys.exit("bench: needs an NVIDIA GPU that torch sees, and ROTARY_CUDA_LIBRARY naming a "
                 "librotary.so built with -DROTARY_CUDA=ON")
    print(torch.cuda.get_device_name(), "torch", torch.__version__, "rotary", rotary.__version__)
    bench = Bench(options.rounds)
    frequencies = _cuda.Frequencies(SPEC.frequencies())
    flash = load_flash_rotary(options.flash) if options.flash else None
    only = options.only.split(",")
    if "accuracy" in only:
        accuracy(frequencies)
    if "rotate" in only:
        for dtype, tokens in ((torch.bfloat16, 4096), (torch.bfloat16, 16384),
                              (torch.float16, 16384), (torch.float32, 8192)):
            bench_rotate(bench, frequencies, dtype, tokens, flash)
    if "fused" in only:
        for tokens in (4096, 16384):
            bench_fused(bench, frequencies, tokens)
    if "decode" in only:
        bench_decode(bench, frequencies)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"device": torch.cuda.get_device_name(), "us": bench.results}, file, indent=1)


if __name__ == "__main__":
    main()
