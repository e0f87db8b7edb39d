# SPDX-License-Identifier: Apache-2.0
"""Tests the output of `rotary bench` for tiny runs. No check depends on a time."""

import json
import os
import pty
import subprocess

from tool import TOOL, ToolTest, validate

TINY = ["bench", "--seconds", "0.001"]


def everything(terminal):
    """Reads a terminal until its other end is closed."""
    shown = b""
    while True:
        try:
            shown += os.read(terminal, 4096)
        except OSError:
            return shown


def run_on_terminal(*arguments):
    """Runs the tool with standard error on a terminal. Returns (exit code, terminal's text)."""
    ours, theirs = pty.openpty()
    result = subprocess.run([TOOL, *arguments], stdout=subprocess.PIPE, stderr=theirs, timeout=60)
    os.close(theirs)
    shown = everything(ours)
    os.close(ours)
    return result.returncode, shown


class BenchTest(ToolTest):
    def test_every_operation_is_verified_and_timed(self):
        document = self.run_json("bench", *TINY, "--tokens", "1,3", "--threads", "1")
        names = {line["operation"] for line in document["lines"]}
        wanted = {"rotate", "rotate-prepared", "backward", "out-of-place", "heads-first"}
        wanted |= {"head-dim-64", "partial", "patches", "patches-prepared", "rows"}
        self.assertLessEqual(wanted | {"append", "rotate-then-copy", "shift"}, names)
        self.assertEqual(document["skipped"], [])
        for line in document["lines"]:
            with self.subTest(line=line):
                self.assertEqual(line["clock"], "thread_cpu")
                self.assertAlmostEqual(line["ns_per_token"] * line["tokens"], line["ns_per_call"])
                verified = line["verified"]
                self.assertLessEqual(verified["largest_error_units"], verified["bound_units"])
                self.check_sizes(line)

    def check_sizes(self, line):
        heads = line["query_heads"] + line["key_heads"]
        size = {"f32": 4, "bf16": 2, "f16": 2, None: 0}[line["dtype"]]
        tensors = line["tokens"] * heads * line["rotary_dim"] * size
        if line["roofline"] == "none":
            self.assertIsNone(line["ratio"])
            self.assertEqual(line["moved_bytes"], line["tokens"] * line["rotary_dim"] * 4)
            return
        self.assertAlmostEqual(line["ratio"], line["ns_per_call"] / line["roofline_ns_per_call"])
        self.assertEqual(line["moved_bytes"], 2 * tensors)
        self.assertEqual(line["verified"]["elements"], line["tokens"] * heads * line["head_dim"])
        copies = 2 if line["roofline"] == "copy" else 1
        self.assertEqual(line["working_set_bytes"], copies * tensors)

    def test_every_operation_runs_with_every_pairing_and_dtype(self):
        arguments = ["--pairings", "half,interleaved,interleaved_to_half", "--tokens", "2"]
        document = self.run_json("bench", *TINY, *arguments, "--dtypes", "f32,bf16,f16")
        self.assertEqual({line["pairing"] for line in document["lines"]},
                         {"half", "interleaved", "interleaved_to_half", None})

    def test_only_requested_lines_run(self):
        arguments = ["--operations", "partial,rotate", "--tokens", "2,70", "--dtypes", "f16,f32"]
        arguments += ["--pairings", "interleaved,interleaved_to_half", "--threads", "2"]
        document = self.run_json("bench", *TINY, *arguments)
        lines = document["lines"]
        self.assertEqual(len(lines), 16)
        self.assertEqual({line["threads"] for line in lines}, {2})
        self.assertEqual({line["dtype"] for line in lines}, {"f16", "f32"})
        pairings = {line["pairing"] for line in lines}
        self.assertEqual(pairings, {"interleaved", "interleaved_to_half"})
        self.assertEqual({line["clock"] for line in lines}, {"steady"})

    def test_the_report_names_machine_build_and_instruction_set(self):
        tiny = [*TINY, "--operations", "rows", "--tokens", "1"]
        document = self.run_json("bench", *tiny)
        self.assertTrue(document["machine"]["cpu"])
        self.assertGreater(document["machine"]["processors"], 0)
        version = self.run_ok("--version").split()[1]
        self.assertEqual(document["build"]["version"], version)
        self.assertTrue(document["build"]["commit"])
        chosen = {"ROTARY_INSTRUCTION_SET": document["instruction_set"]}
        again = self.run_json("bench", *tiny, environment=chosen)
        self.assertEqual(again["instruction_set"], document["instruction_set"])
        arguments = [*tiny, "--instruction-set", document["instruction_set"]]
        self.assertEqual(self.run_json("bench", *arguments)["lines"][0]["tokens"], 1)

    def test_the_table_shows_times_goals_and_a_summary(self):
        text = self.run_ok(*TINY, "--operations", "rotate,rows", "--tokens", "1,16")
        self.assertIn("rotate: rows made, then q and k rotated in place", text)
        self.assertRegex(text, r"\n +\d+\.\d\d +\+\d+ %  <= 1\.8 +(met|MISSED|busy) +"
                               r"f32 +half +1 +1  L1 ")
        self.assertRegex(text, r"\n\d+ of \d+ goals met\n")
        for line in text.splitlines():
            self.assertLessEqual(len(line), 132, line)

    def test_lines_that_need_too_much_memory_are_skipped_and_named(self):
        tiny = [*TINY, "--operations", "rotate", "--dtypes", "f32", "--pairings", "half"]
        tiny += ["--threads", "1", "--tokens", "1,1000", "--memory", "1"]
        document = self.run_json("bench", *tiny)
        self.assertEqual([line["tokens"] for line in document["lines"]], [1])
        self.assertEqual([line["tokens"] for line in document["skipped"]], [1000])
        self.assertGreater(document["skipped"][0]["needed_bytes"], 1000 * 40 * 128 * 4)
        self.assertIn("skipped: rotate: f32 half, 1000 tokens: needs", self.run_ok(*tiny))

    def test_out_writes_the_json_to_a_file(self):
        tiny = [*TINY, "--operations", "rows", "--tokens", "1", "--out", "bench.json"]
        text = self.run_ok(*tiny)
        self.assertIn("goals met", text)
        document = json.loads((self.path / "bench.json").read_text())
        validate(document, "bench")

    def test_wrong_arguments_are_refused(self):
        for arguments, part in [
            (["--operations", "bogus"], "--operations must be one of rotate, "),
            (["--tokens", "0"], "--tokens must be in [1, 1048576], got 0"),
            (["--tokens", "1048577"], "got 1048577"),
            (["--threads", "1025"], "--threads must be in [1, 1024], got 1025"),
            (["--seconds", "0"], "--seconds must be in (0, 60], got 0"),
            (["--memory", "0"], "--memory must be in [1, "),
        ]:
            with self.subTest(arguments=arguments):
                self.assert_fails(2, [part], "bench", *arguments)
        self.assert_fails(5, ["one of", "got 'BOGUS'"], "bench", "--instruction-set", "BOGUS")

    def test_progress_is_shown_only_on_a_terminal(self):
        code, shown = run_on_terminal("bench", "--operations", "rows", "--tokens", "1,2,3",
                                      "--seconds", "0.6")
        self.assertEqual(code, 0)
        self.assertIn(b"rotary bench  66 %", shown)
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown)
        self.assertEqual(self.run_tool(*TINY, "--operations", "rows").stderr, b"")

    def test_a_closed_terminal_does_not_stop_the_run(self):
        """The terminal closes before the last line of progress is erased."""
        command = [TOOL, "bench", "--seconds", "0.4", "--operations", "rotate", "--dtypes", "f32",
                   "--pairings", "half", "--tokens", "1,2,4,8,16", "--threads", "1"]
        ours, theirs = pty.openpty()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        self.assertIn(b" %", os.read(ours, 4096))
        os.close(ours)
        self.assertEqual(process.wait(timeout=60), 0)
