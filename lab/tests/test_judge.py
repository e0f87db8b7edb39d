# SPDX-License-Identifier: Apache-2.0
"""Intervals, measures and verdicts of lab/results, and BLEU, for given values."""

import math
import os
import pathlib
import sys
import unittest

from lab_case import scratch_folder

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "results"))
# pylint: disable=wrong-import-position
import bleu
import text
from cells import Arm, Cell, Failure, arms_of
from judge import (Claim, Measure, Measures, bootstrap_interval, read_claim, read_measure,
                   t_interval, verdict_of, windows_interval)


def cell(losses, metrics=None, folder=None):
    steps = [100 * n for n in range(1, len(losses) + 1)]
    done = {"validation_loss": losses[-1], "metrics": metrics or {}, "lengths": [
        {"multiple": 1, "rule": "", "loss": losses[-1], "last_quarter": None, "windows": []}]}
    return Cell(1, done, {"step": steps, "validation": losses}, {}, folder)


def arm(name, *losses, family="", **metrics):
    return Arm(name, family, [1], [cell(list(losses), metrics)])


class Judge(unittest.TestCase):
    def test_students_interval_leaves_five_per_cent_outside(self):
        for count in range(2, 32):
            values = [n % 3 for n in range(count)]
            mean = sum(values) / count
            error = math.sqrt(sum((value - mean) ** 2 for value in values) / (count - 1) / count)
            low, high = t_interval(values)
            self.assertAlmostEqual(low + high, 2 * mean)
            self.assertAlmostEqual(self.beyond((high - mean) / error, count - 1), 0.05, 4)
        self.assertIsNone(t_interval([1.0]))

    @staticmethod
    def beyond(at, freedom):
        """The probability beyond ±at: Student's density, integrated by Simpson's rule."""
        scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(
            freedom * math.pi)
        parts = 2000
        inside = sum((1 if n in (0, parts) else 2 + 2 * (n % 2)) * scale
                     * (1 + (n * at / parts) ** 2 / freedom) ** (-(freedom + 1) / 2)
                     for n in range(parts + 1)) * at / parts / 3
        return 1 - 2 * inside

    def test_the_bootstrap_gives_the_recorded_intervals(self):
        low, high = bootstrap_interval([math.sin(n) for n in range(32)])
        # Recorded from another program with the same random numbers.
        self.assertAlmostEqual(low, -0.24615843165857593, 12)
        self.assertAlmostEqual(high, 0.24125659941146232, 12)
        self.assertIsNone(bootstrap_interval([1.0] * 7))
        self.assertIsNone(windows_interval([1.0] * 7, [2.0] * 7))
        self.assertEqual(windows_interval([1.0] * 8, [2.0] * 8), (1, 1))

    def test_verdicts_change_at_their_bounds(self):
        for gaps, margin, interval, verdict in (
                ((0.2, 0.1), 0.1, None, "confirmed"), ((0.2, 0.05), 0.1, None, "not visible"),
                ((-0.2, -0.1), 0.1, None, "contradicted"), ((-0.05,), 0.1, None, "not visible"),
                ((-0.2, 0.3), 0.1, None, "not visible"), ((), 0.1, None, "not run"),
                ((-0.04, 0.2), -0.05, None, "confirmed"),
                ((-0.06, -0.07), -0.05, None, "contradicted"),
                ((-0.06, -0.04), -0.05, None, "not visible"), ((0.0,), 0, None, "confirmed"),
                ((-0.01,), 0, None, "contradicted"), ((0.2, 0.9), 0.1, (0.01, 1), "confirmed"),
                ((0.2, 0.9), 0.1, (-0.01, 1), "not visible"),
                ((-0.2, -0.9), 0.1, (-1, -0.01), "contradicted"),
                ((-0.2, -0.9), 0.1, (-1, 0.01), "not visible"),
                ((0.1, 0.02), -0.05, (-0.04, 0.2), "confirmed"),
                ((0.1, 0.02), -0.05, (-0.06, 0.2), "not visible"),
                ((-0.2, -0.1), -0.05, (-0.3, -0.06), "contradicted"),
                ((-0.2, -0.1), -0.05, (-0.3, -0.04), "not visible")):
            self.assertTrue(verdict_of(gaps, interval, margin).startswith(verdict),
                            (gaps, margin, interval))

    def test_steps_to_another_arms_final_loss_are_interpolated(self):
        arms = [arm("learned", 4, 3.5, 3, 2.5), arm("rope", 3, 2, 1.5, 1), arm("none", 4, 3.9)]
        measures = Measures(arms, arms)
        values = [measures.value(each.cells[0], Measure("", metric="steps_to@learned"))
                  for each in arms]
        # The second cell's loss is 3 at 100 steps and 2 at 200, so it reaches 2.5 at 150 of 400
        # steps. The third never gets there, so all its steps count.
        self.assertEqual(values, [1, 150 / 400, 200 / 400])
        judged = measures.judge(Claim("s", Measure("rope", metric="steps_to@learned"),
                                      Measure("learned", metric="steps_to@learned"), 0.5))
        self.assertEqual(judged["verdict"], "confirmed")

    def test_a_family_is_its_best_arm_and_rate_metrics_average_its_arms(self):
        preset = {"encodings": ["rope", "none"], "seeds": [1], "learning_rates": [0.1, 0.2]}
        arms = [arm("rope-lr-0.1", 2, family="rope", spikes=0.1),
                arm("rope-lr-0.2", 9, family="rope", spikes=0.3),  # worse than ln 256
                arm("none-lr-0.1", 3, family="none")]
        self.assertEqual([each.name for each in arms_of(preset)][:2], [arms[0].name, arms[1].name])
        measures = Measures(arms, arms_of(preset))
        self.assertIs(measures.find_arm("rope"), arms[0])
        value = [measures.value(each.cells[0], Measure("", metric="sensitivity@rates"))
                 for each in arms]
        self.assertAlmostEqual(value[0], (2 + math.log(256)) / 2 - 2)
        self.assertIsNone(value[2])  # the family lacks one rate
        self.assertAlmostEqual(measures.value(arms[1].cells[0], Measure("", metric="spikes@rates")),
                               0.2)

    def test_a_refused_claim_names_its_wrong_member(self):
        good = {"statement": "s", "lower": "a", "higher": "b", "margin": 0}
        for claim, message in ((good | {"margins": 1}, "margins"), ({"statement": "s"}, "lower"),
                               (good | {"lower": {"encoding": "a", "tokens": "all"}}, "got 'all'"),
                               (good | {"higher": {"name": "b"}}, "name")):
            with self.assertRaisesRegex(Failure, f"e.json: claim 1.*{message}"):
                read_claim(claim, "e.json: claim 1")
        self.assertEqual(str(read_measure({"encoding": "rope", "multiple": 2, "rule": "yarn",
                                           "tokens": "last_quarter"}, "")),
                         "rope yarn 2x, last quarter")

    def test_perplexities_are_compared_by_logarithms_and_shares_in_per_cent(self):
        arms = [arm("learned", 2.5), arm("rope", 1)]
        measures = Measures(arms, arms)
        rows = measures.beside({"unit": "perplexity", "values": [
            ["learned", 20], ["rope", 10], ["alibi", 5]]}, "")
        self.assertAlmostEqual(rows[1]["published_difference"], -math.log(2))
        self.assertEqual(rows[1]["ours_difference"], -1.5)
        self.assertIsNone(rows[2]["ours_difference"])
        self.assertEqual(measures.beside({"unit": "percent", "values": [["learned", 64]]},
                                         "")[0]["ours"], 250)

    def test_csv_has_a_line_for_each_number(self):
        lengths = [{"multiple": 1, "rule": "", "loss": 2.5, "last_quarter": 1.5},
                   {"multiple": 4, "rule": "yarn", "loss": 3, "last_quarter": None}]
        made = {"seed": 1, "steps": 9, "parameters": 5, "cpu_s": 0.5, "loss": 2.25,
                "lengths": lengths, "metrics": {"spikes": 0.1},
                "curve": {"step": [9], "training": [0], "validation": [0.25]},
                "pairs": [dict(zip(text.PAIR, (1, 2, 0.5, 0, 0, 0, 0.25, 0)))]}
        arm = {"name": "r-lr-0.1", "family": "r", "model": {"tokens": 64},
               "training": {"evaluate_unit": 16}, "cells": [made]}
        results = {"arms": [arm]}
        lines = [
            "r-lr-0.1,r,1,steps,9", "r-lr-0.1,r,1,parameters,5", "r-lr-0.1,r,1,cpu_s,0.5",
            "r-lr-0.1,r,1,loss,2.25", "r-lr-0.1,r,1,loss 1x,2.5", "r-lr-0.1,r,1,last_quarter,1.5",
            "r-lr-0.1,r,1,loss 4x yarn,3", "r-lr-0.1,r,1,spikes,0.1"]
        self.assertEqual(text.measures_csv(results).splitlines()[1:], lines)
        arm["training"] = {}  # the multiples count from the trained length
        self.assertEqual(text.measures_csv(results).splitlines()[1:], lines[:4] + lines[5:])
        self.assertEqual(text.curves_csv(results).splitlines()[1:], ["r-lr-0.1,1,9,0,0.25"])
        self.assertEqual(text.pairs_csv(results).splitlines()[1:],
                         ["r-lr-0.1,1,1,2,0.5,0,0,0,0.25,0"])


class Bleu(unittest.TestCase):
    def test_an_unknown_answer_gives_no_score(self):
        one = cell([1], folder=scratch_folder(self.addCleanup))
        (one.folder / "hypotheses.txt").write_text("a text\n")
        scorer = one.folder / "scorer"
        os.environ["ROTARY_LAB_SACREBLEU"] = str(scorer)
        self.addCleanup(os.environ.pop, "ROTARY_LAB_SACREBLEU")
        for answer in ("", "no json", "[1, 2]", '{"score": "high"}'):
            scorer.write_text(f"#!/bin/sh\necho '{answer}'\n")
            scorer.chmod(0o755)
            bleu.add_score(one)
            self.assertEqual(one.metrics, {}, answer)
            arms = [Arm(name, "", [1], [one]) for name in "ab"]
            claim = Claim("s", Measure("a", metric="bleu"), Measure("b", metric="bleu"), 0)
            self.assertEqual(list(bleu.comparisons(arms, [claim])), [bleu.ADVICE + "\n"])
