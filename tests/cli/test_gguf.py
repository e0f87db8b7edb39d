# SPDX-License-Identifier: Apache-2.0
"""GGUF files where commands take a config: the vocabulary files of tests/golden/gguf."""

import json
import pathlib
import shutil

import numpy as np

from tool import LLAMA, ToolTest, validate

FILES = pathlib.Path(__file__).resolve().parents[1] / "golden/gguf"


class GgufTest(ToolTest):
    def setUp(self):
        super().setUp()
        shutil.copy(FILES / "vocab-llama-bpe.gguf", self.path / "llama.gguf")

    def inspected(self, name):
        document = json.loads(self.run_ok("inspect", "--json", name))
        validate(document, "inspect")
        return document

    def test_every_file_is_inspected(self):
        files = sorted(FILES.glob("*.gguf"))
        self.assertEqual(len(files), 19)
        for file in files:
            with self.subTest(file=file.name):
                self.assertIsNotNone(self.inspected(file)["gguf"])
                self.run_ok("inspect", file)

    def test_inspect_says_whose_pairing_it_is(self):
        text = self.run_ok("inspect", "llama.gguf")
        self.assertIn("the pairing is that of this file's q and k (rope type norm)", text)
        self.assertIn("the checkpoint's is half: llama.cpp's converter permutes rows", text)
        self.assertIn("not in GGUF       whether the checkpoint has dynamic NTK scaling", text)
        self.assertIn("Not stated by the file:", text)
        document = self.inspected("llama.gguf")
        self.assertEqual(document["gguf"]["rows"], "permuted")
        self.assertEqual(document["gguf"]["checkpoint_pairing"], "half")
        self.assertEqual(document["rotary"][0]["pairing"], "interleaved")
        self.assertEqual(document["rotary"][0]["base"], 500000)
        self.write_config(LLAMA)
        self.assertIsNone(self.inspected("config.json")["gguf"])

    def test_a_pipe_and_a_redirected_file(self):
        expected = self.run_ok("inspect", "llama.gguf")
        whole = (self.path / "llama.gguf").read_bytes()
        self.assertEqual(self.run_ok("inspect", "-", stdin=whole), expected)

    def test_table_and_rotate(self):
        self.assertIn("0.841470", self.run_ok("table", "llama.gguf", "--positions", "0:4"))
        q = np.zeros((1, 2, 128), np.float32)
        q[:, :, 0] = 1
        np.save(self.path / "q.npy", q)
        self.run_ok("rotate", "--config", "llama.gguf", "--layout", "thd", "--q", "q.npy",
                    "--out-q", "out.npy", "--first-position", "1")
        out = np.load(self.path / "out.npy")
        self.assertAlmostEqual(out[0, 0, 1], np.sin(1), places=6)  # neighbours turn together

    def test_explain_plot_and_report(self):
        self.assertIn("llama.rope.freq_base", self.run_ok("explain", "llama.gguf"))
        numbers = self.run_ok("plot", "wavelengths", "llama.gguf", "--csv")
        self.assertIn("llama.gguf,63,2559195.5", numbers)
        self.run_ok("report", "llama.gguf", FILES / "vocab-gemma-4.gguf", "-o", "page.html")
        self.assertIn("llama.rope.freq_base", (self.path / "page.html").read_text())

    def test_diff_beside_the_config(self):
        pairs = sorted((FILES / "pairs").glob("*.gguf"))
        self.assertGreaterEqual(len(pairs), 12)
        for file in pairs:
            with self.subTest(file=file.name):
                result = self.run_tool("diff", file.with_suffix(".json"), file, "--json")
                document = json.loads(result.stdout)
                validate(document, "diff")
                differs = file.stem == "gpt-oss"  # YaRN's ramp, for which there is no key
                self.assertEqual(result.returncode, 1 if differs else 0, document)
        text = self.run_ok("diff", FILES / "pairs/llama.json", FILES / "pairs/llama.gguf")
        self.assertIn("permuted by the converter, interleaved", text)

    def test_engines_read_configs_alone(self):
        result = self.run_tool("diff", "llama.gguf", "--between", "transformers,llama.cpp")
        self.assertEqual(result.returncode, 2)
        self.assertIn("llama.gguf is a GGUF file", result.stderr.decode())

    def test_check(self):
        self.assertEqual(self.run_ok("check", "llama.gguf", "--strict"), "1 file, no findings\n")
        whole = (self.path / "llama.gguf").read_bytes()
        (self.path / "short.gguf").write_bytes(whole[:100])
        result = self.run_tool("check", "llama.gguf", "short.gguf")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout.decode(), r"^short.gguf: error: GGUF: .* \(byte \d+\)\n"
                         "2 files, 1 finding, 1 failing\n$")

    def test_options_of_configs_are_refused(self):
        for option, value in (("--pairing", "half"), ("--set", "rope_theta=1"),
                              ("--part", "vision"), ("--numerics", "transformers")):
            with self.subTest(option=option):
                result = self.run_tool("inspect", "llama.gguf", option, value)
                self.assertEqual(result.returncode, 2)
                self.assertIn(f"{option}", result.stderr.decode())
                self.assertIn("llama.gguf is a GGUF file", result.stderr.decode())
        text = self.run_ok("inspect", "llama.gguf", "--numerics", "ggml", "--context", "4096")
        self.assertIn("ggml", text)

    def test_bad_files(self):
        whole = (self.path / "llama.gguf").read_bytes()
        (self.path / "short.gguf").write_bytes(whole[:100])
        result = self.run_tool("inspect", "short.gguf")
        self.assertEqual(result.returncode, 3)
        self.assertRegex(result.stderr.decode(), r"short.gguf: GGUF: .* \(byte \d+\)")
        other = whole.replace(b"llama", b"lxama")
        (self.path / "other.gguf").write_bytes(other)
        result = self.run_tool("inspect", "other.gguf")
        self.assertEqual(result.returncode, 5)
        self.assertIn("must be one of the 153 that llama.cpp has at 0c1e5709, got 'lxama'; did "
                      "you mean llama?", result.stderr.decode())
