# SPDX-License-Identifier: Apache-2.0
"""Tests the text and JSON of inspect for small configs."""

import json
import re

import numpy as np

from tool import INTERLEAVED, LLAMA, PARTIAL, TWO_TYPES, YARN, ToolTest, validate


class InspectTest(ToolTest):
    def inspect(self, config, *arguments):
        return self.run_json("inspect", "inspect", self.write_config(config), *arguments)

    def shows(self, config, wanted, *parts):
        """Checks members of the JSON and parts of the text. Returns the text."""
        self.assert_has(self.inspect(config), wanted)
        text = self.run_ok("inspect", self.write_config(config))
        for part in parts:
            self.assertIn(part, text)
        return text

    def test_the_rotary_values_of_a_llama_config_are_shown(self):
        self.shows(LLAMA, {
            "model_type": "llama", "warnings": [],
            "rotary": [{"head_dim": 16, "rotary_dim": 16, "first_feature": 0, "pairing": "half",
                        "rope_type": "default", "attention_factor": 1, "softmax_factor": 1,
                        "layer_type": None, "context_tokens": None}],
            "layers": [{"encoding": "rotary", "rotary": 0}] * 3,
            **dict.fromkeys(("position_map", "config_part", "softcap", "encoder", "sinusoidal",
                             "relative_bias"))})
        np.testing.assert_allclose(self.inspect(LLAMA)["rotary"][0]["inv_freq"],
                                   10000.0 ** (-np.arange(8) / 8), rtol=1e-15)

    def test_partial_width_and_interleaved_pairing_are_read(self):
        self.shows(PARTIAL, {"rotary": [{"head_dim": 32, "rotary_dim": 8}]},
                   "8 of 32 turn: 0 to 7; the others pass unchanged")
        self.shows(INTERLEAVED, {"rotary": [{"head_dim": 16, "rotary_dim": 8,
                                             "pairing": "interleaved"}]})

    def test_pairs_that_complete_a_turn_in_the_context_are_counted(self):
        [rotary] = self.inspect(LLAMA, "--context", 64)["rotary"]
        turns = 10000.0 ** (-np.arange(8) / 8) / (2 * np.pi)
        self.assertEqual(rotary["context_tokens"], 64)
        self.assertEqual(rotary["pairs_turning_in_context"], np.sum(turns * 64 >= 1))
        self.assertEqual(rotary["pairs_turning_in_trained_context"], np.sum(turns * 2048 >= 1))

    def test_layers_name_their_rotary_embedding(self):
        document = self.inspect(TWO_TYPES)
        types = [rotary["layer_type"] for rotary in document["rotary"]]
        used = [types[layer["rotary"]] for layer in document["layers"]]
        self.assertEqual(used, TWO_TYPES["layer_types"])
        self.shows(TWO_TYPES, {}, "full_attention: layers 0, 2\n", "sliding_attention: layers 1\n")

    def test_layers_without_rotation_are_listed(self):
        config = LLAMA | {"model_type": "llama4_text", "head_dim": 16, "num_hidden_layers": 48}
        temperature = {"rule": "step", "scale": 0.1, "interval_tokens": 8192, "offset": 1}
        four = [{"encoding": "rotary"}] * 3 + [{"encoding": "none",
                                                "query_temperature": temperature}]
        text = self.shows(
            config, {"layers": four * 12}, "llama4_text, 48 layers, one rotary embedding\n",
            "  rotary            layers 0-2, 4-6, 8-10,",
            "                    36-38, 40-42, 44-46 [class default]\n",
            "  none (NoPE)       layers 3, 7, 11,",
            "                    queries times 1 + 0.1 ln(1 + floor((position + 1) / 8192))\n",
            "                    [class default]\n")
        self.assertLessEqual(max(map(len, text.splitlines())), 88)

    def test_layers_without_attention_are_listed(self):
        config = LLAMA | {"model_type": "qwen3_next", "num_hidden_layers": 4}
        kinds = ["no_attention"] * 3 + ["rotary"]
        self.shows(config, {"layers": [{"encoding": kind} for kind in kinds]},
                   "  no attention      layers 0-2 [class default]\n"
                   "  rotary            layers 3 [class default]\n")

    def test_a_model_without_rotation_lists_its_biases(self):
        text = self.shows({"model_type": "bloom", "n_layer": 2},
                          {"rotary": [], "layers": [{"encoding": "alibi"}] * 2})
        self.assertEqual(
            text,
            "bloom, 2 layers, no rotary embedding\n\n  linear biases     layers 0-1 [family]\n\n"
            "Not stated by the config:\n"
            "  [family]          no key says it: what the code of this family does\n",
        )

    def test_a_logarithmic_query_temperature_is_shown(self):
        config = LLAMA | {"model_type": "qwen", "use_logn_attn": True, "seq_length": 2048}
        del config["rope_theta"]
        layer = {"encoding": "rotary", "rotary": 0,
                 "query_temperature": {"rule": "logn", "trained_tokens": 2048}}
        self.shows(config, {"layers": [layer] * 3},
                   "queries times max(1, ln(position + 1) / ln 2048)\n")

    def test_latent_attention_has_two_widths_and_a_softmax_factor(self):
        config = LLAMA | {
            "model_type": "deepseek_v2",
            "rope_scaling": {"type": "yarn", "factor": 40, "mscale": 0.707,
                             "mscale_all_dim": 0.707, "original_max_position_embeddings": 4096},
        }
        self.shows(config, {"rotary": [{"head_dim": 64, "nope_head_dim": 128}]},
                   "all 64 turn, after 128 of the head that do not\n"
                   "                    [family, class default]\n", "softmax scale times 1.58963\n")
        [rotary] = self.inspect(config)["rotary"]
        self.assertAlmostEqual(rotary["softmax_factor"], 1.5896261651208736, places=15)

    def test_the_axes_of_an_image_model_are_shown(self):
        config = LLAMA | {
            "model_type": "qwen2_vl",
            "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]},
        }
        self.shows(config, {"rotary": [{"axes": {"pairs": [2, 3, 3], "arrangement": "blocks"},
                                        "axis_of_pair": [0, 0, 1, 1, 1, 2, 2, 2],
                                        "sense": "positive"}]},
                   "2, 3, 3 pairs in blocks, exponents shared")

    def test_a_vision_tower_is_a_part_with_its_own_axes(self):
        config = LLAMA | {
            "model_type": "qwen2_vl",
            "vision_config": {"depth": 3, "embed_dim": 64, "num_heads": 2},
        }
        self.shows(config, {"parts": [{"part": "vision", "config_part": "vision_config",
                                       "layers": 3, "error": None,
                                       "rotary": [{"axes": {"pairs": [8, 8]}}]}]},
                   "\nvision, from vision_config:\n", "  8, 8 pairs in blocks, exponents own\n")
        tower = ("inspect", self.write_config(config), "--part", "vision")
        document = self.run_json("inspect", *tower)
        self.assert_has(document, {"config_part": "vision_config", "parts": []})
        self.assertEqual(len(document["layers"]), 3)
        self.assertIn("the config of the vision tower\n", self.run_ok(*tower))

    def test_an_unknown_part_is_not_described(self):
        config = LLAMA | {"vision_config": {"model_type": "mystery"}}
        [part] = self.inspect(config)["parts"]
        self.assertIn("got 'mystery'", part["error"])
        self.shows(config, {}, "not described: ")

    def test_a_missing_part_is_refused(self):
        for part, words in (("visoin", "did you mean vision?"),
                            ("vision", "part must be one that the config has, text; got vision")):
            self.assert_fails(2, [words], "inspect", self.config, "--part", part)

    def test_a_position_map_is_shown_with_a_warning(self):
        """Qwen2.5-1M has this map. Servers apply it, but Transformers does not."""
        config = LLAMA | {"dual_chunk_attention_config": {"chunk_size": 1024, "local_size": 64}}
        self.shows(config, {"position_map": {"map": "dual_chunk", "chunk": 1024, "local": 64}},
                   "dual chunk (1024 tokens, 64 local): other distances beyond 1024")
        self.assertIn("beyond 1024 tokens", self.inspect(config)["warnings"][0])

    def test_a_nested_config_is_read_and_named_in_errors(self):
        self.shows({"model_type": "llava", "text_config": LLAMA}, {"model_type": "llama"})
        wrong = LLAMA | {"rope_theta": "x"}
        name = self.write_config({"model_type": "llava", "text_config": wrong})
        self.assert_fails(3, ["text_config.rope_theta"], "inspect", name)

    def test_each_value_has_its_source(self):
        config = {"model_type": "gemma3", "text_config": {
            "model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34,
            "rope_scaling": {"factor": 8.0, "rope_type": "linear"}}}
        default = {"origin": "class_default", "key": "max_position_embeddings"}
        text = self.shows(
            config, {"config_part": "text_config",
                     "sources": {"layer_types": {"origin": "class_default"}},
                     "rotary": [{"trained_context_tokens": 131072, "sources": {
                         "trained_context_tokens": default,
                         "pairing": {"origin": "family", "key": None}, **own}} for own in (
                             {"factor": {"origin": "stated", "key": "factor"}},
                             {"base": {"key": "rope_local_base_freq"}})]},
            "read from text_config, the config of the language model\n",
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

    def test_a_missing_softcap_has_the_default_of_the_class(self):
        gemma = {"model_type": "gemma2", "hidden_size": 2304, "num_hidden_layers": 26,
                 "num_attention_heads": 8, "head_dim": 256, "max_position_embeddings": 8192}
        source = {"origin": "class_default", "key": "attn_logit_softcapping"}
        self.shows(gemma, {"softcap": 50, "sources": {"softcap": source}},
                   "scores            capped: 50 tanh(score / 50) [class default]\n")

    def test_an_encoder_with_sinusoids_has_its_own_entry(self):
        config = {"model_type": "whisper", "d_model": 384, "encoder_layers": 4,
                  "decoder_layers": 2}
        self.shows(config, {"layers": [{"encoding": "learned"}] * 2,
                            "encoder": {"layers": 4, "dim": 384, "positions": 1500,
                                        "layout": "sin_then_cos", "spacing": "ends"}},
                   "learned vectors   decoder layers 0-1 [family]\n",
                   "sinusoidal        encoder layers 0-3\n",
                   "384 of each token: 192 sines, then 192 cosines [family]\n",
                   "positions         1500 [class default]\n")
        np.testing.assert_allclose(self.inspect(config)["encoder"]["inv_freq"],
                                   10000.0 ** (-np.arange(192) / 191), rtol=1e-14)

    def test_sinusoidal_tables_have_width_layout_and_offset(self):
        config = {"model_type": "m2m_100", "d_model": 1024, "encoder_layers": 2}
        self.shows(config, {"sinusoidal": {"dim": 1024, "layout": "sin_then_cos", "spacing": "ends",
                                           "position_offset": 2, "zero_position": -1}},
                   "1024 of each token: 512 sines, then 512 cosines [family]\n",
                   "first position    2; padding has zeros [class default]\n")
        np.testing.assert_allclose(self.inspect(config)["sinusoidal"]["inv_freq"],
                                   10000.0 ** (-np.arange(512) / 511), rtol=1e-14)
        distilbert = {"model_type": "distilbert", "dim": 768, "n_layers": 2,
                      "sinusoidal_pos_embds": True}
        self.shows(distilbert, {"sinusoidal": {"position_offset": 0, "zero_position": None}},
                   "768 of each token: sines and cosines in turn [family]\n",
                   "even: angles of position x base^(-2k / 768), k = 0 to 383")

    def test_linear_biases_have_the_slopes_of_transformers(self):
        config = {"model_type": "mpt", "n_layers": 2, "n_heads": 12}
        self.shows(config, {"relative_bias": {"bias": "alibi", "form": "key_position"}},
                   "slopes            0.5 (head 0) to 0.0883883 (head 11) [class default]\n")
        # The slopes of build_mpt_alibi_tensor in Transformers 5.23 for 12 heads.
        slopes = [2.0 ** -k for k in range(1, 9)] + [2.0 ** -(k + 0.5) for k in range(4)]
        np.testing.assert_allclose(self.inspect(config)["relative_bias"]["slopes"], slopes,
                                   rtol=1e-14)

    def test_t5_buckets_are_shown(self):
        config = {"model_type": "t5", "num_layers": 2, "num_heads": 12,
                  "relative_attention_num_buckets": 32}
        self.shows(config, {"relative_bias": {"bias": "t5", "heads": 12, "buckets": 32,
                                              "max_distance": 128, "direction": "bidirectional"}},
                   "buckets           32 x 12 heads, half for keys after",
                   "last bucket       from a distance of 91 on; in a decoder of 113 "
                   "[class default]\n")

    def test_a_config_without_a_count_of_layers_lists_no_layers(self):
        config = {key: value for key, value in LLAMA.items() if key != "num_hidden_layers"}
        document = self.inspect(config)
        self.assertEqual(document["layers"], [])
        self.assertIn("num_hidden_layers", document["warnings"][0])

    def test_warnings_go_to_standard_error(self):
        result = self.run_tool("inspect", self.config, "--context", 100000, "--json")
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"rotary inspect: warning: ", result.stderr)
        self.assertIn(b"100000", result.stderr)
        self.assertEqual(len(json.loads(result.stdout)["warnings"]), 1)

    def test_a_config_is_read_from_standard_input(self):
        text = self.run_ok("inspect", "-", stdin=json.dumps(LLAMA).encode())
        self.assertTrue(text.startswith("llama, 3 layers, one rotary embedding\n"))

    def test_the_text_shows_each_value_within_88_columns(self):
        text = self.shows(YARN, {}, "half [family]\n",
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

    def test_text_with_quotes_and_control_characters_survives_json(self):
        config = json.dumps(LLAMA | {"model_type": 'q"\\\n\u0001é'})
        document = self.inspect(config, "--pairing", "half")
        self.assertEqual(document["model_type"], 'q"\\\n\u0001é')

    def test_the_schema_allows_unknown_members(self):
        document = self.inspect(LLAMA)
        document["rotary"][0]["new"] = document["new"] = {"a": 1}
        validate(document, "inspect")
