# SPDX-License-Identifier: Apache-2.0
"""Every exit code, and no output touched by anything that fails."""

import json
import os
import subprocess
import zipfile

import numpy as np

from tool import LLAMA, TOOL, ToolTest


class UsageTest(ToolTest):
    def test_the_command_line(self):
        name = self.write_config(LLAMA)
        for arguments, part in [
            (["bogus"],
             "inspect, check, diff, table, rotate, encode, bias, positions, explain, claims, plot, "
             "report, "
             "models, permute, identify, trace, stretch, bench, "
             "help, completions, got 'bogus'"),
            (["--bogus"], "got '--bogus'"),
            (["inspect"], "CONFIG is required"),
            (["inspect", name, "more"], "no further argument 'more'"),
            (["inspect", name, "--bogus"], "no option '--bogus'"),
            (["inspect", name, "--context", "0"], "at least 1, got 0"),
            (["inspect", name, "--context", "1e5"], "--context must be an integer"),
            (
                ["inspect", name, "--pairing", "neox"],
                "half, interleaved, interleaved_to_half, got 'neox'",
            ),
            (["inspect", name, "--pairing"], "--pairing"),
            (["table", name], "config.json needs --positions"),
        ]:
            with self.subTest(arguments=arguments):
                self.assert_fails(2, [part], *arguments)

    def test_without_a_command(self):
        result = self.run_tool()
        self.assertEqual((result.returncode, result.stdout), (2, b""))
        self.assertIn(b"a command is required: one of inspect, ", result.stderr)

    def test_errors_name_the_command_and_the_way_out(self):
        result = self.run_tool("inspect")
        self.assertTrue(result.stderr.startswith(b"rotary inspect: "), result.stderr)
        self.assertIn(b"rotary inspect --help", result.stderr)


class InputOutputTest(ToolTest):
    def test_files_that_cannot_be_read(self):
        self.assert_fails(4, ["gone.json", "No such file"], "inspect", "gone.json")
        self.assert_fails(4, [".: the folder must have a config.json"], "inspect", ".")
        with open("/dev/zero", "rb") as endless:
            result = subprocess.run([TOOL, "inspect", "-"], stdin=endless, capture_output=True,
                                    timeout=60)
        self.assertEqual(result.returncode, 4)
        self.assertIn(b"standard input: must have at most", result.stderr)

    def test_messages_have_ends_of_long_text(self):
        """Of arguments, of files' names and of names in files, by every way out."""
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

    def test_names_that_are_not_utf8(self):
        self.assert_fails(4, ["No such file"], "inspect", os.fsdecode(b"gone-\xff.json"))
        name = self.write_config(LLAMA)
        (self.path / name).rename(self.path / os.fsdecode(b"\xff.json"))
        self.run_ok("inspect", os.fsdecode(b"\xff.json"))

    def test_standard_output_that_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run(
                [TOOL, "--version"], stdout=full, stderr=subprocess.PIPE, timeout=60
            )
        self.assertEqual(result.returncode, 4)
        self.assertIn(b"standard output", result.stderr)

    def test_an_instruction_set_that_does_not_exist(self):
        arguments = ["explain", "--values", "1,2", "--position", "1", "--pairing", "half"]
        environment = {"ROTARY_INSTRUCTION_SET": "ABACUS"}
        self.assert_fails(5, ["ABACUS"], *arguments, environment=environment)


class ConfigTest(ToolTest):
    def check(self, code, parts, config):
        self.assert_fails(code, parts, "inspect", self.write_config(config))

    def test_json_that_is_none(self):
        for text in ["", "{", "[]", "nul", '{"model_type":"llama",}', "[" * 100000,
                     '{"a":' * 100000, '{"rope_theta":1e400}', '{"model_type":"llama" /**/}']:
            with self.subTest(text=text[:30]):
                self.check(3, ["config.json: "], text)

    def test_duplicate_keys(self):
        text = json.dumps(LLAMA)[:-1] + ', "rope_theta": 5.0}'
        self.check(3, ["rope_theta"], text)

    def test_numbers_that_cannot_be(self):
        odd = {"model_type": "gptj", "n_embd": 64, "n_head": 4, "n_layer": 2, "rotary_dim": 7}
        self.check(3, ["rotary_dim", "even", "7"], odd)
        self.check(3, ["rotary_dim", "18"], odd | {"rotary_dim": 18})
        self.check(3, ["rope_theta"], LLAMA | {"rope_theta": "10000"})
        self.check(3, ["base"], LLAMA | {"rope_theta": -1.0})
        self.check(3, ["rope_theta must be a number", "got NaN"],
                   json.dumps(LLAMA | {"rope_theta": float("nan")}))

    def test_rules_and_keys_that_are_not_known(self):
        rule = {"rope_type": "novel", "factor": 2.0}
        self.check(5, ["rope_type", "novel"], LLAMA | {"rope_scaling": rule})
        rule = {"rope_type": "linear", "factor": 2.0, "novelty": 1}
        self.check(5, ["novelty"], LLAMA | {"rope_scaling": rule})


class RotateFailureTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.write_config(LLAMA)
        np.save(self.path / "q.npy", np.ones((1, 4, 2, 16), np.float32))
        np.save(self.path / "k.npy", np.ones((1, 4, 1, 16), np.float32))
        (self.path / "old.npy").write_bytes(b"precious")

    def check(self, code, parts, *arguments, config="config.json", layout="bthd"):
        command = ["rotate", "--config", config, "--layout", layout, *arguments]
        self.assert_fails(code, parts, *command)

    def check_q(self, code, parts, array, *arguments, **options):
        """array as --q, with an output that would be replaced."""
        if isinstance(array, bytes):
            (self.path / "x.npy").write_bytes(array)
        else:
            np.save(self.path / "x.npy", array)
        outputs = ["--out-q", "old.npy", "--force"]
        self.check(code, parts, "--q", "x.npy", *outputs, *arguments, **options)

    def test_arguments(self):
        q = ["--q", "q.npy", "--out-q", "o.npy"]
        self.check(2, ["at least one of --q and --k"])
        self.check(2, ["--q and --out-q"], "--q", "q.npy")
        self.check(2, ["--k and --out-k"], *q, "--out-k", "o2.npy")
        self.check(2, ["exclude each other"], *q, "--first-position", "0", "--positions", "p.npy")
        self.check(2, ["exclude each other"], *q, "--layer", "0", "--layer-type", "t")
        self.check(2, ["different files"], *q, "--k", "k.npy", "--out-k", "./o.npy")
        self.check(2, ["only one input"], "--q", "-", "--out-q", "o.npy", config="-")
        self.check(2, ["must be a file"], "--q", "q.npy", "--out-q", "-")
        self.check(2, ["bthd, bhtd, thd, got 'tbhd'"], *q, layout="tbhd")
        self.check(2, ["--direction"], *q, "--direction", "sideways")
        self.check(2, ["--dtype"], *q, "--dtype", "f8")
        self.check(2, ["0 to 2, got 3"], *q, "--layer", "3")
        self.check(2, ["--layer-type"], *q, "--layer-type", "sliding")
        self.check(2, ["--first-position"], *q, "--first-position", "1.0")

    def test_positions_that_leave_int64(self):
        self.check(2, ["position"], "--q", "q.npy", "--out-q", "o.npy",
                   "--first-position", 2**63 - 2)

    def test_shapes_and_types(self):
        ones = np.ones((1, 4, 2, 16), np.float32)
        self.check_q(2, ["[batch, tokens, heads, features]", "[4, 2, 16]"], ones[0])
        self.check_q(2, ["16", "15"], np.ascontiguousarray(ones[..., :15]))
        self.check_q(2, ["--dtype bf16"], np.ones((1, 4, 2, 16), np.uint16))
        self.check_q(2, ["'<u2'", "'<f4'"], ones, "--dtype", "bf16")
        self.check_q(2, ["'<f2'", "'<f8'", "'<i8'"], ones.astype(np.int64))
        self.check_q(2, ["'<f8' for --dtype f64, got '<f4'"], ones, "--dtype", "f64")
        self.check_q(2, ["'<f4' for --dtype f32, got '<f2'"], ones.astype(np.float16),
                     "--dtype", "f32")
        self.check_q(5, ["'<f16'"], ones.astype(np.longdouble))
        self.check_q(5, ["newbyteorder"], ones.astype(">f4"))
        self.check_q(5, ["ascontiguousarray"], np.asfortranarray(ones))
        self.check_q(5, ["pickles"], np.array([None], object))

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

    def test_position_files(self):
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

    def test_npy_files_cut_short_or_grown(self):
        good = (self.path / "q.npy").read_bytes()
        for size in [0, 5, 9, 60, len(good) - 1]:
            self.check_q(3, ["x.npy: "], good[:size])
        self.check_q(3, ["must have 512 bytes, got 513"], good + b"x")
        self.check_q(3, ["begin with"], b"PK\x03\x04" + good)

    def test_configs_that_fail(self):
        q = ["--q", "q.npy", "--out-q", "old.npy", "--force"]
        for name, config, code in [
            ("deep.json", "[" * 100000, 3),
            ("odd.json", {"model_type": "gptj", "n_embd": 64, "n_head": 4, "n_layer": 1,
                          "rotary_dim": 7}, 3),
            ("rule.json", LLAMA | {"rope_scaling": {"rope_type": "novel"}}, 5),
            ("key.json", LLAMA | {"rope_scaling": {"rope_type": "linear", "factor": 2.0,
                                                   "novelty": 1}}, 5),
            ("gone.json", None, 4),
        ]:
            if config is not None:
                self.write_config(config, name)
            self.check(code, [f"{name}: "], *q, config=name)

    def test_outputs_that_cannot_be_written(self):
        self.check(4, ["old.npy: exists", "--force"], "--q", "q.npy", "--out-q", "old.npy")
        self.check(4, ["none/o.npy"], "--q", "q.npy", "--out-q", "none/o.npy")
        both = ["--q", "q.npy", "--k", "k.npy"]
        self.check(4, ["none/o.npy"], *both, "--out-q", "o.npy", "--out-k", "none/o.npy")
        self.check(4, ["old.npy"], *both, "--out-q", "o.npy", "--out-k", "old.npy")
        self.check(4, ["regular file"], "--q", "q.npy", "--out-q", "/dev/null", "--force")
        (self.path / "folder").mkdir()
        self.check(4, ["regular file"], "--q", "q.npy", "--out-q", "folder", "--force")

    def test_a_write_that_runs_out_of_space(self):
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
