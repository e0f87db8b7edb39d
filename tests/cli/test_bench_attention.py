# SPDX-License-Identifier: Apache-2.0
"""Tests the output of `rotary bench attention` for tiny runs. No check depends on a time."""

import json

from test_bench import run_on_terminal
from tool import ToolTest, validate

TINY = ["bench", "attention", "--seconds", "0.0001"]
SMALL = [*TINY, "--heads", "2", "--head-dim", "8"]
USUAL = ["none", "rope", "alibi", "t5", "kerple_log", "fire", "sandwich", "shaw_keys", "shaw"]


class BenchAttentionTest(ToolTest):
    def run_report(self, *arguments):
        return self.run_json("bench-attention", *arguments)

    def test_every_usual_encoding_is_verified_and_timed(self):
        document = self.run_report(*SMALL, "--tokens", "3,20", "--decode", "9")
        groups = document["groups"]
        self.assertEqual([(each["step"], each["queries"], each["keys"]) for each in groups],
                         [("prefill", 3, 3), ("prefill", 20, 20), ("decode", 1, 9)])
        for group in groups:
            self.assertGreaterEqual(group["rounds"], 7)
            pairs = group["queries"] * (group["queries"] + 1) / 2
            pairs = pairs if group["step"] == "prefill" else group["keys"]
            self.assertEqual(group["operations"], 4 * pairs * 2 * 8)
            self.assertEqual(group["cache_bytes"], 2 * group["keys"] * 2 * 8 * 4)
            self.assertEqual(group["scores_bytes"], 2 * group["queries"] * group["keys"] * 4)
            self.assertEqual([line["encoding"] for line in group["lines"]], USUAL)
            self.check_lines(group)

    def test_the_environment_chooses_how_keys_are_prefetched(self):
        for way in ("lines", "pages"):
            text = self.run_ok(*SMALL, "--decode", "9", "--encodings", "none",
                               environment={"ROTARY_KEY_FETCHING": way})
            self.assertIn(f"prefetch keys by {way}", text)
        self.assert_fails(5, ["ROTARY_KEY_FETCHING must be lines or pages"], *SMALL,
                          "--decode", "9", environment={"ROTARY_KEY_FETCHING": "bytes"})

    def check_lines(self, group):
        work = group["operations" if group["step"] == "prefill" else "cache_bytes"]
        base = group["lines"][0]
        self.assertEqual(base["ratio"], 1)
        for line in group["lines"]:
            self.assertAlmostEqual(line["ratio"], line["ns_per_call"] / base["ns_per_call"])
            self.assertAlmostEqual(line["of_roofline"],
                                   work / line["ns_per_call"] / group["roofline_per_ns"])
            self.assertIsNone(line["goal"])
            self.assertGreater(line["verified"]["elements"], 0)

    def test_chosen_encodings_run_once_beside_the_baseline_none(self):
        shape = ["--heads", "6", "--kv-heads", "3", "--head-dim", "16", "--dtype", "bf16"]
        document = self.run_report(*TINY, *shape, "--tokens", "8",
                                   "--encodings", "kerple_power,rope,kerple_power")
        [group] = document["groups"]
        self.assertEqual([line["encoding"] for line in group["lines"]],
                         ["none", "kerple_power", "rope"])
        self.assertEqual(document["dtype"], "bf16")
        self.assertEqual((document["query_heads"], document["key_heads"], document["head_dim"]),
                         (6, 3, 16))
        self.assertEqual(group["cache_bytes"], 2 * 8 * 3 * 16 * 2)
        self.assertEqual((group["operations"], group["scores_bytes"]), (4 * 36 * 96, 6 * 8 * 8 * 4))

    def test_several_threads_are_compared_with_one(self):
        arguments = [*SMALL, "--tokens", "40", "--encodings", "rope", "--threads", "1,3"]
        one, three = self.run_report(*arguments)["groups"]
        self.assertEqual([(each["threads"], each["clock"]) for each in (one, three)],
                         [(1, "thread_cpu"), (3, "steady")])
        self.assertEqual(one["speedup"], 1)
        self.assertGreater(three["speedup"], 0)
        for group in (one, three):
            self.check_lines(group)
        text = self.run_ok(*arguments)
        self.assertIn("prefill of 40 tokens, one thread; ", text)
        self.assertRegex(text, r"prefill of 40 tokens, 3 threads, \d+\.\d\d times as fast as one; ")
        decode = self.run_ok(*SMALL, "--decode", "9", "--encodings", "none", "--threads", "2")
        self.assertIn("decode, one query and 9 keys, 2 threads, ", decode)

    def test_memory_grows_more_slowly_than_the_scores(self):
        document = self.run_report(*SMALL, "--tokens", "600,1200", "--encodings", "rope")
        first, second = document["groups"]
        self.assertEqual(second["scores_bytes"], 4 * first["scores_bytes"])
        for before, after in zip(first["lines"], second["lines"]):
            self.assertLess(after["memory_bytes"], 2 * before["memory_bytes"])

    def test_the_table_shows_ratios_and_goals(self):
        text = self.run_ok(*SMALL, "--tokens", "512", "--encodings", "rope,fire")
        self.assertIn("prefill of 512 tokens, one thread; multiply-adds in registers: ", text)
        self.assertRegex(text, r"\n  rope +\d+\.\d{3}  <= 1\.03 (met|MISSED|busy) ")
        self.assertRegex(text, r"\n[01] of 1 goals met\n")
        for line in text.splitlines():
            self.assertLessEqual(len(line), 132, line)

    def test_the_json_can_go_to_a_file(self):
        tiny = [*SMALL, "--tokens", "2", "--encodings", "none", "--out", "attention.json"]
        self.assertIn("goals met", self.run_ok(*tiny))
        validate(json.loads((self.path / "attention.json").read_text()), "bench-attention")

    def test_wrong_arguments_are_refused(self):
        for arguments, part in [
            (["--encodings", "bogus"], "--encodings must be one of none, rope, alibi, "),
            (["--tokens", "0"], "--tokens must be in [1, 65536], got 0"),
            (["--decode", "1048577"], "--decode must be in [1, 1048576], got 1048577"),
            (["--heads", "8", "--kv-heads", "3"], "--heads must be a multiple of --kv-heads, got"),
            (["--kv-heads", "9"], "--kv-heads must be in [1, 8], got 9"),
            (["--head-dim", "0"], "--head-dim must be in [1, 1024], got 0"),
            (["--threads", "0"], "--threads must be in [1, 1024], got 0"),
            (["--seconds", "61"], "--seconds must be in (0, 60], got 61"),
            (["--tokens", "4096", "--memory", "1"], "must fit in 1 MiB (--memory, or half of what"),
        ]:
            with self.subTest(arguments=arguments):
                self.assert_fails(2, [part], "bench", "attention", *arguments)
        self.assert_fails(2, ["options of attention must come after its name, got --tokens"],
                          "bench", "--tokens", "1", "attention")
        odd = ["--head-dim", "7", "--encodings", "rope", "--tokens", "1"]
        self.assert_fails(2, ["prefill of 1 tokens: ", "even"], "bench", "attention", *odd)
        self.assert_fails(5, ["one of", "got 'BOGUS'"],
                          "bench", "attention", "--instruction-set", "BOGUS")

    def test_progress_is_shown_only_on_a_terminal(self):
        code, shown = run_on_terminal("bench", "attention", "--tokens", "64", "--encodings", "none",
                                      "--seconds", "1.5")
        self.assertEqual(code, 0)
        self.assertRegex(shown, rb"rotary bench attention +\d+ %")
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown)
        self.assertEqual(self.run_tool(*SMALL, "--tokens", "2").stderr, b"")
