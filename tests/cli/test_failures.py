# SPDX-License-Identifier: Apache-2.0
"""Tests the exit codes of failures. A failed command must leave all output files unchanged."""

import os
import subprocess
import zipfile

import numpy as np

from tool import LLAMA, TOOL, ToolTest


class InputOutputTest(ToolTest):
    def test_an_endless_standard_input_exits_with_4(self):
        with open("/dev/zero", "rb") as endless:
            result = subprocess.run([TOOL, "inspect", "-"], stdin=endless, capture_output=True,
                                    timeout=60)
        self.assertEqual(result.returncode, 4)
        self.assertIn(b"standard input: must have at most", result.stderr)

    def test_messages_shorten_long_text(self):
        """The long text is an argument, the name of a file or a name in a file."""
        long = "n" * 100_000
        with zipfile.ZipFile(self.path / "a.npz", "w") as archive:
            archive.writestr(f"{long[:60_000]}.npy", b"no array")
        for code, arguments in [(4, ["inspect", long]), (2, [long]),
                                (2, ["table", "alibi", "--heads", "2", "--distances", long]),
                                (2, ["plot", long]), (2, ["inspect", "gpt2", "--pairing", long]),
                                (3, ["identify", "--inv-freq", "a.npz"])]:
            for form in [(), ("--json",)]:
                result = self.run_tool(*arguments, *form)
                with self.subTest(arguments=arguments[:-1], form=form):
                    self.assertEqual(result.returncode, code)
                    self.assertIn(b"bytes)...nnn", result.stderr + result.stdout)
                    self.assertLess(len(result.stderr + result.stdout), 20_000)

    def test_an_unknown_instruction_set_exits_with_5(self):
        arguments = ["explain", "--values", "1,2", "--position", "1", "--pairing", "half"]
        environment = {"ROTARY_INSTRUCTION_SET": "ABACUS"}
        self.assert_fails(5, ["ABACUS"], *arguments, environment=environment)


class RotateFailureTest(ToolTest):
    def setUp(self):
        super().setUp()
        np.save(self.path / "q.npy", np.ones((1, 4, 2, 16), np.float32))
        np.save(self.path / "k.npy", np.ones((1, 4, 1, 16), np.float32))
        (self.path / "old.npy").write_bytes(b"precious")

    def check(self, code, parts, *arguments, config="config.json", layout="bthd"):
        command = ["rotate", "--config", config, "--layout", layout, *arguments]
        self.assert_fails(code, parts, *command)

    def check_q(self, code, parts, array, *arguments, **options):
        """Passes the array as --q. The output exists and would be replaced."""
        np.save(self.path / "x.npy", array)
        outputs = ["--out-q", "old.npy", "--force"]
        self.check(code, parts, "--q", "x.npy", *outputs, *arguments, **options)

    def test_wrong_arguments_are_refused(self):
        q = ["--q", "q.npy", "--out-q", "o.npy"]
        self.check(2, ["at least one of --q and --k"])
        self.check(2, ["--k and --out-k"], *q, "--out-k", "o2.npy")
        self.check(2, ["exclude each other"], *q, "--first-position", "0", "--positions", "p.npy")
        self.check(2, ["exclude each other"], *q, "--layer", "0", "--layer-type", "t")
        self.check(2, ["different files"], *q, "--k", "k.npy", "--out-k", "./o.npy")
        self.check(2, ["only one input"], "--q", "-", "--out-q", "o.npy", config="-")
        self.check(2, ["must be a file"], "--q", "q.npy", "--out-q", "-")
        for layer in (3, -1):
            self.check(2, [f"0 to 2, got {layer}"], *q, "--layer", layer)
        self.write_config({key: LLAMA[key] for key in LLAMA if key != "num_hidden_layers"}, "c")
        self.check(2, ["--layer needs a config with num_hidden_layers"], *q, "--layer", 0,
                   config="c")
        self.check(2, ["--layer-type"], *q, "--layer-type", "sliding")

    def test_positions_beyond_int64_are_refused(self):
        self.check(2, ["position"], "--q", "q.npy", "--out-q", "o.npy",
                   "--first-position", 2**63 - 2)

    def test_wrong_shapes_and_dtypes_are_refused(self):
        ones = np.ones((1, 4, 2, 16), np.float32)
        self.check_q(2, ["[batch, tokens, heads, features]", "[4, 2, 16]"], ones[0])
        self.check_q(2, ["16", "15"], np.ascontiguousarray(ones[..., :15]))
        self.check_q(2, ["--dtype bf16"], np.ones((1, 4, 2, 16), np.uint16))
        self.check_q(2, ["'<u2'", "'<f4'"], ones, "--dtype", "bf16")
        self.check_q(2, ["'<f2'", "'<f8'", "'<i8'"], ones.astype(np.int64))
        self.check_q(2, ["'<f8' for --dtype f64, got '<f4'"], ones, "--dtype", "f64")
        self.check_q(2, ["'<f4' for --dtype f32, got '<f2'"], ones.astype(np.float16),
                     "--dtype", "f32")
        self.check_q(5, ["ascontiguousarray"], np.asfortranarray(ones))

    def test_q_and_k_must_have_the_same_type(self):
        for wide, narrow in [(np.float64, np.float32), (np.float32, np.float16)]:
            np.save(self.path / "q.npy", np.ones((1, 4, 2, 16), wide))
            np.save(self.path / "k.npy", np.ones((1, 4, 1, 16), narrow))
            types = f"got '{np.dtype(wide).str}' and '{np.dtype(narrow).str}'"
            self.check(2, ["same type", types], "--q", "q.npy", "--k", "k.npy",
                       "--out-q", "o.npy", "--out-k", "old.npy", "--force")

    def test_q_and_k_must_agree_before_either_is_written(self):
        np.save(self.path / "k.npy", np.ones((1, 5, 1, 16), np.float32))
        outputs = ["--out-q", "o.npy", "--out-k", "old.npy", "--force"]
        self.check(2, ["agree"], "--q", "q.npy", "--k", "k.npy", *outputs)
        np.save(self.path / "k.npy", np.ones((1, 4, 1, 12), np.float32))
        self.check(2, ["--k", "12"], "--q", "q.npy", "--k", "k.npy", *outputs)

    def test_wrong_position_files_are_refused(self):
        q = ["--q", "q.npy", "--out-q", "old.npy", "--force", "--positions", "p.npy"]
        for positions, code, part in [
            (np.arange(5), 2, "[tokens] = [4] or [batch, tokens] = [1, 4], got [5]"),
            (np.zeros((2, 4), np.int64), 2, "got [2, 4]"),
            (np.zeros((4, 1), np.int64), 2, "got [4, 1]"),
            (np.zeros(4, np.float32), 2, "float64 ('<i4', '<i8', '<f8'), got '<f4'"),
            (np.array([0, 1, np.nan, 3]), 2, "batch 0, token 2"),
            (np.array([[0, 1, 2, 2.0**63]]), 2, "[-2^63, 2^63), got 9223372036854775808"),
            (np.zeros(4, np.int16), 5, "'<i2'"),
        ]:
            np.save(self.path / "p.npy", positions)
            self.check(code, [part], *q)

    def test_unwritable_outputs_exit_with_4(self):
        self.check(4, ["none/o.npy"], "--q", "q.npy", "--out-q", "none/o.npy")
        both = ["--q", "q.npy", "--k", "k.npy"]
        self.check(4, ["none/o.npy"], *both, "--out-q", "o.npy", "--out-k", "none/o.npy")
        self.check(4, ["old.npy"], *both, "--out-q", "o.npy", "--out-k", "old.npy")
        self.check(4, ["regular file"], "--q", "q.npy", "--out-q", "/dev/null", "--force")
        (self.path / "folder").mkdir()
        self.check(4, ["regular file"], "--q", "q.npy", "--out-q", "folder", "--force")

    def test_a_write_without_space_leaves_the_old_file(self):
        """A limit on file sizes stands in for a full disk."""
        np.save(self.path / "q.npy", np.ones((1, 64, 2, 16), np.float32))
        before = self.contents()
        command = [TOOL, "rotate", "--config", "config.json", "--layout", "bthd",
                   "--q", "q.npy", "--out-q", "old.npy", "--force"]
        script = "trap '' XFSZ; ulimit -f 4; exec \"$@\""
        result = subprocess.run(["/bin/bash", "-c", script, "bash", *command], cwd=self.path,
                                capture_output=True, timeout=60, env=os.environ)
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn(b"old.npy: cannot write it", result.stderr)
        self.assertEqual(self.contents(), before)
