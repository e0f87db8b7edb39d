#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/theory/rope.md agrees with its script, whose checks pass but fail for known mistakes.

Usage: theory_test.py REPOSITORY
"""

import contextlib
import importlib.util
import io
import pathlib
import re
import subprocess
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
folder = pathlib.Path(sys.argv[1]) / "docs/theory"
document = (folder / "rope.md").read_text(encoding="utf-8")
LINE = re.compile(r"^ *(\d+)  (.*?)  +\S+  (ok|WRONG)$")


def fresh_script():
    """Loads the script as a new module, which restarts its random numbers."""
    spec = importlib.util.spec_from_file_location("check_rope", folder / "check_rope.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def misprinted_partner(vector):
    partner = np.empty_like(vector)
    partner[0::2], partner[1::2] = -vector[1::2], vector[0::2]
    partner[-2], partner[-1] = -vector[-2], vector[-1]
    return partner


def negate_first_half(vector):
    half = len(vector) // 2
    return np.concatenate([vector[half:], -vector[:half]])


# Mistakes seen in print or code: (function to replace, its replacement, a step that must fail).
MISTAKES = {
    "exponent i/d": (
        "frequencies", lambda dim=64, base=1e4: base ** (-np.arange(dim // 2) / dim), 12,
    ),
    "pairs from 1": (
        "frequencies", lambda dim=64, base=1e4: base ** (-2.0 * np.arange(1, dim // 2 + 1) / dim),
        12,
    ),
    "model width for d": (
        "frequencies", lambda dim=64, base=1e4: base ** (-2.0 * np.arange(dim // 2) / 4096), 12,
    ),
    "last pair not swapped": ("interleaved_partner", misprinted_partner, 9),
    "first half negated": ("half_partner", negate_first_half, 10),
    "other pairing": ("half_partner", misprinted_partner, 10),
    "W_q not transposed": ("projected_score", lambda w_q, w_k, turn: w_q @ turn @ w_k, 7),
    "no conjugate": ("score", lambda q, k: float(np.sum(np.real(q * k))), 1),
    "angle not linear": ("progression", lambda position, theta: 1e-3 * position**2 * theta, 8),
}


class Theory(unittest.TestCase):
    def test_each_step_holds_and_has_its_section(self):
        command = [sys.executable, "-B", str(folder / "check_rope.py")]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = [LINE.match(line) for line in done.stdout.splitlines()]
        self.assertTrue(all(lines), done.stdout)
        self.assertEqual({match[3] for match in lines}, {"ok"})
        sections = re.findall(r"^### (\d+)\. (.*)$", document, re.MULTILINE)
        self.assertEqual([(match[1], match[2]) for match in lines], sections)

    def test_the_document_prints_the_checked_numbers(self):
        script = fresh_script()
        list(script.results())
        self.assertGreater(len(script.QUOTED), 20)
        for number in script.QUOTED:
            with self.subTest(number=number):
                self.assertIn(number, document)

    def test_known_mistakes_are_found(self):
        for name, (function, replacement, expected) in MISTAKES.items():
            with self.subTest(mistake=name):
                script = fresh_script()
                self.assertTrue(hasattr(script, function))
                setattr(script, function, replacement)
                output = io.StringIO()
                with contextlib.redirect_stdout(output):
                    self.assertEqual(script.main(), 1)
                lines = map(LINE.match, output.getvalue().splitlines())
                self.assertIn(expected, {int(match[1]) for match in lines if match[3] == "WRONG"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
