# SPDX-License-Identifier: Apache-2.0
"""Tests the output of rotary models, and the form of every model card."""

import json
import os
import pathlib
import re

from tool import ToolTest

CARDS = pathlib.Path(os.environ["ROTARY_CARDS"])

# "owner/name at COMMIT, PATH", with a full commit hash.
SOURCE = re.compile(r"^[\w.-]+/[\w.-]+ at [0-9a-f]{40}, \S+")

# Cards that the tool refuses, each with a part of the error.
REFUSED = {
    "mixtral-8x7b.params": "rope_theta must be given",
}


class CardsTest(ToolTest):
    @classmethod
    def setUpClass(cls):
        cls.cards = {path.stem: path.read_text() for path in CARDS.glob("*.json")}

    def test_engines_are_listed_with_their_dates(self):
        found = self.run_json("models", "models", "--engines")
        engines = {each["engine"]: each for each in found["engines"]}
        self.assertEqual(list(engines), ["transformers", "llama.cpp", "vllm", "mlx", "onnxruntime",
                                         "sglang"])
        self.assertIn("4.57", engines["transformers"]["releases"])
        for each in engines.values():
            self.assertGreater(each["families"], 20)
            self.assertIn(f"{each['looked_at']}  ", self.run_ok("models", "--engines"))
        self.assert_fails(2, ["--engines excludes all other options"], "models", "search", "x",
                          "--engines")

    def test_rules_of_engines_are_counted_and_searched(self):
        found = self.run_json("models", "models", "rules")["rules"]
        engines = self.run_json("models", "models", "--engines")["engines"]
        for engine in engines:
            count = sum(rule["engine"] == engine["engine"] for rule in found)
            self.assertEqual(count, engine["rules"])
        [rule] = [rule for rule in found if rule["name"] == "yarn_factor_of_lengths"]
        self.assertEqual((rule["first"], rule["last"], rule["evidence"]), ("4.51", "4.55", "run"))
        self.assertIn("#38224", rule["source"])
        lines = self.run_ok("models", "rules", "VLLM").splitlines()
        self.assertEqual({line.split()[0] for line in lines[1:]}, {"vllm"})
        self.assertIn("transformers  4.51 to 4.55  run    yarn_factor_of_lengths",
                      self.run_ok("models", "rules", "factor_of_lengths"))

    def test_the_tool_has_every_card_of_the_folder(self):
        self.assertGreaterEqual(len(self.cards), 30)
        names = [model["name"] for model in self.run_json("models", "models")["models"]]
        self.assertEqual(names, sorted(self.cards))

    def test_families_are_sorted_and_searched(self):
        families = self.run_json("families", "models", "families")["families"]
        names = [family["model_type"] for family in families]
        self.assertEqual(names, sorted(names))
        [llama4] = [family for family in families if family["model_type"] == "llama4_text"]
        self.assertEqual((llama4["pairing"], llama4["base"]), ("interleaved", 500000))
        text = self.run_ok("models", "families", "GEMMA3")
        shown = {line.split()[0] for line in text.splitlines()[1:]}
        self.assertLessEqual({name for name in names if "gemma3" in name}, shown)
        self.assertNotIn("llama", shown)

    def test_each_card_names_its_source_and_resolves_or_is_refused_as_expected(self):
        for model in self.run_json("models", "models")["models"]:
            with self.subTest(card=model["name"]):
                card = json.loads(self.cards[model["name"]])
                self.assertEqual(next(iter(card)), "_source")
                self.assertRegex(card["_source"], SOURCE)
                self.assert_has(model, {"source": card["_source"],
                                        "model_type": card.get("model_type")})
                # _unverified lists keys of the card.
                self.assertLessEqual(set(card.get("_unverified", [])), set(card))
                if model["name"] in REFUSED:
                    self.assertIn(REFUSED[model["name"]], model["error"])
                elif "_unverified" not in card:
                    self.assertIsNone(model["error"])


class ModelsTest(ToolTest):
    def names(self, *arguments):
        return [model["name"] for model in self.run_json("models", "models", *arguments)["models"]]

    def test_show_as_json_summarizes_a_card(self):
        [model] = self.run_json("models", "models", "show", "llama-3.1-8b")["models"]
        self.assertEqual(model["trained_context_tokens"], 131072)
        self.assertEqual(model["layers"], 32)
        self.assertEqual(model["encodings"], ["rotary"])
        self.assertEqual(
            model["rotary"], [{"layer_type": None, "base": 500000, "rope_type": "llama3"}]
        )
        self.assertEqual(model["config"], json.loads((CARDS / "llama-3.1-8b.json").read_text()))

    def test_show_prints_the_card(self):
        text = self.run_ok("models", "show", "llama-3.1-8b")
        self.assertEqual(text, (CARDS / "llama-3.1-8b.json").read_text())

    def test_search_finds_names_types_and_sources(self):
        every = self.names()
        for part, some in [("LLAMA-3.1", "llama-3.1-70b"), ("gpt_NeoX", "redpajama-incite-3b"),
                           ("Model_Preset.py", "codellama-7b"), ("gpt2", "gpt2-medium")]:
            found = self.names("search", part)
            self.assertIn(some, found)
            self.assertLess(len(found), len(every))
            self.assertEqual(found, [name for name in every if name in found])
        self.assertEqual(self.names("search", ""), every)
        self.assertEqual(self.names("search", "no such text"), [])
        self.assertEqual(len(self.run_ok("models", "search", "no such text").splitlines()), 1)
