# SPDX-License-Identifier: Apache-2.0
"""rotary-lab as users run it, with a tiny experiment."""

import json
import os
import re
import subprocess

from lab_case import LAB, PREPARE, LabCase, run_tool, scratch_folder, tiny


class Lab(LabCase):
    def setUp(self):
        self.folder = scratch_folder(self.addCleanup)
        self.experiment = self.folder / "tiny.json"
        self.write(tiny(20))

    def write(self, experiment):
        self.experiment.write_text(json.dumps(experiment), encoding="ascii")

    def lab(self, *arguments, expect=0):
        return run_tool(self, self.folder, *arguments, expect=expect)

    def on_book(self, command, *arguments):
        return (command, str(self.experiment), "--data", "book", "--data-dir", str(self.data),
                *arguments)

    def run_tiny(self, *arguments, expect=0):
        return self.lab(*self.on_book("run", *arguments), expect=expect)

    def losses(self, runs, encoding="rope"):
        return self.losses_in(self.folder / runs / "tiny-quick" / encoding / "seed-1")

    def test_finished_cells_are_skipped_and_other_configurations_refused(self):
        self.assertIn("20 steps, validation loss", self.run_tiny())
        self.assertIn("2 cells, 2 finished before", self.run_tiny())
        self.write(tiny(21))
        refused = self.run_tiny(expect=2)
        self.assertIn("training.steps must be 20 as when the run began, got 21", refused)
        self.write(tiny(20))
        results = self.lab("results", str(self.experiment))
        self.assertIn("not visible at this scale: RoPE knows more than nothing", results)

    def test_a_wrong_option_is_named(self):
        self.assertIn("--only must name encodings of the preset, got 'alibi'; there are none, rope",
                      self.run_tiny("--only", "alibi", expect=2))
        self.assertIn("must be one of quick, got 'slow'",
                      self.run_tiny("--preset", "slow", expect=2))
        self.assertIn("manifest.json",
                      self.lab("run", str(self.experiment), "--data", "none", expect=4))

    def test_samples_start_with_the_prompt_and_depend_on_the_seed(self):
        cell = (str(self.experiment), "--encoding", "rope", "--prompt", "line ä", "--tokens", "20")
        self.assertIn("must be a finished cell", self.lab("sample", *cell, expect=2))
        self.run_tiny("--only", "rope")
        text = self.lab("sample", *cell)
        self.assertTrue(text.startswith("line ä"), text)
        self.assertGreaterEqual(len(text.encode()), 7 + 20 + 1)
        self.assertEqual(text, self.lab("sample", *cell))
        self.assertNotEqual(text, self.lab("sample", *cell, "--sample-seed", "2"))
        likeliest = self.lab("sample", *cell, "--temperature", "0")
        self.assertEqual(likeliest, self.lab("sample", *cell, "--top-k", "1"))
        checked = self.lab("sample", *cell, "--check")
        self.assertTrue(checked.startswith(text), checked)
        difference = re.search(r"26 tokens .* by at most ([0-9.e-]+)", checked)
        self.assertLess(float(difference.group(1)), 1e-5)
        self.assertIn("--prompt", self.lab("sample", *cell[:3], "--prompt", "", expect=2))

    def test_a_cost_experiment_runs_last_and_missing_data_are_named(self):
        folder = self.folder / "experiments"
        folder.mkdir()
        cost = tiny(2) | {"name": "cost"}
        cost["presets"]["quick"]["training"]["cost_lengths"] = [8, 16]
        for name, content in (("b", tiny(20)), ("c", cost)):
            content = json.loads(json.dumps(content))
            content["presets"]["quick"]["data"] = "prose"
            (folder / f"{name}.json").write_text(json.dumps(content), encoding="ascii")
        options = ("--experiments", str(folder), "--data-dir", str(self.data))
        self.assertIn("which this experiment needs", self.lab("run", *options, expect=4))
        subprocess.run([PREPARE, "add", "grammar", "--data-dir", self.data], check=True,
                       stdout=subprocess.DEVNULL)
        said = self.lab("run", *options)
        self.assertIn("training on generated text, whose losses say less. To have it: "
                      "./dev lab data add prose", said)
        self.assertLess(said.index("tiny rope seed 1"), said.index("cost rope seed 1"))
        done = json.loads((self.folder / "lab-runs/cost-quick/rope/seed-1/done.json").read_text())
        self.assertEqual(sorted(done["metrics"]), ["ms@16", "ms@8", "overhead@16", "overhead@8"])
        none = json.loads((self.folder / "lab-runs/cost-quick/none/seed-1/done.json").read_text())
        self.assertEqual(none["metrics"]["overhead@16"], 0)
        plan = self.lab("plan", *options)
        self.assertRegex(plan, r"4 cells: about \d+ s of processor time")

    def test_a_plan_needs_no_data(self):
        plan = self.lab("plan", "e6-translation", "--preset", "full", "--data-dir",
                        str(self.data))
        self.assertIn("pairs (not here: estimated without it)", plan)

    def test_a_missing_start_is_named_before_training(self):
        content = tiny(20) | {"name": "later"}
        content["presets"]["quick"]["encodings"] = [
            {"like": "rope", "start": {"experiment": "tiny", "encoding": "rope"}}]
        self.write(content)
        self.assertIn("first: rotary-lab run tiny --preset quick --only rope --seeds 1",
                      self.run_tiny(expect=2))

    def test_a_budget_scales_all_cells_and_a_continued_run_keeps_it(self):
        self.write(tiny(4000))
        few = self.run_tiny("--budget", "0.001s", expect=2)
        self.assertIn("--budget must leave every cell 20 steps", few)
        self.assertFalse((self.folder / "lab-runs" / "tiny-quick").exists())
        self.assertIn("of its steps", self.run_tiny("--budget", "2s"))
        log = self.losses("lab-runs", "rope"), self.losses("lab-runs", "none")
        steps = [int(each[-1][0]) for each in log]
        self.assertEqual(steps[0], steps[1])
        self.assertTrue(20 <= steps[0] < 4000, steps)
        self.assertIn("2 finished before", self.run_tiny())
        self.assertIn("2 finished before", self.run_tiny("--budget", "2s"))
        self.assertIn("--budget must be 2s, with which the cells",
                      self.run_tiny("--budget", "3s", expect=2))
        self.write(tiny(20))
        self.run_tiny("--runs", "whole")
        self.assertIn("began with all of their steps",
                      self.run_tiny("--runs", "whole", "--budget", "2s", expect=2))
        self.assertIn("2 finished before", self.run_tiny("--runs", "whole"))

    def test_a_run_beyond_this_machine_is_refused_with_an_estimate(self):
        content = tiny(10 ** 9)
        self.write(content)
        said = self.run_tiny(expect=5)
        self.assertRegex(said, r"2 cells would take about \d+ hours of processor")
        content["presets"]["quick"]["model"] |= {"d_model": 32768, "layers": 1000}
        self.write(content)
        self.assertRegex(self.run_tiny(expect=5), r"needs about [\d.]+ GB of memory")

    def test_pairs_are_added_translated_and_judged(self):
        sides = {"english": [f"the {n} books of {n * n}" for n in range(200)],
                 "german": [f"die {n} Bücher von {n * n}" for n in range(200)]}
        for name, lines in sides.items():
            (self.folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        subprocess.run([PREPARE, "add", "both", "--from", "english", "--translation", "german"],
                       cwd=self.folder, check=True, capture_output=True)
        experiment = tiny(steps=5)
        experiment["task"] = "translation"
        experiment["presets"]["quick"]["model"]["tokens"] = 64
        experiment["claims"] = [{
            "statement": "RoPE translates", "margin": -1,
            "lower": {"encoding": "none", "metric": "bleu"},
            "higher": {"encoding": "rope", "metric": "bleu"}}]
        self.write(experiment)
        os.environ["ROTARY_LAB_SACREBLEU"] = "/bin/false"
        self.addCleanup(os.environ.pop, "ROTARY_LAB_SACREBLEU")
        self.assertIn("translation needs pairs, which 'book' is not", self.run_tiny(expect=2))
        run = ("run", str(self.experiment), "--data", "both", "--runs", "both")
        self.lab(*run)
        results = ("results", str(self.experiment), "--runs", "both")
        told = self.lab(*results)
        self.assertIn("not run: RoPE translates", told)
        self.assertEqual(told.count("BLEU needs sacreBLEU"), 1)
        scorer = self.folder / "scorer"
        scorer.write_text("""#!/bin/sh
case "$*" in
  *--paired-bs*) echo '[{"system": "a", "BLEU": {"score": 4, "p_value": null, "ci": 1}},
                        {"system": "b", "BLEU": {"score": 5, "p_value": 0.25, "ci": 2}}]' ;;
  *"hypotheses.txt --metrics bleu"*)
    echo '{"name": "BLEU", "score": 5.5, "confidence_var": 1}' ;;
esac
""", encoding="ascii")
        scorer.chmod(0o755)
        os.environ["ROTARY_LAB_SACREBLEU"] = str(scorer)
        told = self.lab(*results)
        self.assertIn("confirmed: RoPE translates", told)
        self.assertIn("BLEU, seed 1: rope 5.00 ± 2.00, none 4.00 ± 1.00, p = 0.250", told)
        os.environ["ROTARY_LAB_SACREBLEU"] = "/bin/false"  # scores are kept
        self.lab("figures", str(self.experiment), "--runs", "both", "-o", "new/pictures")
        picture, = (self.folder / "new" / "pictures").glob("*.svg")
        self.assertIn("BLEU", picture.read_text(encoding="utf-8"))

    def test_results_read_every_experiment(self):
        for path in sorted((LAB / "experiments").glob("*.json")):
            with self.subTest(path.name):
                presets = json.loads(path.read_text(encoding="utf-8"))["presets"]
                for preset in presets:
                    self.assertIn("mirrors:", self.lab("results", str(path), "--preset", preset))

    def test_a_run_restarts_with_a_better_blas(self):
        plain = {name: value for name, value in os.environ.items()
                 if name != "ROTARY_LAB_STARTED_AGAIN"}
        command = self.on_book("run", "--runs", "again", "--only", "rope")
        self.assertRegex(run_tool(self, self.folder, *command, environment=plain),
                         r"OpenBLAS (?!Prescott|Nehalem)\w+")

    def test_encodings_are_listed_with_their_settings(self):
        listed = self.lab("encodings")
        self.assertIn("p-rope", listed)
        self.assertIn('"partial_rotary_factor":0.75', listed)
