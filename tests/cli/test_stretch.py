# SPDX-License-Identifier: Apache-2.0
"""Tests that the settings of stretch resolve to the frequencies of the papers' formulas."""

import json
import re

import numpy as np

from tool import LLAMA, TWO_TYPES, YARN, ToolTest


def plain(base, dim):
    return base ** (-np.arange(0, dim, 2) / dim)


def yarn(base, dim, factor, original):
    """Follows YaRN's code: a ramp from the pair with 32 turns to the pair with one turn."""
    pair_of = [dim * np.log(original / (turns * 2 * np.pi)) / (2 * np.log(base))
               for turns in (32, 1)]
    low, high = max(np.floor(pair_of[0]), 0), min(np.ceil(pair_of[1]), dim - 1)
    ramp = np.clip((np.arange(dim // 2) - low) / max(high - low, 0.001), 0, 1)
    return plain(base, dim) * (1 - ramp + ramp / factor)


def merged(config, members):
    for key, value in members.items():
        is_nested = isinstance(value, dict) and isinstance(config.get(key), dict)
        config = config | {key: merged(config[key], value) if is_nested else value}
    return config


class StretchTest(ToolTest):
    def stretch(self, config, tokens, *options):
        return self.run_json("stretch", "stretch", self.write_config(config), tokens, *options)

    def rates(self, config, tokens):
        document = self.run_json("inspect", "inspect", self.write_config(config), "--context",
                                 tokens)
        return [np.array(rotary["inv_freq"]) for rotary in document["rotary"]]

    def test_candidates_have_the_frequencies_of_their_formulas(self):
        tokens, factor, dim, base = 8192, 4, 16, 10000.0
        wanted = {
            "yarn": yarn(base, dim, factor, 2048),
            "dynamic": plain(base * (factor * 4 - (factor - 1)) ** (dim / (dim - 2)), dim),
            "ntk": plain(base * factor ** (dim / (dim - 2)), dim),
            "linear": plain(base, dim) / factor,
        }
        candidates = self.stretch(LLAMA, tokens)["candidates"]
        self.assertEqual([each["rule"] for each in candidates], list(wanted))
        for each in candidates:
            [rates] = self.rates(merged(LLAMA, each["settings"]), tokens)
            np.testing.assert_allclose(rates, wanted[each["rule"]], rtol=1e-12)
            moved = np.abs(rates - plain(base, dim))
            self.assertEqual(each["rotary"][0]["changed_pairs"], np.sum(moved > 1e-12))
            self.assertAlmostEqual(each["rotary"][0]["largest_angle_change"], np.max(moved))
        grown = candidates[0]["rotary"][0]["score_factor"]
        self.assertAlmostEqual(grown, (0.1 * np.log(factor) + 1) ** 2)

    def test_flags_of_engines_give_the_frequencies_of_the_settings(self):
        inner = {"text_config": LLAMA | {"partial_rotary_factor": 0.5, "model_type": "glm"},
                 "model_type": "llava"}
        for config in (LLAMA, YARN, TWO_TYPES, inner):
            for candidate in self.stretch(config, 10**6)["candidates"]:
                self.assertIsNone(candidate["refusal"])
                settings = candidate["settings"]
                part = {"text_config": settings} if config is inner else settings
                wanted = self.rates(merged(config, part), 10**6)
                flags = {each["engine"]: each["flags"] for each in candidate["engines"]}
                for engine in ("vllm", "sglang"):
                    given = json.loads(re.search("'(.*)'", flags[engine])[1])
                    got = self.rates(merged(config, given), 10**6)
                    np.testing.assert_array_equal(got, wanted)
                if flags["llama.cpp"]:
                    self.assertTrue(flags["llama.cpp"].endswith("-c 1000000"))

    def test_a_trained_rule_gets_a_larger_factor(self):
        document = self.stretch(YARN, 2**20)
        [candidate] = document["candidates"]
        before = YARN["rope_scaling"]
        after = candidate["settings"]["rope_scaling"]
        held = document["trained_context_tokens"]
        self.assertEqual(held, before["factor"] * before["original_max_position_embeddings"])
        self.assertEqual(after["factor"], before["factor"] * 2**20 / held)
        self.assertIn("trained with rope_type yarn", document["remark"])

    def test_published_settings_are_marked(self):
        for card, original in (("qwen2.5-7b", 32768), ("qwen3-4b", 32768)):
            first = self.run_json("stretch", "stretch", card, 131072)["candidates"][0]
            self.assertIn("model cards of Qwen", first["published"])
            self.assertEqual(first["settings"]["rope_scaling"],
                             {"rope_type": "yarn", "factor": 4.0,
                              "original_max_position_embeddings": original})
        beyond = self.run_json("stretch", "stretch", "qwen2.5-7b", 262144)["candidates"][0]
        self.assertIsNone(beyond["published"])

    def test_a_remark_names_engines_that_compute_something_else(self):
        candidates = self.run_json("stretch", "stretch", "qwen2.5-7b", 131072)["candidates"]
        remarks = {(each["rule"], engine["engine"]): engine["remark"]
                   for each in candidates for engine in each["engines"]}
        self.assertIn("computed once", remarks["dynamic", "vllm"])
        self.assertIn("no flag for dynamic", remarks["dynamic", "llama.cpp"])
        self.assertIsNone(remarks["yarn", "vllm"])

    def test_a_drafter_with_a_short_context_gets_its_own_command(self):
        self.assertIn("set nothing for 2048", self.run_ok("stretch", self.config, 2048))
        text = self.run_ok("stretch", "qwen2.5-7b", 65536, "--drafter", self.config)
        self.assertIn(f"`rotary stretch {self.config} 65536`", " ".join(text.split()))
        holds = self.run_json("stretch", "stretch", self.config, 4096, "--drafter", "qwen2.5-7b")
        self.assertIn("It holds that many tokens.", holds["drafter"])

    def test_wrong_arguments_are_refused(self):
        name = self.write_config({key: value for key, value in LLAMA.items()
                                  if key != "max_position_embeddings"})
        for code, parts, arguments in (
                (2, ["--set max_position_embeddings=N"], [name, 4096]),
                (2, ["TOKENS"], [name, 0]),
                (2, ["TOKENS is the context"], [name, 4096, "--context", 5]),
                (5, ["no rotary embedding"], ["gpt2", 4096])):
            self.assert_fails(code, parts, "stretch", *arguments)
