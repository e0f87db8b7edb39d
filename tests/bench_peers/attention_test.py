#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `./dev bench --peers attention` says of a report, and that its verification can fail.

Usage: attention_test.py REPOSITORY
"""

import json
import pathlib
import sys
import unittest

import jsonschema
import numpy as np

repository = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(repository / "tools/bench/peers"))

import attention_tables  # noqa: E402
import documents  # noqa: E402
from attention_verify import Accuracy, largest_error  # noqa: E402
from attention_work import AttentionWork, t5_buckets  # noqa: E402

SCHEMA = json.loads(
    (repository / "docs/schema/bench-peers-attention.schema.json").read_text(encoding="utf-8"))


def result(peer, encoding, tokens, ms):
    how = "inside" if peer != "torch" else "prepared"
    return {"peer": peer, "encoding": encoding, "how": how, "cache": "f32", "tokens": tokens,
            "ms": ms, "rounds": 5, "of_bound": 0.1, "held_bytes": 3 << 20}


def report():
    return {
        "schema_version": 1, "kind": "attention", "threads": 1,
        "rotary": {"version": "0.1.0", "commit": "0123456789ab", "instruction_set": "AVX3"},
        "machine": {"cpu": "a processor", "processors": 2, "caches": {"L1d": "32K"},
                    "system": "Debian", "compiler": "c++ 12"},
        "shape": {"heads": 8, "head_dim": 64},
        "peers": [{"name": "torch", "version": "1.13", "licence": "BSD-3-Clause",
                   "settings": "eager"}],
        "sgemm_gigaflops": 94.0,
        "peaks": [{"tokens": 512, "gigaflops": 118.0}, {"tokens": 2048, "gigaflops": 118.0}],
        "results": [result("rotary", "none", 512, 3.0), result("rotary", "t5", 512, 3.03),
                    result("torch", "none", 512, 9.0), result("torch", "t5", 512, 12.0),
                    result("rotary", "none", 2048, 45.0), result("rotary", "t5", 2048, 45.45),
                    result("torch", "none", 2048, 180.0), result("torch", "t5", 2048, 360.0)],
    }


class Computed:
    """The definition in float64, rounded to float32; with a mistake where one is planted."""

    def __init__(self, work, encoding, planted=0.0):
        self.work, self.encoding, self.planted = work, encoding, planted

    def result(self):
        work = self.work
        q, k = work.q.astype(np.float64), work.k.astype(np.float64)
        if self.encoding == "rope":
            q, k = (work.turned(each, np.arange(work.tokens)) for each in (q, k))
        scores = np.einsum("ihd,jhd->hij", q, k) * work.scale
        scores += work.full_bias(self.encoding, np.float64) * (1 + self.planted)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        return np.einsum("hij,jhd->ihd", weights, work.v).astype(np.float32)


class Verification(unittest.TestCase):
    def test_what_is_right_is_accepted_and_everything_else_refused(self):
        work = AttentionWork(70)
        encodings = ("none", "rope", "alibi", "t5")
        for computed in encodings:
            for expected in encodings:
                error = largest_error(Computed(work, computed), work, expected, Accuracy())
                with self.subTest(computed=computed, expected=expected):
                    self.assertEqual(error <= 1, computed == expected, error)

    def test_a_bias_that_is_one_percent_off_is_refused(self):
        work = AttentionWork(70)
        for encoding in ("alibi", "t5"):
            planted = Computed(work, encoding, 0.01)
            self.assertGreater(largest_error(planted, work, encoding, Accuracy()), 1)

    def test_a_nan_is_refused(self):
        work = AttentionWork(5)
        wrong = Computed(work, "none").result()
        wrong[4, 7, 63] = np.nan
        computed = type("Wrong", (), {"result": lambda self: wrong})()
        self.assertFalse(largest_error(computed, work, "none", Accuracy()) <= 1)

    def test_buckets_of_t5(self):
        # Single distances, then ever wider ones, the last from 128 on.
        self.assertEqual(t5_buckets(np.array([0, 15, 16, 18, 19, 113, 127, 128, 4096])).tolist(),
                         [0, 15, 16, 16, 17, 31, 31, 31, 31])


class Tables(unittest.TestCase):
    def test_the_schema_accepts_a_report(self):
        jsonschema.validate(report(), SCHEMA)
        wrong = report()
        wrong["results"][0]["of_bound"] = 1.5
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA)

    def test_times_beside_the_peak_the_same_engine_and_ours(self):
        lines = attention_tables.details(report()).splitlines()
        self.assertEqual(len({line.count("|") for line in lines[:6]}), 1)
        # 4 * 8 * 64 * 2048 * 2049 / 2 operations in 45.45 ms are 80 % of 118 GF/s.
        self.assertIn("| 45 (80 %) ×1.01 |", lines[3])
        self.assertIn("| 12 (19 %) ×1.33 [3.96] | 360 (10 %) ×2.00 [7.92] | 3.0 |", lines[5])
        self.assertIn("94.0 GF/s", lines[-1])

    def test_goals_from_2048_tokens_on(self):
        self.assertIn("met     >=    4 x torch    smallest 4.00", attention_tables.goals(report()))
        slower = report()
        slower["results"][6]["ms"] = 179.0
        self.assertIn("NOT MET >=    4 x torch    smallest 3.98", attention_tables.goals(slower))

    def test_the_document_has_a_place_for_the_table(self):
        text = (repository / "docs/peers.md").read_text(encoding="utf-8")
        between = documents.markers("peers attention")
        self.assertIn("new", documents.replaced(text, "new", "docs/peers.md", between))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
