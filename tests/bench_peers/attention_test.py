#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the tables of `./dev bench --peers attention` and the verification of its results.

Usage: attention_test.py REPOSITORY
"""

import pathlib
import sys
import types
import unittest

import jsonschema
import numpy as np

repository = pathlib.Path(sys.argv[1])
sys.path[:0] = [str(repository / "conformance/peers"), str(repository / "tests/support")]

import attention_ratios  # noqa: E402
import attention_tables  # noqa: E402
from attention_verify import Accuracy, largest_error  # noqa: E402
from attention_work import AttentionWork, Shape, t5_buckets  # noqa: E402
from schemas import validate  # noqa: E402
from workload import bfloat16_bits, of_bfloat16_bits  # noqa: E402

GROUPED = Shape(1, 60, heads=8, key_heads=2)


def result(peer, ms, encoding="none", dtype="f32", how="inside"):
    of = {"peer": peer, "encoding": encoding, "how": how, "dtype": dtype, "ms": ms,
          "of_bound": 0.1}
    return of if how == "fused" else of | {"held_bytes": 3 << 20}


def prefill(tokens, results):
    return {"queries": tokens, "keys": tokens, "heads": 8, "key_heads": 8, "head_dim": 64,
            "rounds": 5, "gigaflops": 118.0, "results": results}


def report():
    return {
        "schema_version": 2, "kind": "attention", "threads": 1,
        "rotary": {"version": "0.1.0", "commit": "0123456789ab", "instruction_set": "AVX3"},
        "machine": {"cpu": "a processor", "processors": 2, "caches": {"L1d": "32K"},
                    "system": "Debian", "compiler": "c++ 12"},
        "peers": [{"name": "torch", "version": "2.15", "licence": "BSD-3-Clause",
                   "settings": "eager"}],
        "shapes": [
            prefill(512, [result("rotary", 3.0), result("rotary", 3.03, "t5"),
                          result("torch", 9.0, how="prepared"),
                          result("torch", 12.0, "t5", how="prepared"),
                          result("mlx", 300.0)]),
            prefill(2048, [result("rotary", 45.0), result("rotary", 45.45, "t5"),
                           result("torch", 180.0, how="prepared"),
                           result("torch", 360.0, "t5", how="prepared"),
                           result("torch", 135.0, how="fused")]),
            {"queries": 1, "keys": 32768, "heads": 32, "key_heads": 8, "head_dim": 128,
             "rounds": 5, "read_gigabytes": 16.0,
             "results": [result("rotary", 20.0), result("rotary", 12.0, dtype="bf16"),
                         result("rotary", 6.0, dtype="int8"), result("ggml", 48.0, dtype="f16"),
                         result("ggml", 60.0, dtype="q8_0"),
                         result("openvino", 40.0, dtype="bf16"),
                         result("onnxruntime", 50.0, "rope")]}],
    }


class Computed:
    """Stands in for a peer: attention in float64, rounded to float32. planted: the bias's relative
    error."""

    def __init__(self, work, encoding, planted=0.0):
        self.work, self.encoding, self.planted = work, encoding, planted

    def result(self):
        work, shape = self.work, self.work.shape
        q, k = work.q.astype(np.float64), work.k.astype(np.float64)
        if self.encoding == "rope":
            q = work.turned(q, work.position(np.arange(shape.queries)))
            k = work.turned(k, np.arange(shape.keys))
        k, v = (np.repeat(each, shape.heads // shape.key_heads, axis=1) for each in (k, work.v))
        scores = np.einsum("ihd,jhd->hij", q, k) * work.scale
        scores += work.full_bias(self.encoding, np.float64) * (1 + self.planted)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        return np.einsum("hij,jhd->ihd", weights, v).astype(np.float32)


class Verification(unittest.TestCase):
    def test_only_the_right_encoding_is_accepted(self):
        encodings = ("none", "rope", "alibi", "t5")
        for work in (AttentionWork(Shape(70, 70)), AttentionWork(GROUPED)):
            for computed in encodings:
                for expected in encodings:
                    error = largest_error(Computed(work, computed), work, expected, Accuracy())
                    with self.subTest(shape=str(work.shape), computed=computed, expected=expected):
                        self.assertEqual(error <= 1, computed == expected, error)

    def test_a_head_of_another_group_is_refused(self):
        work = AttentionWork(GROUPED)
        wrong = Computed(work, "none").result()
        wrong[:, [3, 4]] = wrong[:, [4, 3]]  # heads of different groups
        given = types.SimpleNamespace(result=lambda: wrong)
        self.assertGreater(largest_error(given, work, "none", Accuracy(cache="int8")), 1)

    def test_bfloat16_numbers_survive_a_round_trip(self):
        bits = bfloat16_bits(np.array([1.0, -3.14159, 1e-30, 65280.0], np.float32))
        self.assertEqual(bfloat16_bits(of_bfloat16_bits(bits)).tolist(), bits.tolist())
        work = AttentionWork(GROUPED)
        self.assertEqual(of_bfloat16_bits(bfloat16_bits(work.k)).tolist(), work.k.tolist())

    def test_a_bias_that_is_one_percent_off_is_refused(self):
        work = AttentionWork(Shape(70, 70))
        for encoding in ("alibi", "t5"):
            planted = Computed(work, encoding, 0.01)
            self.assertGreater(largest_error(planted, work, encoding, Accuracy()), 1)

    def test_a_nan_is_refused(self):
        work = AttentionWork(Shape(5, 5))
        wrong = Computed(work, "none").result()
        wrong[4, 7, 63] = np.nan
        given = types.SimpleNamespace(result=lambda: wrong)
        self.assertFalse(largest_error(given, work, "none", Accuracy()) <= 1)

    def test_t5_buckets_widen_from_16_tokens_on(self):
        # Each distance below 16 has its own bucket. Later buckets widen; the last begins at 113.
        self.assertEqual(t5_buckets(np.array([0, 15, 16, 18, 19, 113, 127, 128, 4096])).tolist(),
                         [0, 15, 16, 16, 17, 31, 31, 31, 31])


class Tables(unittest.TestCase):
    def test_the_schema_accepts_a_report(self):
        validate(report(), "bench-peers-attention")
        wrong = report()
        wrong["shapes"][0]["results"][0]["of_bound"] = 1.5
        with self.assertRaises(jsonschema.ValidationError):
            validate(wrong, "bench-peers-attention")

    def test_a_prefill_cell_has_peak_share_encoding_cost_and_ratio(self):
        lines = attention_tables.details(report()).splitlines()
        self.assertEqual(len({line.count("|") for line in lines[:7]}), 1)
        # 4 * 8 * 64 * 2048 * 2049 / 2 operations in 45.45 ms are 80 % of 118 GF/s.
        self.assertIn("| 45 (80 %) ×1.01 |", lines[3])
        self.assertIn("| 12 (19 %) ×1.33 [3.96] | 360 (10 %) ×2.00 [7.92] | 3.0 |", lines[5])

    def test_a_peer_measured_at_one_size_leaves_other_cells_empty(self):
        lines = attention_tables.details(report()).splitlines()
        self.assertIn("| PyTorch SDPA | none |  | 135 (27 %) [3.00] |  |", lines)
        self.assertIn("| MLX | none | 300 (1 %) [100] |  |  |", lines)

    def test_a_decode_cell_has_read_speed_share_and_ratio(self):
        lines = attention_tables.details(report()).splitlines()
        # 32768 * 8 * 128 * 8 bytes in 20 ms are 84 % of 16 GB/s.
        self.assertIn("| **rotary** | 20 (84 %) |", lines)
        # For each feature, k and v together store 2 bytes in int8 and 8 / 128 bytes of scales.
        self.assertIn("| **rotary**, k and v int8 | 6.00 (72 %) |", lines)
        # The next four lines compare with our caches of 16 bits, 8 bits, float32 and float32.
        self.assertIn("| ggml flash_attn_ext, k and v float16 | 48 (17 %) [4.00] |", lines)
        self.assertIn("| ggml flash_attn_ext, k q8_0, v float16 | 60 (11 %) [10] |", lines)
        self.assertIn("| OpenVINO, hint bfloat16 | 40 (42 %) [2.00] |", lines)
        self.assertIn("| ONNX Runtime GroupQueryAttention | 50 (34 %) [2.50] |", lines)
        self.assertIn("16.0 GB/s read beside 32 heads of 128.", lines[-1])

    def test_a_prefill_goal_fails_if_its_smallest_ratio_falls_short(self):
        self.assertIn("met     >=    3 x PyTorch, prefill f32   smallest 3.00",
                      attention_ratios.goals(report()))
        slower = report()
        slower["shapes"][1]["results"][4]["ms"] = 134.0
        self.assertIn("NOT MET >=    3 x PyTorch, prefill f32   smallest 2.98",
                      attention_ratios.goals(slower))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
