# SPDX-License-Identifier: Apache-2.0
"""rotary check prints one line for each finding, and its exit code says if a file failed."""

import json

import numpy as np

from safetensors_files import save
from tool import LLAMA, YARN, ToolTest, validate

# The trained context is 4 times the original one, but the factor is 8.
SUSPICIOUS = YARN | {"rope_scaling": YARN["rope_scaling"] | {"factor": 8.0}}


class CheckTest(ToolTest):
    def check(self, *arguments):
        """Checks as text and as JSON. Returns (exit code, lines of text, document)."""
        text = self.run_tool("check", *arguments)
        as_json = self.run_tool("check", *arguments, "--json")
        self.assertEqual(text.returncode, as_json.returncode)
        document = json.loads(as_json.stdout)
        validate(document, "check")
        *lines, summary = text.stdout.decode().splitlines()
        self.assertRegex(summary, f"^{len(document['files'])} files?, (no|{len(lines)}) finding")
        return text.returncode, lines, document

    def test_warnings_fail_with_the_option_strict(self):
        name = self.write_config(SUSPICIOUS)
        code, [line], document = self.check(name)
        self.assertEqual(code, 0)
        self.assertTrue(line.startswith("config.json: warning: "), line)
        self.assertIn("factor 8", line)
        self.assertTrue(document["files"][0]["passed"])
        code, lines, document = self.check(name, "--strict")
        self.assertEqual((code, lines), (1, [line]))
        self.assertFalse(document["files"][0]["passed"])

    def test_each_file_is_checked(self):
        good = self.write_config(LLAMA, "good.json")
        bad = self.write_config("{", "bad.json")
        code, [line], document = self.check(bad, good)
        self.assertEqual(code, 1)
        self.assertTrue(line.startswith("bad.json: error: "), line)
        self.assertEqual([file["passed"] for file in document["files"]], [False, True])

    def test_an_unknown_family_fails_unless_skipped(self):
        name = self.write_config(LLAMA | {"model_type": "never_seen"})
        code, [line], _ = self.check(name)
        self.assertEqual(code, 1)
        self.assertTrue(line.startswith("config.json: unsupported: model_type must be"), line)
        self.assertEqual(self.check(name, "--skip-unsupported")[0], 0)

    def test_a_missing_file_is_a_finding_with_exit_code_4(self):
        code, [line], _ = self.check(self.write_config(LLAMA), "gone.json")
        self.assertEqual(code, 4)
        self.assertTrue(line.startswith("gone.json: error: No such file"), line)

    def test_a_folder_is_checked_through_its_config(self):
        (self.path / "model").mkdir()
        self.write_config(SUSPICIOUS, "model/config.json")
        code, [line], _ = self.check("model", "--strict")
        self.assertEqual(code, 1)
        self.assertTrue(line.startswith("model: warning: "), line)

    def test_a_missing_file_argument_and_two_standard_inputs_are_refused(self):
        self.assert_fails(2, ["FILE is required"], "check")
        self.assert_fails(2, ["once"], "check", "-", "-")

    def checkpoint(self, tensors, others=()):
        """Checks a folder with a config, weights and other files. Returns the exit code and the
        findings without the folder's name."""
        folder = self.path / "model"
        folder.mkdir(exist_ok=True)
        for file in folder.iterdir():
            file.unlink()
        (folder / "config.json").write_text(json.dumps(LLAMA))
        for shard, named in tensors.items():
            save(folder / shard, named)
        for name, content in dict(others).items():
            (folder / name).write_text(json.dumps(content))
        code, lines, _ = self.check("model")
        return code, [line.removeprefix("model: ") for line in lines]

    def test_wrong_frequencies_in_the_weights_are_found(self):
        right = (1e4 ** (-np.arange(8) / 8)).astype(np.float32)
        wrong = (5e5 ** (-np.arange(8) / 8)).astype(np.float32)
        name = "model.layers.{}.self_attn.rotary_emb.inv_freq".format
        self.assertEqual(self.checkpoint({"a.safetensors": {name(0): right, "x": wrong}}), (0, []))
        for numbers, code, part in (
                (wrong, 1, "error: a.safetensors: model.layers.1.self_attn.rotary_emb.inv_freq is "
                 "not the config's: base 10000 -> 500000"),
                (right * 0, 1, "is all zero"), (right * np.nan, 1, "is not finite"),
                (right[::-1].copy(), 1, "falling -> rising"),
                (right.astype(np.float16), 0, "warning: a.safetensors: "),
                (right[:6], 0, "has 6 numbers, as no embedding of the config has")):
            found, [line] = self.checkpoint({"a.safetensors": {name(0): right, name(1): numbers}})
            self.assertEqual(found, code, line)
            self.assertIn(part, line)
        _, [line] = self.checkpoint({"a.safetensors": {name(i): wrong for i in range(12)},
                                     "b.safetensors": {name(12): right}})
        self.assertIn("model.layers.0.self_attn.rotary_emb.inv_freq (and 11 more) is not", line)

    def test_files_that_contradict_the_config_are_found(self):
        params = {"dim": 64, "n_heads": 4, "n_layers": 3, "vocab_size": 9, "norm_eps": 1e-5,
                  "multiple_of": 4}
        self.assertEqual(self.checkpoint({}, {"params.json": params}), (0, []))
        _, [line] = self.checkpoint({}, {"params.json": params | {"rope_theta": 5e5}})
        self.assertIn("error: params.json differs from the config: ", line)
        self.assertIn("base 10000 -> 500000", line)
        code, [line] = self.checkpoint({}, {"tokenizer_config.json": {"model_max_length": 4096}})
        self.assertEqual(code, 0)
        self.assertIn("model_max_length 4096 is beyond the trained context, 2048", line)
        for length in (2048, 10**30, None, "4096"):
            self.assertEqual(
                self.checkpoint({}, {"tokenizer_config.json": {"model_max_length": length}}),
                (0, []))
        code, [line] = self.checkpoint({}, {"a.safetensors": "no weights"})
        self.assertIn("error: a.safetensors: ", line)
        self.assertEqual(code, 1)
