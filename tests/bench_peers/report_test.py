#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the tables and goals of `./dev bench --peers` and the verification of its results.

Usage: report_test.py REPOSITORY
"""

import copy
import json
import pathlib
import sys
import unittest

import jsonschema
import numpy as np

repository = pathlib.Path(sys.argv[1])
sys.path[:0] = [str(repository / "conformance/peers"), str(repository / "tests/support")]

import documents  # noqa: E402
import goals  # noqa: E402
import tables  # noqa: E402
import verify  # noqa: E402
from schemas import validate  # noqa: E402
from workload import Workload, encoded, inv_freq, pair_features  # noqa: E402

RECORDED = json.loads(
    pathlib.Path(__file__).with_name("recorded.json").read_text(encoding="utf-8"))


class Reports(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.report = copy.deepcopy(RECORDED)

    def line(self, **wanted):
        return next(each for each in self.report["results"]
                    if all(each[key] == value for key, value in wanted.items()))

    def test_the_schema_accepts_the_report_with_its_goals(self):
        self.report["goals"] = goals.evaluate(self.report)
        validate(self.report, "bench-peers")
        self.line(peer="ggml")["of_bound"] = 1.5  # an error above its bound
        with self.assertRaises(jsonschema.ValidationError):
            validate(self.report, "bench-peers")

    def test_a_goal_is_met_when_every_line_meets_it(self):
        ggml = goals.evaluate(self.report)[0]
        # In place 400 / 100 and 1750 / 500, out of place 420 / 100 and 1800 / 500.
        self.assertEqual(ggml, {
            "goal": "ggml NEOX, f32", "least": 3.5, "smallest": 3.5, "met": True, "lines": 4,
            "lines_met": 4, "at": {"dtype": "f32", "pairing": "half", "tokens": 4096,
                                   "place": "in_place"},
            "at_roofline": 3.889})  # 1750 / 450

    def test_a_goal_is_not_met_when_one_line_falls_short(self):
        self.line(peer="ggml", tokens=4096)["ns_per_token"] = 1749.0
        ggml = goals.evaluate(self.report)[0]
        self.assertEqual((ggml["met"], ggml["lines_met"], ggml["smallest"]), (False, 3, 3.498))
        self.assertIn("NOT MET >=  3.5 x ggml NEOX, f32", goals.text(self.report))

    def test_the_goal_for_onnx_runtime_compares_prepared_rows(self):
        onnx = goals.evaluate(self.report)[1]
        self.assertEqual((onnx["goal"], onnx["smallest"]), ("ONNX Runtime", 2.5))  # 200 / 80

    def test_a_goal_without_a_line_is_left_out(self):
        self.assertEqual([each["goal"] for each in goals.evaluate(self.report)],
                         ["ggml NEOX, f32", "ONNX Runtime", "everyone"])

    def test_the_table_has_two_ratios_for_each_peer(self):
        table = tables.details(self.report)
        self.assertIn("| *f32 half* |  |  |\n| in-place scale | 80 | 450 |\n", table)
        self.assertIn("| ggml NEOX, rows made | [4.20, 2.80] | [3.60, 2.40] |", table)
        self.assertIn("rotary 0.1.0 (0123456789ab, AVX3), ggml 0.25.3", table.split("\n")[-1])


class Markers(unittest.TestCase):
    BEGIN, END = documents.markers("peers")

    def test_only_text_between_markers_is_replaced(self):
        text = f"before\n{self.BEGIN}\nold\n{self.END}\nafter\n"
        self.assertEqual(documents.replaced(text, "new", "it", "peers"),
                         f"before\n{self.BEGIN}\nnew\n{self.END}\nafter\n")

    def test_a_document_without_exactly_two_markers_is_refused(self):
        one = f"{self.BEGIN}\n{self.END}\n"
        for text in ("", self.BEGIN, self.END + self.BEGIN, one + one):
            with self.subTest(text=text), self.assertRaises(documents.MarkerError):
                documents.replaced(text, "new", "it", "peers")

    def test_the_peers_page_has_the_markers_of_both_topics(self):
        text = (repository / "docs/peers.md").read_text(encoding="utf-8")
        for topic in ("peers", "peers attention"):
            self.assertIn("new", documents.replaced(text, "new", "docs/peers.md", topic))


class Definition:
    """Stands in for a peer: the definition in float64, rounded once to the dtype."""

    chain = 1

    def __init__(self, work, base):
        self.work, self.base = work, base

    def result(self):
        work = self.work
        angles = np.outer(work.first + np.arange(work.tokens), inv_freq(work.head_dim, self.base))
        return [encoded(self.rotated(each, angles[:, None]), work.dtype) for each in work.start]

    def rotated(self, start, angles):
        x, y = pair_features(self.work.head_dim, self.work.pairing)
        values = start.astype(np.float64)
        turned = (values[..., x] + 1j * values[..., y]) * np.exp(1j * angles)
        values[..., x], values[..., y] = turned.real, turned.imag
        return values


class Workloads(unittest.TestCase):
    def test_a_peer_that_writes_nothing_fails(self):
        work = Workload("f32", "half", tokens=2)
        work.q_out[...], work.k_out[...] = Definition(work, work.base).result()
        idle = Definition(work, work.base)
        idle.result = lambda: (work.fill(), (work.q_out, work.k_out))[1]
        self.assertFalse(verify.verdict_on(idle, verify.Recipe("float32", 3), work).passed())


class Verification(unittest.TestCase):
    recipes = (verify.Recipe("exact", 1), verify.Recipe("float32", 3), verify.Recipe("ggml", 1))

    def verdicts(self, base):
        for dtype in ("f32", "f16"):
            for pairing in ("half", "interleaved"):
                for recipe in self.recipes:
                    work = Workload(dtype, pairing, tokens=3)
                    yield verify.verdict_on(Definition(work, base), recipe, work)

    def test_the_definition_passes(self):
        for verdict in self.verdicts(Workload("f32", "half", 1).base):
            self.assertTrue(verdict.passed(), verdict)

    def test_a_base_that_is_a_thousandth_off_fails(self):
        for verdict in self.verdicts(1.001 * Workload("f32", "half", 1).base):
            self.assertFalse(verdict.passed(), verdict)

    def test_the_other_pairing_fails(self):
        work = Workload("f32", "half", tokens=3)
        runner = Definition(Workload("f32", "interleaved", tokens=3), work.base)
        self.assertFalse(verify.verdict_on(runner, self.recipes[1], work).passed())

    def test_a_nan_fails(self):
        work = Workload("f32", "half", tokens=3)
        runner = Definition(work, work.base)
        q, k = runner.result()
        q[1, 2, 3] = np.nan
        runner.result = lambda: (q, k)
        self.assertFalse(verify.verdict_on(runner, self.recipes[1], work).passed())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
