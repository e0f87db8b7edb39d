# SPDX-License-Identifier: Apache-2.0
"""The output of rotary-lab results and report for run directories made by a script."""

import json
import re
import statistics
import unittest

import made_runs
from lab_case import run_tool, scratch_folder

HOSTILE = '</script><script>window.hurt = 1</script><img src=x onerror="hurt=1">&amp;<!--'


class MadeRuns(unittest.TestCase):
    def setUp(self):
        self.path = scratch_folder(self.addCleanup)

    def lab(self, command, *arguments, runs="runs", expect=0):
        return run_tool(self, self.path, command, "--runs", runs, *map(str, arguments),
                        expect=expect)

    def results(self, *arguments):
        document = json.loads(self.lab("results", "--json", *arguments))
        self.assertEqual(document["schema_version"], 1)
        return document["experiments"]


class Results(MadeRuns):
    document = None

    def setUp(self):
        super().setUp()
        self.experiment = made_runs.write_runs(self.path)

    def whole(self):
        """The results of the default runs. Computed once, because each start takes long."""
        if Results.document is None:
            [Results.document] = self.results(self.experiment)
        return Results.document

    def claims(self):
        return {claim["statement"]: claim for claim in self.whole()["claims"]}

    def test_verdicts_follow_the_numbers(self):
        verdicts = {statement: claim["verdict"] for statement, claim in self.claims().items()}
        self.assertEqual(verdicts, {
            "RoPE is ahead of learned positions": "confirmed",
            "RoPE is as good as ALiBi, but for 0.05": "confirmed",
            "T5 is ahead of RoPE": "contradicted",
            "RoPE is far ahead of ALiBi": "not visible at this scale",
            "YaRN repairs RoPE at four times the length": "confirmed",
            "RoPE is where learned positions end in half the steps": "not visible at this scale",
            "RoPE costs little at 512 tokens": "confirmed",
            "Nobody ran this": "not run",
        })

    def test_an_interval_is_over_seeds_or_windows(self):
        claims = self.claims()
        self.assertEqual(claims["RoPE is far ahead of ALiBi"]["interval_over"], "windows")
        claim = claims["RoPE is ahead of learned positions"]
        self.assertEqual(claim["interval_over"], "seeds")
        self.assertEqual([gap["seed"] for gap in claim["gaps"]], [1, 2, 3])
        self.assertAlmostEqual(claim["gap"], statistics.mean(
            made_runs.loss_at("learned", seed, 200) - made_runs.loss_at("rope", seed, 200)
            for seed in (1, 2, 3)))

    def test_results_hold_the_numbers_of_each_cell(self):
        found = self.whole()
        self.assertEqual(found["cells"]["finished"], 15)
        self.assertEqual(found["machines"],
                         ["a processor, 1 thread, a BLAS, torch 1.13.0, rotary 0.1.0"])
        self.assertEqual(found["target"], "learned")
        self.assertEqual(found["remarks"], [])
        arms = {arm["name"]: arm for arm in found["arms"]}
        self.assertEqual(list(arms), list(made_runs.ARMS))
        rope = arms["rope"]["cells"][1]
        self.assertEqual(rope["seed"], 2)
        self.assertEqual(rope["curve"]["step"], list(range(20, 201, 20)))
        self.assertAlmostEqual(rope["curve"]["validation"][-1],
                               made_runs.loss_at("rope", 2, 200), places=6)
        self.assertEqual(rope["lengths"][1], {
            key: value for key, value in made_runs.length_of("rope", 2, 2, "").items()
            if key != "windows"})
        self.assertIsNone(arms["learned"]["cells"][0]["lengths"][1]["loss"])

    def test_incomparable_numbers_get_a_remark(self):
        folder = self.path / "runs" / "e1-made-quick"
        config = json.loads((folder / "rope/seed-2/config.json").read_text())
        config["data"]["sha256"] = "other"
        config["training"]["steps"] = 300
        (folder / "rope/seed-2/config.json").write_text(json.dumps(config))
        done = json.loads((folder / "t5/seed-1/done.json").read_text())
        done["machines"][0]["cpu"] = "another"
        (folder / "t5/seed-1/done.json").write_text(json.dumps(done))
        [found] = self.results(self.experiment)
        self.assertEqual(len(found["remarks"]), 3, found["remarks"])
        self.assertIn("attention: ", self.lab("results", self.experiment))

    def test_all_experiments_with_cells_are_shown(self):
        other = made_runs.experiment("e2-made")
        (self.path / "e2-made.json").write_text(json.dumps(other))
        found = self.results("--experiments", self.path)
        self.assertEqual([one["name"] for one in found], ["e1-made"])
        text = self.lab("results", "--experiments", self.path)
        self.assertIn("confirmed: RoPE is ahead of learned positions", text)
        refused = self.lab("results", "--experiments", self.path, runs="none", expect=2)
        self.assertIn("rotary-lab run --preset quick makes them", refused)

    def test_seeds_and_encodings_can_be_selected(self):
        [found] = self.results(self.experiment, "--seeds", "2,3", "--only", "rope,learned")
        seeds = {arm["name"]: [cell["seed"] for cell in arm["cells"]] for arm in found["arms"]}
        self.assertEqual(seeds, {"rope": [2, 3], "learned": [2, 3]})
        refused = self.lab("results", self.experiment, "--only", "ropes", expect=2)
        self.assertIn("--only must name encodings of the preset, got 'ropes'", refused)

    def test_unfinished_cells_are_left_out_and_a_torn_log_is_named(self):
        cell = self.path / "runs" / "e1-made-quick" / "rope" / "seed-2"
        (cell / "done.json").unlink()
        [found] = self.results(self.experiment)
        self.assertEqual([each["seed"] for each in found["arms"][0]["cells"]], [1, 3])
        (cell.parent / "seed-1" / "log.csv").write_text("head\n1,2\n")
        refused = self.lab("results", self.experiment, expect=3)
        self.assertRegex(refused, r"seed-1/log.csv: line 2 must be 8 numbers")


class Report(MadeRuns):
    def page(self, *arguments):
        self.lab("report", *arguments, "-o", "lab.html", "--force")
        return (self.path / "lab.html").read_text()

    def test_the_page_is_self_contained_escapes_text_and_stays_unless_forced(self):
        made = made_runs.experiment(arms={"rope": made_runs.ARMS["rope"]})
        experiment = made_runs.write_runs(self.path, made=made)
        marks = len(re.findall("<", self.page(experiment)))
        self.assertIn("--force", self.lab("report", experiment, "-o", "lab.html", expect=4))
        made["title"] = made["mirrors"] = made["claims"][0]["statement"] = HOSTILE
        made["name"] = "e9"
        page = self.page(made_runs.write_runs(self.path, made=made))
        self.assertEqual(len(re.findall("<", page)), marks)
        self.assertNotIn("<script>window", page)
        self.assertIn("default-src 'none'", page)
        self.assertIn("Permission is hereby granted", page)
        elements = re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="([^"]*)"', page)
        self.assertEqual(elements, ["data:,"])
