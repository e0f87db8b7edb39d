# SPDX-License-Identifier: Apache-2.0
"""Tests commands that read a GGUF file of tests/golden/gguf in place of a config."""

import json
import pathlib
import shutil

import numpy as np

from gguf_files import encoded, llama
from tool import ToolTest

FILES = pathlib.Path(__file__).resolve().parents[1] / "golden/gguf"


class GgufTest(ToolTest):
    def setUp(self):
        super().setUp()
        shutil.copy(FILES / "vocab-llama-bpe.gguf", self.path / "llama.gguf")

    def inspected(self, *arguments):
        return self.run_json("inspect", "inspect", *arguments)

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
        self.assertIsNone(self.inspected("config.json")["gguf"])

    def test_standard_input_gives_the_answer_of_the_file(self):
        expected = self.run_ok("inspect", "llama.gguf")
        whole = (self.path / "llama.gguf").read_bytes()
        self.assertEqual(self.run_ok("inspect", "-", stdin=whole), expected)

    def test_table_and_rotate_read_gguf_files(self):
        self.assertIn("0.841470", self.run_ok("table", "llama.gguf", "--positions", "0:4"))
        q = np.zeros((1, 2, 128), np.float32)
        q[:, :, 0] = 1
        self.save("q.npy", q)
        self.run_ok("rotate", "--config", "llama.gguf", "--layout", "thd", "--q", "q.npy",
                    "--out-q", "out.npy", "--first-position", "1")
        # The file pairs neighbouring features.
        self.assertAlmostEqual(self.load("out.npy")[0, 0, 1], np.sin(1), places=6)

    def test_explain_plot_and_report_read_gguf_files(self):
        self.assertIn("llama.rope.freq_base", self.run_ok("explain", "llama.gguf"))
        numbers = self.run_ok("plot", "wavelengths", "llama.gguf", "--csv")
        self.assertIn("llama.gguf,63,2559195.5", numbers)
        self.run_ok("report", "llama.gguf", FILES / "vocab-gemma-4.gguf", "-o", "page.html")
        self.assertIn("llama.rope.freq_base", (self.path / "page.html").read_text())

    def test_a_converted_file_agrees_with_its_config(self):
        text = self.run_ok("diff", FILES / "pairs/llama.json", FILES / "pairs/llama.gguf")
        self.assertIn("permuted by the converter, interleaved", text)

    def test_a_diff_between_engines_refuses_gguf_files(self):
        self.assert_fails(2, ["llama.gguf is a GGUF file"], "diff", "llama.gguf", "--between",
                          "transformers,llama.cpp")

    def test_check_accepts_a_complete_file_and_reports_a_truncated_one(self):
        self.assertEqual(self.run_ok("check", "llama.gguf", "--strict"), "1 file, no findings\n")
        whole = (self.path / "llama.gguf").read_bytes()
        (self.path / "short.gguf").write_bytes(whole[:100])
        self.assertRegex(self.run_ok("check", "llama.gguf", "short.gguf", code=1),
                         r"^short.gguf: error: GGUF: .* \(byte \d+\)\n"
                         "2 files, 1 finding, 1 failing\n$")

    def test_options_for_configs_are_refused_with_gguf_files(self):
        for option, value in (("--pairing", "half"), ("--key", "rope_theta=x"),
                              ("--part", "vision"), ("--numerics", "transformers"),
                              ("--overrides", '{"rope_theta": 1}')):
            with self.subTest(option=option):
                self.assert_fails(2, [option, "llama.gguf is a GGUF file"], "inspect",
                                  "llama.gguf", option, value)
        text = self.run_ok("inspect", "llama.gguf", "--numerics", "ggml", "--context", "4096")
        self.assertIn("ggml", text)

    def test_flags_change_the_answers_for_a_file(self):
        flags = "--rope-scaling yarn --rope-scale 4 --yarn-orig-ctx 8192"
        document = self.inspected("llama.gguf", "--flags", flags)
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

    def test_explain_tries_keys_beside_flags(self):
        flags = ["--flags", "--rope-freq-base 77777"]
        document = self.run_json("explain", "explain", "llama.gguf", *flags)
        uses = {key["path"]: key["use"] for key in document["keys"]}
        self.assertEqual(uses["llama.rope.freq_base"], "unread")
        text = self.run_ok("explain", "llama.gguf", *flags)
        self.assertIn("base 77777", text)

    def test_diff_compares_a_file_with_itself_changed_by_flags(self):
        text = self.run_ok("diff", "llama.gguf", "--flags", "--rope-scale 2", code=1)
        self.assertIn("llama.gguf (changed) and llama.gguf", text)
        self.run_ok("diff", "llama.gguf", "--flags", "--rope-scale 1")
        pair = FILES / "pairs/qwen2"
        scaled = json.loads(pair.with_suffix(".json").read_text())["rope_parameters"]
        scaled = json.dumps({"rope_parameters": scaled | {"rope_type": "linear", "factor": 2}})
        self.run_ok("diff", pair.with_suffix(".json"), pair.with_suffix(".gguf"),
                    "--overrides", scaled, "--flags", "--rope-scale 2")
        self.run_ok("diff", pair.with_suffix(".gguf"), pair.with_suffix(".gguf"), "--flags",
                    "--rope-scale 2", code=1)  # --flags changes only the first file

    def test_unusable_flags_are_refused(self):
        for flags, words in (("--rope-scael 2", "did you mean --rope-scale?"),
                             ("--rope-scale", "must have a value after --rope-scale"),
                             ("rope-scale 2", "names and values"),
                             ("--rope-scaling dynamic", "must be none, linear or yarn")):
            with self.subTest(flags=flags):
                self.assert_fails(2, [words], "inspect", "llama.gguf", "--flags", flags)
        for call in (["inspect", "config.json"], ["diff", "config.json", "config.json"],
                     ["diff", "config.json", "--between", "vllm,mlx"]):
            self.assert_fails(2, ["a GGUF file"], *call, "--flags", "--rope-scale 2")

    def test_check_names_unread_keys(self):
        keys = llama(rope__wobble_factor=3.0)
        (self.path / "odd.gguf").write_bytes(encoded(keys))
        self.assertIn("odd.gguf: warning: llama.rope.wobble_factor is not read",
                      self.run_ok("check", "odd.gguf", "--strict", code=1))
        for call in (["inspect", "odd.gguf"], ["diff", "odd.gguf", "llama.gguf"]):
            self.assertIn("llama.rope.wobble_factor", self.run_tool(*call).stderr.decode())

    def test_truncated_and_unknown_files_are_refused(self):
        whole = (self.path / "llama.gguf").read_bytes()
        (self.path / "short.gguf").write_bytes(whole[:100])
        self.assert_fails(3, ["short.gguf: GGUF: ", "(byte "], "inspect", "short.gguf")
        (self.path / "other.gguf").write_bytes(whole.replace(b"llama", b"lxama"))
        self.assert_fails(5, ["must be one of the 153 that llama.cpp has at 0c1e5709, got 'lxama'; "
                              "did you mean llama?"], "inspect", "other.gguf")
