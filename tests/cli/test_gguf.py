# SPDX-License-Identifier: Apache-2.0
"""Commands read GGUF files in place of configs: the vocabulary files of tests/golden/gguf."""

import json
import pathlib
import shutil

import numpy as np

from gguf_files import encoded, llama
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

    def test_inspect_names_the_pairings_of_file_and_checkpoint(self):
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

    def test_standard_input_gives_the_answer_of_the_file(self):
        expected = self.run_ok("inspect", "llama.gguf")
        whole = (self.path / "llama.gguf").read_bytes()
        self.assertEqual(self.run_ok("inspect", "-", stdin=whole), expected)

    def test_table_and_rotate_read_gguf_files(self):
        self.assertIn("0.841470", self.run_ok("table", "llama.gguf", "--positions", "0:4"))
        q = np.zeros((1, 2, 128), np.float32)
        q[:, :, 0] = 1
        np.save(self.path / "q.npy", q)
        self.run_ok("rotate", "--config", "llama.gguf", "--layout", "thd", "--q", "q.npy",
                    "--out-q", "out.npy", "--first-position", "1")
        out = np.load(self.path / "out.npy")
        self.assertAlmostEqual(out[0, 0, 1], np.sin(1), places=6)  # neighbours turn together

    def test_explain_plot_and_report_read_gguf_files(self):
        self.assertIn("llama.rope.freq_base", self.run_ok("explain", "llama.gguf"))
        numbers = self.run_ok("plot", "wavelengths", "llama.gguf", "--csv")
        self.assertIn("llama.gguf,63,2559195.5", numbers)
        self.run_ok("report", "llama.gguf", FILES / "vocab-gemma-4.gguf", "-o", "page.html")
        self.assertIn("llama.rope.freq_base", (self.path / "page.html").read_text())

    def test_converted_files_agree_with_their_configs(self):
        pairs = sorted((FILES / "pairs").glob("*.gguf"))
        self.assertGreaterEqual(len(pairs), 12)
        for file in pairs:
            with self.subTest(file=file.name):
                result = self.run_tool("diff", file.with_suffix(".json"), file, "--json")
                document = json.loads(result.stdout)
                validate(document, "diff")
                differs = file.stem == "gpt-oss"  # GGUF has no key for YaRN's ramp
                self.assertEqual(result.returncode, 1 if differs else 0, document)
        text = self.run_ok("diff", FILES / "pairs/llama.json", FILES / "pairs/llama.gguf")
        self.assertIn("permuted by the converter, interleaved", text)

    def test_engines_refuse_gguf_files(self):
        result = self.run_tool("diff", "llama.gguf", "--between", "transformers,llama.cpp")
        self.assertEqual(result.returncode, 2)
        self.assertIn("llama.gguf is a GGUF file", result.stderr.decode())

    def test_check_accepts_a_whole_file_and_reports_a_truncated_one(self):
        self.assertEqual(self.run_ok("check", "llama.gguf", "--strict"), "1 file, no findings\n")
        whole = (self.path / "llama.gguf").read_bytes()
        (self.path / "short.gguf").write_bytes(whole[:100])
        result = self.run_tool("check", "llama.gguf", "short.gguf")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout.decode(), r"^short.gguf: error: GGUF: .* \(byte \d+\)\n"
                         "2 files, 1 finding, 1 failing\n$")

    def test_options_of_configs_are_refused(self):
        for option, value in (("--pairing", "half"), ("--key", "rope_theta=x"),
                              ("--part", "vision"), ("--numerics", "transformers"),
                              ("--overrides", '{"rope_theta": 1}')):
            with self.subTest(option=option):
                result = self.run_tool("inspect", "llama.gguf", option, value)
                self.assertEqual(result.returncode, 2)
                self.assertIn(f"{option}", result.stderr.decode())
                self.assertIn("llama.gguf is a GGUF file", result.stderr.decode())
        text = self.run_ok("inspect", "llama.gguf", "--numerics", "ggml", "--context", "4096")
        self.assertIn("ggml", text)

    def test_flags_change_a_files_answers(self):
        flags = "--rope-scaling yarn --rope-scale 4 --yarn-orig-ctx 8192"
        document = json.loads(self.run_ok("inspect", "llama.gguf", "--flags", flags, "--json"))
        validate(document, "inspect")
        self.assertEqual(document["rotary"][0]["scaling"]["factor"], 4)
        self.assertEqual(document["rotary"][0]["trained_context_tokens"], 32768)
        halved = self.run_ok("table", "llama.gguf", "--positions", "4", "--flags",
                             "--rope-freq-scale 0.5")
        at_two = self.run_ok("table", "llama.gguf", "--positions", "2")
        self.assertEqual([line.split()[1:] for line in halved.splitlines()],
                         [line.split()[1:] for line in at_two.splitlines()])
        base = self.run_ok("inspect", "llama.gguf", "--flags", "--rope-freq-base 1e6 -c 4096")
        self.assertIn("base              1000000 [asked]", base)
        key = self.run_ok("inspect", "llama.gguf", "--set", "rope.freq_base=1e6")
        self.assertIn("base              1000000\n", key)

    def test_diff_compares_a_file_with_itself_under_flags(self):
        result = self.run_tool("diff", "llama.gguf", "--flags", "--rope-scale 2")
        self.assertEqual(result.returncode, 1)
        self.assertIn("llama.gguf (changed) and llama.gguf", result.stdout.decode())
        self.run_ok("diff", "llama.gguf", "--flags", "--rope-scale 1")
        self.write_config(LLAMA)
        pair = FILES / "pairs/qwen2"
        scaled = json.loads(pair.with_suffix(".json").read_text())["rope_parameters"]
        scaled = json.dumps({"rope_parameters": scaled | {"rope_type": "linear", "factor": 2}})
        self.run_ok("diff", pair.with_suffix(".json"), pair.with_suffix(".gguf"),
                    "--overrides", scaled, "--flags", "--rope-scale 2")
        other = self.run_tool("diff", pair.with_suffix(".gguf"), pair.with_suffix(".gguf"),
                              "--flags", "--rope-scale 2")
        self.assertEqual(other.returncode, 1)  # --flags change only the first file

    def test_wrong_flags_are_refused(self):
        for flags, words in (("--rope-scael 2", "did you mean --rope-scale?"),
                             ("--rope-scale", "must have a value after --rope-scale"),
                             ("rope-scale 2", "names and values"),
                             ("--rope-scaling dynamic", "must be none, linear or yarn")):
            with self.subTest(flags=flags):
                result = self.run_tool("inspect", "llama.gguf", "--flags", flags)
                self.assertEqual(result.returncode, 2)
                self.assertIn(words, result.stderr.decode())
        self.write_config(LLAMA)
        for call in (["inspect", "config.json"], ["diff", "config.json", "config.json"],
                     ["diff", "config.json", "--between", "vllm,mlx"]):
            result = self.run_tool(*call, "--flags", "--rope-scale 2")
            self.assertEqual(result.returncode, 2, call)
            self.assertIn("a GGUF file", result.stderr.decode())

    def test_check_names_unread_keys(self):
        keys = llama(rope__wobble_factor=3.0)
        (self.path / "odd.gguf").write_bytes(encoded(keys))
        result = self.run_tool("check", "odd.gguf", "--strict")
        self.assertEqual(result.returncode, 1)
        self.assertIn("odd.gguf: warning: llama.rope.wobble_factor is not read",
                      result.stdout.decode())
        for call in (["inspect", "odd.gguf"], ["diff", "odd.gguf", "llama.gguf"]):
            self.assertIn("llama.rope.wobble_factor", self.run_tool(*call).stderr.decode())

    def test_truncated_and_unknown_files_are_refused(self):
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
