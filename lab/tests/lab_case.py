# SPDX-License-Identifier: Apache-2.0
"""For tests of rotary-lab: a book to train on, and an experiment that takes a few seconds."""

import os
import pathlib
import subprocess
import tempfile
import unittest

TOOL = os.environ["ROTARY_LAB"]
LAB = pathlib.Path(__file__).parents[1]
PREPARE = LAB / "data" / "prepare.py"


def tiny(steps, seeds=(1,)):
    return {
        "schema_version": 1, "name": "tiny", "title": "Tiny", "mirrors": "nothing",
        "task": "causal_lm",
        "presets": {"quick": {
            "model": {"d_model": 16, "layers": 1, "heads": 2, "tokens": 16},
            "training": {"steps": steps, "batch": 4, "learning_rate": 0.003, "warmup_steps": 5,
                         "validate_every": 10, "validation_rows": 4},
            "seeds": list(seeds), "encodings": ["rope", "none"]}},
        "claims": [{"statement": "RoPE knows more than nothing", "lower": "rope",
                    "higher": "none", "margin": 100}],
    }


def scratch_folder(add_cleanup):
    folder = tempfile.TemporaryDirectory(prefix="rotary-lab-")
    add_cleanup(folder.cleanup)
    return pathlib.Path(folder.name)


def run_tool(case, folder, *arguments, expect=0, environment=None):
    done = subprocess.run([TOOL, *arguments], cwd=folder, env=environment, capture_output=True,
                          text=True, check=False)
    case.assertEqual(done.returncode, expect, done.stdout + done.stderr)
    return done.stdout + done.stderr


class LabCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base = scratch_folder(cls.addClassCleanup)
        cls.data = cls.base / "data"
        book = cls.base / "book.txt"
        book.write_text("".join(f"line {n} of a small book, {n * n}\n" for n in range(3000)))
        subprocess.run([PREPARE, "add", "book", "--from", book, "--data-dir", cls.data],
                       check=True, stdout=subprocess.DEVNULL)

    @staticmethod
    def losses_in(cell):
        """The log's columns that do not depend on the clock."""
        return [line.split(",")[:5] for line in (cell / "log.csv").read_text().splitlines()]
