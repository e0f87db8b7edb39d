# SPDX-License-Identifier: Apache-2.0
"""Compares the results of rotary claims with published or independently computed numbers."""

import math
import re

from tool import SCHEMAS, ToolTest

VERDICTS = {
    "true": [17, 21],
    "false": [5, 10, 16],
    "needs_training": [1, 18, 26],
    "true_only_if": [2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 15, 19, 20, 22, 23, 24, 25],
}


def similarity(distance, d, base=1e4):
    return sum(math.cos(distance * base ** (-2 * i / d)) for i in range(d // 2)) / (d / 2)


class ClaimsTest(ToolTest):
    @classmethod
    def setUpClass(cls):
        cls.document = None

    def claims(self):
        if self.document is None:
            type(self).document = self.run_json("claims", "claims")
        return {claim["number"]: claim for claim in self.document["claims"]}

    def test_each_claim_has_the_expected_verdict(self):
        got = {verdict: [] for verdict in VERDICTS}
        for number, claim in self.claims().items():
            got[claim["verdict"]].append(number)
        self.assertEqual(got, VERDICTS)

    def test_claims_that_need_training_name_an_experiment_of_the_lab(self):
        there = {path.stem for path in (SCHEMAS.parents[1] / "lab" / "experiments").glob("*.json")}
        named = {number: claim["experiments"] for number, claim in self.claims().items()}
        self.assertEqual([names for names in named.values() if not set(names) <= there], [])
        for number in VERDICTS["needs_training"]:
            self.assertTrue(named[number])
            self.assertTrue(self.claims()[number]["published"])
            text = self.run_ok("claims", number)
            self.assertIn(f"in the lab: rotary-lab run {named[number][0]}", text)
        self.assertEqual(self.run_ok("claims").count("in the lab: rotary-lab run"), 3)

    def test_shares_of_negative_scores_equal_the_orthant_formula(self):
        [evidence] = [
            e for e in self.claims()[10]["evidence"] if "negative" in e["computed"]
        ]
        for distance, each in zip([1, 10, 100], evidence["numbers"]):
            correlation = similarity(distance, 128)
            share = 0.5 + math.asin(math.sqrt((1 - correlation) / 2)) / math.pi
            self.assertAlmostEqual(each["value"], share, delta=0.02)
        for published, each in zip([0.54, 0.63, 0.66], evidence["numbers"]):
            self.assertAlmostEqual(each["value"], published, delta=0.02)

    def test_the_table_lists_all_claims_within_100_columns(self):
        text = self.run_ok("claims")
        lines = text.splitlines()
        heads = [line for line in lines if re.match(r" ?\d+  ", line)]
        self.assertEqual([int(line.split()[0]) for line in heads], list(range(1, 27)))
        at = lines.index("10  high-dimension")
        self.assertTrue(lines[at + 1].startswith("    claim: in high dimension"), lines[at + 1])
        self.assertTrue(lines[at + 2].startswith("    false: it brings half"), lines[at + 2])
        self.assertNotIn("\x1b", text)
        for line in lines + self.run_ok("claims", *map(str, range(1, 27))).splitlines():
            self.assertLessEqual(len(line), 100, line)

    def test_claims_are_chosen_by_number_or_name(self):
        names = self.run_json("claims", "claims", "9", "high-dimension")["claims"]
        self.assertEqual([claim["number"] for claim in names], [9, 10])

    def test_two_runs_print_the_same_text(self):
        self.assertEqual(self.run_ok("claims", "10", "14"), self.run_ok("claims", "10", "14"))

    def test_unknown_claims_are_refused(self):
        for text in ["0", "27", "09", "decai", ""]:
            self.assert_fails(2, ["number from 1 to 26", f"got '{text}'"], "claims", text)
