# SPDX-License-Identifier: Apache-2.0
"""When memory runs out, the tool ends with exit code 70, a message and no output."""

import bisect
import os
import pathlib
import resource
import subprocess

import numpy as np

from tool import TOOL, ToolTest

FAILING_NEW = os.environ["ROTARY_FAILING_NEW_LIBRARY"]

COMMANDS = [
    ["inspect", "config.json", "--json"],
    ["explain", "config.json"],
    ["plot", "decay", "config.json", "--csv"],
    ["report", "config.json", "-o", "out.html", "--force"],
    ["rotate", "--config", "config.json", "--layout", "bthd", "--q", "q.npy", "--out-q", "out.npy",
     "--force"],
]


class MemoryTest(ToolTest):
    def setUp(self):
        super().setUp()
        np.save(self.path / "q.npy", np.ones((1, 8, 2, 16), np.float32))
        for name in ("out.npy", "out.html"):
            (self.path / name).write_bytes(b"precious")
        self.before = self.contents()

    def run_once(self, arguments, **options):
        """Returns whether the memory sufficed. If not, checks the failure."""
        result = subprocess.run([TOOL, *arguments], cwd=self.path, capture_output=True, timeout=60,
                                **options)
        if result.returncode == 0:
            for name, content in self.before.items():
                pathlib.Path(self.path / name).write_bytes(content)
            return True
        self.assertEqual(result.returncode, 70, result.stderr)
        self.assertIn(b"out of memory", result.stderr)
        self.assertEqual(self.contents(), self.before)
        return False

    def with_failures(self, arguments, allowed, **environment):
        return self.run_once(arguments, env=os.environ | environment | {
            "LD_PRELOAD": FAILING_NEW, "ROTARY_FAILING_NEW": str(allowed)})

    def test_failed_allocations_exit_with_70(self):
        """Fails about 10 allocations of each command, alone and with all later ones. The first of
        them depends on the command, because all commands begin with the same allocations."""
        for shift, arguments in enumerate(COMMANDS):
            enough = 1
            while not self.with_failures(arguments, enough, ROTARY_FAILING_NEW_LATER="1"):
                enough *= 2
            step = enough // 10
            for allowed in range(shift * step // len(COMMANDS), enough, step):
                with self.subTest(arguments=arguments, allowed=allowed):
                    self.with_failures(arguments, allowed)
                    self.with_failures(arguments, allowed, ROTARY_FAILING_NEW_LATER="1")

    def test_small_address_spaces_exit_with_70(self):
        """Tries about 10 limits, from the least that starts the tool to one that suffices."""
        def limited(limit):
            return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))}

        def starts(limit):
            return subprocess.run([TOOL, "--version"], capture_output=True,
                                  **limited(limit)).returncode == 0

        page = 1 << 12
        least = page * bisect.bisect_left(range(1 << 15), True, key=lambda n: starts(n * page))
        for arguments in COMMANDS:
            more = page
            while not self.run_once(arguments, **limited(least + more)):
                more *= 2
            for limit in range(least, least + more, max(more // 10, page)):
                with self.subTest(arguments=arguments, limit=limit):
                    self.run_once(arguments, **limited(limit))
