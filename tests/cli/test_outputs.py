# SPDX-License-Identifier: Apache-2.0
"""Output files and standard streams: what is left behind when something fails or ends the tool."""

import itertools
import os
import signal
import subprocess

import numpy as np

from tool import LLAMA, TOOL, ToolTest


class OutputTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.write_config(LLAMA)

    def run_script(self, script, *arguments, **options):
        """A line of bash, in which "$@" is the tool with the arguments."""
        command = ["/bin/bash", "-c", script, "bash", TOOL, *map(str, arguments)]
        return subprocess.run(command, cwd=self.path, timeout=60, stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, **({"stdout": subprocess.PIPE} | options))

    def names(self):
        return sorted(path.name for path in self.path.iterdir())

    def table(self, name="table.npy", *arguments):
        return ["table", "config.json", "--positions", "0:4", "--out", name, *arguments]


class StandardStreamsTest(OutputTest):
    def test_descriptors_that_are_closed(self):
        """No file gets their numbers, and so no message lands in one."""
        self.run_ok(*self.table("expected.npy"))
        expected = (self.path / "expected.npy").read_bytes()
        for count in (1, 2, 3):
            for closed in itertools.combinations("012", count):
                with self.subTest(closed=closed):
                    redirections = " ".join(f"{number}>&-" for number in closed)
                    result = self.run_script(f'exec "$@" {redirections}', *self.table())
                    self.assertEqual(result.returncode, 4 if "1" in closed else 0, result.stderr)
                    self.assertEqual((self.path / "table.npy").read_bytes(), expected)
                    (self.path / "table.npy").unlink()

    def test_a_closed_standard_input(self):
        result = self.run_script('exec "$@" <&-', "inspect", "-")
        self.assertEqual((result.returncode, result.stdout), (4, b""))
        self.assertIn(b"standard input: cannot read it", result.stderr)

    def check_lost_answer(self, script, **options):
        result = self.run_script(script, *self.table(), **options)
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn(b"standard output: cannot write it", result.stderr)
        self.assertIn(b"output files, if any, are written", result.stderr)
        self.assertEqual(np.load(self.path / "table.npy").shape, (2, 4, 8))
        (self.path / "table.npy").unlink()

    def test_an_answer_that_cannot_be_written(self):
        self.check_lost_answer('exec "$@" > /dev/full')
        self.check_lost_answer('exec "$@" >&-')
        self.check_lost_answer('exec "$@" --json > /dev/full')
        with self.broken_pipe() as pipe:
            self.check_lost_answer('trap "" PIPE; exec "$@"', stdout=pipe)

    def broken_pipe(self):
        reader, writer = os.pipe()
        os.close(reader)
        return os.fdopen(writer, "wb", buffering=0)

    def test_a_pipe_that_nobody_reads(self):
        """As of other filters: ended by SIGPIPE, after the files are written."""
        with self.broken_pipe() as pipe:
            result = self.run_script('exec "$@"', *self.table(), stdout=pipe,
                                     restore_signals=True)
        self.assertEqual(result.returncode, -signal.SIGPIPE)
        self.assertEqual(self.names(), ["config.json", "table.npy"])

    def test_a_failure_keeps_its_code(self):
        for redirections in ["> /dev/full", ">&-", "2> /dev/full", "2>&-", ">&- 2>&-"]:
            with self.subTest(redirections=redirections):
                script = f'exec "$@" --json {redirections}'
                self.assertEqual(self.run_script(script, "inspect").returncode, 2)
                self.assertEqual(self.run_script(script, "inspect", "gone.json").returncode, 4)
                self.write_config("{", "malformed.json")
                result = self.run_script(script, "inspect", "malformed.json")
                self.assertEqual(result.returncode, 3)

    def test_warnings_that_cannot_be_written(self):
        arguments = ["inspect", "llama-3.1-8b", "--context", "1000000"]
        warned = self.run_tool(*arguments)
        self.assertIn(b": warning: ", warned.stderr)
        for redirection in ["2> /dev/full", "2>&-"]:
            result = self.run_script(f'exec "$@" {redirection}', *arguments)
            self.assertEqual((result.returncode, result.stdout), (0, warned.stdout))
