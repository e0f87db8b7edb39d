# SPDX-License-Identifier: Apache-2.0
"""Tests the text, JSON and exit codes of rotary diff."""

import json

import numpy as np

from tool import LLAMA, PARTIAL, YARN, ToolTest, spoilt, validate


# The frequencies of LLAMA, whose heads have 8 pairs.
INV_FREQ = 10000.0 ** (-np.arange(8) / 8)


def rows(inv_freq, tokens=2048, first=0):
    angles = np.outer(np.arange(first, first + tokens), inv_freq)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


class DiffTool(ToolTest):
    def diff(self, *arguments):
        """Returns (exit code, document)."""
        result = self.run_tool("diff", *arguments, "--json")
        document = json.loads(result.stdout)
        validate(document, "diff")
        return result.returncode, document


class ModelsTest(DiffTool):
    def configs(self, one, other):
        return self.write_config(one, "one.json"), self.write_config(other, "other.json")

    def test_overrides_are_merged_as_in_vllm(self):
        one, other = self.configs(LLAMA | {"rope_scaling": YARN["rope_scaling"]}, LLAMA)
        # A dictionary at the top level replaces the config's.
        linear = {"rope_scaling": {"rope_type": "linear", "factor": 4.0}}
        self.configs(LLAMA | linear, LLAMA)
        for config in (LLAMA | {"rope_scaling": YARN["rope_scaling"]}, LLAMA):
            self.write_config(config, "two.json")
            self.assertEqual(self.diff("two.json", one, "--overrides", json.dumps(linear))[0], 0)
        self.assertEqual(self.diff(other, "--overrides", json.dumps(linear))[0], 1)
        # A nested config and its dictionaries are merged.
        outer = {"model_type": "llava", "text_config": LLAMA | linear}
        nested = {"text_config": {"rope_scaling": {"factor": 8.0}}}
        self.write_config(outer, "outer.json")
        code, found = self.diff("outer.json", "--overrides", json.dumps(nested))
        [field] = [each for each in found["rotary"][0]["fields"] if each["effect"] == "rows"]
        self.assertEqual((code, field["one"], field["other"]), (1, "8", "4"))

    def test_unread_overrides_are_named(self):
        one, other = self.configs(LLAMA, LLAMA)
        self.assert_fails(5, ["rope_thet"], "diff", one, other, "--overrides",
                          '{"architectures": ["X"], "rope_thet": 3}')
        result = self.run_tool("diff", one, other, "--overrides",
                               '{"architectures": ["X"], "max_position_embedings": 3}')
        self.assertEqual(result.returncode, 0)
        self.assertIn("max_position_embedings is set, and not read for this model; did you mean "
                      "max_position_embeddings?", result.stderr.decode())
        for text in ("[1]", "{", '{"a.b": 1}', '{"": 1}'):
            self.assert_fails(2, ["--overrides"], "diff", one, "--overrides", text)

    def test_a_key_that_only_one_engine_reads_is_a_difference(self):
        config = self.write_config(LLAMA | {"rope_scaling": YARN["rope_scaling"] |
                                            {"attn_factor": 0.9}})
        code, found = self.diff(config, "--between", "transformers,sglang")
        self.assertEqual((code, found["verdict"]), (1, "different"))
        rules = [[rule["name"] for rule in engine["rules"]] for engine in found["engines"]]
        self.assertEqual(rules, [["engine_keys_unread"], ["attn_factor_read"]])
        self.assertEqual(self.run_tool("inspect", config).returncode, 5)

    def test_a_model_equals_itself(self):
        code, found = self.diff("llama-3.1-8b", "llama-3.1-8b")
        self.assertEqual((code, found["same"], found["fields"]), (0, True, []))
        self.assertEqual(found["context_tokens"], 131072)
        [pair] = found["rotary"]
        self.assertEqual(pair["layers"], list(range(32)))
        self.assertIsNone(pair["rows"]["first_position"])

    def test_another_base_makes_rows_differ_from_position_1(self):
        code, found = self.diff(*self.configs(LLAMA | {"rope_theta": 500000.0}, LLAMA))
        self.assertEqual((code, found["same"]), (1, False))
        [pair] = found["rotary"]
        self.assertEqual(pair["fields"], [{"field": "base", "one": "500000", "other": "10000",
                                           "effect": "rows"}])
        # cos and sin of 500000^(-i/8) and 10000^(-i/8), i = 0 to 7, differ by at most 0.118274.
        self.assertEqual(pair["rows"]["first_position"], 1)
        self.assertAlmostEqual(pair["rows"]["at_first"], 0.118274, 6)

    def test_a_difference_may_show_only_in_a_longer_context(self):
        one, other = self.configs(LLAMA, LLAMA | {"rope_theta": 10000.2})
        code, found = self.diff(one, other, "--context", "500")
        self.assertEqual((code, found["same"]), (0, True))
        code, found = self.diff(one, other, "--context", "100000")
        self.assertEqual((code, found["same"]), (1, False))

    def test_fields_that_change_no_row_do_not_make_models_differ(self):
        same = self.configs(YARN, YARN | {
            "rope_scaling": YARN["rope_scaling"] | {"attention_factor": 1.138629436111989}})
        text = self.run_ok("diff", *same)
        self.assertIn(": the same\n", text)
        self.assertIn("attention_factor", text)
        self.assertNotIn("What differs", text)

    def test_heads_of_different_sizes_are_not_compared_by_rows(self):
        code, found = self.diff(*self.configs(LLAMA, PARTIAL))
        self.assertEqual(code, 1)
        self.assertIsNone(found["rotary"][0]["rows"])
        self.assertIn("no rows in common", found["rotary"][0]["not_comparable"])

    def test_unreadable_files_are_errors_and_not_differences(self):
        self.assert_fails(2, ["standard input"], "diff", "-", "-")


class EnginesTest(DiffTool):
    def test_a_release_that_ignores_yarn_differs(self):
        config = self.write_config(YARN | {"max_position_embeddings": 512})
        code, found = self.diff(config, "--between", "transformers@4.55,transformers")
        self.assertEqual(code, 1)
        [pair] = found["rotary"]
        self.assertIn({"field": "factor", "one": "1", "other": "4", "effect": "rows"},
                      pair["fields"])
        self.assertEqual(pair["rows"]["first_position"], 0)

    def test_diff_of_agreeing_engines_exits_with_0(self):
        self.assertEqual(self.diff(self.config, "--between", "transformers@4.57,vllm")[0], 0)

    def test_kimi_k2_5_has_evidence_for_both_engines(self):
        code, found = self.diff("kimi-k2.5", "--between", "transformers,llama.cpp")
        self.assertEqual([each["evidence"] for each in found["engines"]], ["run", "read"])
        self.assertEqual((code, found["verdict"]), (0, "same"))

    def test_an_engine_without_evidence_gives_the_verdict_unknown(self):
        arguments = self.config, "--between", "transformers@4.46,transformers"
        code, found = self.diff(*arguments)
        self.assertEqual((code, found["same"], found["verdict"]), (7, False, "unknown"))
        self.assertEqual([each["evidence"] for each in found["engines"]], ["none", "run"])
        self.assertEqual(self.diff(*arguments, "--allow-unknown")[0], 0)
        text = self.run_tool("diff", *arguments).stdout.decode()
        self.assertIn("2048 tokens: no difference is known\n", text)
        self.assertIn("evidence: transformers 4.46 was not looked at: 4.45 and 4.48 were\n", text)
        self.assert_fails(2, ["--allow-unknown is for --between"], "diff", self.config, self.config,
                          "--allow-unknown")

    def test_an_engine_that_refuses_the_config_is_a_difference(self):
        config = self.write_config(YARN)
        code, found = self.diff(config, "--between", "transformers@4.40,transformers")
        self.assertEqual((code, found["context_tokens"], found["rotary"]), (1, None, []))
        refusal = "rope_type yarn is unknown to the family's own class"
        self.assertEqual(found["engines"][0]["refusal"], refusal)
        text = self.run_tool("diff", config, "--between", "transformers@4.40,mlx").stdout.decode()
        self.assertIn(f"transformers@4.40: does not run it: {refusal}\n", text)

    def test_a_single_engine_and_an_unknown_engine_are_refused(self):
        self.assert_fails(2, ["--between must name two engines"], "diff", self.config, "--between",
                          "mlx")
        self.assert_fails(2, ["a dialect must be transformers,"], "diff", self.config, "--between",
                          "mlx,tensorrt")


class DumpsTest(DiffTool):
    def save(self, name, **arrays):
        np.savez(self.path / name, **arrays)
        return name

    def test_frequencies_are_compared_with_the_config(self):
        np.save(self.path / "same.npy", INV_FREQ.astype(np.float32))
        self.assertEqual(self.diff(self.config, "same.npy")[0], 0)
        np.save(self.path / "other.npy", 500000.0 ** (-np.arange(8) / 8))
        code, found = self.diff("other.npy", self.config)
        self.assertEqual(code, 1)
        self.assertAlmostEqual(found["rotary"][0]["rows"]["at_first"], 0.118274, 6)

    def test_an_attention_factor_scales_dumped_frequencies(self):
        name = self.save("scaled.npz", inv_freq=INV_FREQ, attention_scaling=np.array(1.25))
        code, found = self.diff(name, self.write_config(LLAMA))
        rows_found = found["rotary"][0]["rows"]
        self.assertEqual((code, rows_found["first_position"], rows_found["at_first"]), (1, 0, 0.25))

    def test_rows_that_hold_each_pair_twice_equal_the_config(self):
        cos, sin = rows(INV_FREQ)
        for form in (lambda x: np.concatenate([x, x], -1)[None], lambda x: np.repeat(x, 2, -1)):
            name = self.save("rows.npz", cos=form(cos), sin=form(sin))
            code, found = self.diff(self.config, name)
            self.assertEqual((code, found["context_tokens"]), (0, 2048))

    def test_rows_that_begin_at_position_1_differ(self):
        cos, sin = rows(INV_FREQ, first=1)
        name = self.save("late.npz", cos=cos, sin=sin)
        code, found = self.diff(self.write_config(LLAMA), name)
        result = found["rotary"][0]["rows"]
        self.assertEqual((code, result["first_position"]), (1, 0))
        self.assertAlmostEqual(result["at_first"], np.sin(1), 6)

    def test_two_dumps_of_rows_are_compared(self):
        np.save(self.path / "one.npy", np.stack(rows(INV_FREQ)))
        cos, sin = rows(INV_FREQ / 8)
        np.save(self.path / "other.npy", (cos + 1j * sin).astype(np.complex64))
        code, found = self.diff("one.npy", "other.npy")
        self.assertEqual(code, 1)
        result = found["rotary"][0]["rows"]
        self.assertEqual((result["first_position"], result["pairs"]), (1, list(range(8))))
        apart = np.abs(np.stack(rows(INV_FREQ)) - np.stack([cos, sin])).max((0, 2))
        self.assertAlmostEqual(result["at_first"], float(apart[1]), 7)  # a difference of float32

    def test_unusable_arrays_are_refused(self):
        (self.path / "bad.npz").write_bytes(b"PK but no archive")
        self.assert_fails(3, ["bad.npz: must be a zip archive of .npy files"], "diff", self.config,
                          "bad.npz")
        whole = (self.path / self.save("zip64.npz", inv_freq=INV_FREQ)).read_bytes()
        end = whole.rindex(b"PK\5\6")
        locator = b"PK\6\7" + bytes(16)
        (self.path / "zip64.npz").write_bytes(whole[:end] + locator + whole[end:])
        self.assert_fails(3, ["zip64.npz: ", "got one with a zip64 directory"], "diff", self.config,
                          "zip64.npz")
        zeros = np.zeros((1 << 12, 1 << 10), np.float32)
        np.savez_compressed(self.path / "zeros.npz", cos=zeros, sin=zeros)
        self.assert_fails(3, ["an entry that unpacks to more than 4 MiB and 64 times the archive"],
                          "diff", self.config, "zeros.npz")
        name = self.save("long.npz", inv_freq=np.ones(32769))
        self.assert_fails(5, ["long.npz: inv_freq: the array must have at most 32768 elements "
                              "here, got the shape [32769]"], "diff", self.config, name)
        name = self.save("half.npz", cos=np.ones((4, 8)))
        self.assert_fails(2, ["inv_freq, or cos and sin"], "diff", self.config, name)
        np.save(self.path / "four.npy", INV_FREQ[:4])
        self.assert_fails(2, ["as many pairs, got 8 and 4"], "diff", self.config, "four.npy")
        np.save(self.path / "flat.npy", np.ones((3, 4)))
        self.assert_fails(2, ["[pairs], or cos and sin"], "diff", self.config, "flat.npy")

    def refuses(self, name, array, one, other):
        """Yields copies of the array with one element spoilt. The caller saves each as `name`; then
        diff must refuse the element."""
        for index, value, spoiled in spoilt(array):
            with self.subTest(name=name, index=index, value=value):
                yield spoiled
                self.assert_fails(3, [f"{name} must have finite numbers of float32's range, got "
                                      f"{value} at {index}"], "diff", one, other)

    def test_no_element_may_be_nan_or_infinite(self):
        cos, sin = rows(INV_FREQ, tokens=2)
        forms = INV_FREQ, np.stack([cos, sin]), (cos + 1j * sin).astype(np.complex64)
        for array in forms:
            for spoiled in self.refuses("bad.npy", array, self.config, "bad.npy"):
                np.save(self.path / "bad.npy", spoiled)
        self.assert_fails(3, ["bad.npy must have finite"], "diff", "bad.npy", "bad.npy")

    def test_no_element_of_an_archive_may_be_nan_or_infinite(self):
        cos, sin = rows(INV_FREQ, tokens=2)
        for arrays in ({"cos": cos, "sin": sin},
                       {"cos": np.tile(cos, 2), "sin": np.tile(sin, 2)},
                       {"inv_freq": INV_FREQ, "attention_scaling": np.array(1.0)}):
            for name, array in arrays.items():
                for spoiled in self.refuses(f"bad.npz: {name}", array, "bad.npz", self.config):
                    self.save("bad.npz", **arrays | {name: spoiled})
        self.assert_fails(3, ["bad.npz: attention_scaling must"], "diff", self.config, "bad.npz")

    def test_numbers_whose_products_overflow_are_refused(self):
        for value in (1e39, 1e300, -1e300):
            np.save(self.path / "far.npy", np.full((2, 3, 8), value))
            self.assert_fails(3, [f"got {value:g} at [0, 0, 0]"], "diff",
                              self.write_config(LLAMA), "far.npy")
