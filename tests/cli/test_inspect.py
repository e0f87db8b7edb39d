# SPDX-License-Identifier: Apache-2.0
"""Tests the text and JSON of inspect for small configs."""

import json
import re

import numpy as np

from tool import LLAMA, PARTIAL, TWO_TYPES, YARN, ToolTest, validate

UNBASED = {key: value for key, value in LLAMA.items() if key != "rope_theta"}
# (config, parts of the text)
SHOWN = [
    (PARTIAL, ["8 of 32 turn: 0 to 7; the others pass unchanged"]),
    (TWO_TYPES, ["full_attention: layers 0, 2\n", "sliding_attention: layers 1\n"]),
    (LLAMA | {"model_type": "qwen3_next", "num_hidden_layers": 4},
     ["  no attention      layers 0-2 [class default]\n"
      "  rotary            layers 3 [class default]\n"]),
    (UNBASED | {"model_type": "qwen", "use_logn_attn": True, "seq_length": 2048},
     ["queries times max(1, ln(position + 1) / ln 2048)\n"]),
    (LLAMA | {"model_type": "deepseek_v2", "rope_scaling": {
        "type": "yarn", "factor": 40, "mscale": 0.707, "mscale_all_dim": 0.707,
        "original_max_position_embeddings": 4096}},
     ["all 64 turn, after 128 of the head that do not\n"
      "                    [family, class default]\n", "softmax scale times 1.58963\n"]),
    (LLAMA | {"model_type": "qwen2_vl",
              "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}},
     ["2, 3, 3 pairs in blocks, exponents shared"]),
    (LLAMA | {"vision_config": {"model_type": "mystery"}}, ["not described: ", "got 'mystery'"]),
    ({"model_type": "llava", "text_config": LLAMA}, ["llama, 3 layers"]),
    ({"model_type": "gemma2", "hidden_size": 2304, "num_hidden_layers": 26,
      "num_attention_heads": 8, "head_dim": 256, "max_position_embeddings": 8192},
     ["scores            capped: 50 tanh(score / 50) [class default]\n"]),
    ({"model_type": "whisper", "d_model": 384, "encoder_layers": 4, "decoder_layers": 2},
     ["learned vectors   decoder layers 0-1 [family]\n",
      "sinusoidal        encoder layers 0-3\n",
      "384 of each token: 192 sines, then 192 cosines [family]\n",
      "positions         1500 [class default]\n"]),
    ({"model_type": "distilbert", "dim": 768, "n_layers": 2, "sinusoidal_pos_embds": True},
     ["768 of each token: sines and cosines in turn [family]\n",
      "even: angles of position x base^(-2k / 768), k = 0 to 383"]),
]


class InspectTest(ToolTest):
    def inspect(self, config, *arguments):
        return self.run_json("inspect", "inspect", self.write_config(config), *arguments)

    def shows(self, config, *parts):
        """Checks parts of the text. Returns the text. `./dev record` compares the JSON of cards."""
        text = self.run_ok("inspect", self.write_config(config))
        for part in parts:
            self.assertIn(part, text)
        return text

    def test_the_text_shows_what_each_kind_of_model_has(self):
        for config, parts in SHOWN:
            with self.subTest(config=config):
                self.shows(config, *parts)

    def test_pairs_that_complete_a_turn_in_the_context_are_counted(self):
        [rotary] = self.inspect(LLAMA, "--context", 64)["rotary"]
        turns = 10000.0 ** (-np.arange(8) / 8) / (2 * np.pi)
        self.assertEqual(rotary["context_tokens"], 64)
        self.assertEqual(rotary["pairs_turning_in_context"], np.sum(turns * 64 >= 1))
        self.assertEqual(rotary["pairs_turning_in_trained_context"], np.sum(turns * 2048 >= 1))

    def test_layers_without_rotation_are_listed(self):
        text = self.shows(
            LLAMA | {"model_type": "llama4_text", "head_dim": 16, "num_hidden_layers": 48},
            "llama4_text, 48 layers, one rotary embedding\n",
            "  rotary            layers 0-2, 4-6, 8-10,",
            "                    36-38, 40-42, 44-46 [class default]\n",
            "  none (NoPE)       layers 3, 7, 11,",
            "                    queries times 1 + 0.1 ln(1 + floor((position + 1) / 8192))\n",
            "                    [class default]\n")
        self.assertLessEqual(max(map(len, text.splitlines())), 88)

    def test_a_model_without_rotation_lists_its_biases(self):
        text = self.shows({"model_type": "bloom", "n_layer": 2})
        self.assertEqual(
            text,
            "bloom, 2 layers, no rotary embedding\n\n  linear biases     layers 0-1 [family]\n\n"
            "Not stated by the config:\n"
            "  [family]          no key says it: what the code of this family does\n",
        )

    def test_a_vision_tower_is_a_part_with_its_own_axes(self):
        config = LLAMA | {
            "model_type": "qwen2_vl",
            "vision_config": {"depth": 3, "embed_dim": 64, "num_heads": 2},
        }
        self.shows(config, "\nvision, from vision_config:\n",
                   "  8, 8 pairs in blocks, exponents own\n")
        tower = ("inspect", self.write_config(config), "--part", "vision")
        document = self.run_json("inspect", *tower)
        self.assert_has(document, {"config_part": "vision_config", "parts": []})
        self.assertEqual(len(document["layers"]), 3)
        self.assertIn("the config of the vision tower\n", self.run_ok(*tower))

    def test_a_missing_part_is_refused(self):
        for part, words in (("visoin", "did you mean vision?"),
                            ("vision", "part must be one that the config has, text; got vision")):
            self.assert_fails(2, [words], "inspect", self.config, "--part", part)

    def test_a_position_map_is_shown_with_a_warning(self):
        """Qwen2.5-1M has this map. Servers apply it, but Transformers does not."""
        config = LLAMA | {"dual_chunk_attention_config": {"chunk_size": 1024, "local_size": 64}}
        self.shows(config, "dual chunk (1024 tokens, 64 local): other distances beyond 1024")
        document = self.inspect(config)
        self.assertEqual(document["position_map"],
                         {"map": "dual_chunk", "chunk": 1024, "local": 64})
        self.assertIn("beyond 1024 tokens", document["warnings"][0])

    def test_a_nested_config_is_named_in_errors(self):
        wrong = LLAMA | {"rope_theta": "x"}
        name = self.write_config({"model_type": "llava", "text_config": wrong})
        self.assert_fails(3, ["text_config.rope_theta"], "inspect", name)

    def test_each_value_has_its_source(self):
        config = {"model_type": "gemma3", "text_config": {
            "model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34,
            "rope_scaling": {"factor": 8.0, "rope_type": "linear"}}}
        text = self.shows(
            config, "read from text_config, the config of the language model\n",
            "  base              1000000 [class default]\n", "factor = 8\n",
            "within 131072 tokens [class default]\n",
            "\nNot stated by the config:\n  [class default]   absent: ")
        self.assertNotIn("[rule]", text)
        asked = self.run_ok("inspect", self.write_config(LLAMA | {"model_type": "novel"}),
                            "--pairing", "half")
        self.assertIn("half [asked]\n", asked)
        trailing = self.run_ok("inspect", "deepseek-v4-284b")
        self.assertIn("448 to 511; the others pass unchanged [family]\n", trailing)
        self.assertNotIn(" \n", trailing)

    def test_sinusoidal_tables_have_width_layout_and_offset(self):
        config = {"model_type": "m2m_100", "d_model": 1024, "encoder_layers": 2}
        self.shows(config, "1024 of each token: 512 sines, then 512 cosines [family]\n",
                   "first position    2; padding has zeros [class default]\n")
        self.assert_has(self.inspect(config)["sinusoidal"], {"dim": 1024, "zero_position": -1})

    def test_t5_buckets_are_shown(self):
        config = {"model_type": "t5", "num_layers": 2, "num_heads": 12,
                  "relative_attention_num_buckets": 32}
        self.shows(config, "buckets           32 x 12 heads, half for keys after",
                   "last bucket       from a distance of 91 on; in a decoder of 113 "
                   "[class default]\n")

    def test_the_text_shows_each_value_within_88_columns(self):
        text = self.shows(YARN, "half [family]\n",
                          "features i and i + 8 turn together (rotate_half)\n",
                          "all 16 turn [family]\n", "head_dim          16 [rule]\n", "yarn\n",
                          "factor = 4\n", "original_max_position_embeddings = 512\n",
                          "1.13863 on cos and sin, so scores grow by its square, 1.29648",
                          "6.283 tokens (fastest pair)", "pairs complete a turn within 2048 tokens")
        self.assertLessEqual(max(map(len, text.splitlines())), 88)

    def test_an_unknown_family_needs_a_pairing(self):
        for config in [LLAMA | {"model_type": "novel"}, {**LLAMA, "model_type": None}]:
            name = self.write_config(config)
            self.assert_fails(5, ["--pairing"], "inspect", name)
            text = self.run_json("inspect", "inspect", name, "--pairing", "interleaved")
            self.assertEqual(text["rotary"][0]["pairing"], "interleaved")

    def test_refusals_of_an_unknown_family_print_options_that_succeed(self):
        own_names = {"model_type": "novel", "d_model": 64, "n_heads": 4, "n_layer": 3,
                     "rope_base": 5e5, "rope_twist": 1}
        name, options = self.write_config({"text_config": own_names, "model_type": "vl"}), []
        for _ in range(7):
            run = self.run_tool("inspect", name, *options, "--json")
            if run.returncode == 0:
                break
            self.assertIn(run.returncode, (3, 5))
            found = re.findall(r"--(?:pairing|key|set) [a-z_0-9.=]+", run.stderr.decode())
            self.assertTrue(found, run.stderr)
            options += [part for each in found for part in each.split()]
        document = json.loads(run.stdout)
        [rotary] = document["rotary"]
        self.assertEqual((rotary["head_dim"], rotary["base"]), (16, 5e5))
        self.assertEqual(len(document["layers"]), 3)

    def test_unusable_renamings_of_keys_are_refused(self):
        name = self.write_config(LLAMA | {"width": 64})
        for part, value in (("KEY=NAME", "rope_theta"), ("KEY=NAME", "a.b=width"),
                            ("config has both", "hidden_size=width"),
                            ("must be in the config", "head_dim=widht")):
            self.assert_fails(2, ["--key" if "KEY" in part else "", part], "inspect", name,
                              "--key", value)

    def test_the_json_of_each_kind_of_model_has_the_schema(self):
        for card in ("bloom-3b", "deepseek-r1", "gemma-2-2b", "gpt2", "llama-4-scout", "mpt-7b",
                     "qwen-14b-chat", "qwen2-vl-2b", "t5-small", "whisper-tiny"):
            self.run_json("inspect", "inspect", card)

    def test_the_schema_allows_unknown_members(self):
        document = self.inspect(LLAMA)
        document["rotary"][0]["new"] = document["new"] = {"a": 1}
        validate(document, "inspect")
