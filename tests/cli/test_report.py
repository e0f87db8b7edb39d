# SPDX-License-Identifier: Apache-2.0
"""Tests the data in pages of rotary report. Pages load nothing, and no text becomes markup."""

import json
import math
import re

from tool import LLAMA, TWO_TYPES, YARN, ToolTest

DATA = re.compile(r'<script type="application/json" id="report-data">(.*?)</script>', re.DOTALL)
HOSTILE = '</script><script>window.hurt = 1</script><img src=x onerror="hurt=1">&amp;<!--'
DYNAMIC = LLAMA | {"rope_scaling": {"type": "dynamic", "factor": 4.0}}


class ReportTest(ToolTest):
    def page(self, *arguments):
        self.run_ok("report", *arguments, "-o", "page.html", "--force")
        return (self.path / "page.html").read_text()

    def data(self, *arguments):
        found = DATA.findall(self.page(*arguments))
        self.assertEqual(len(found), 1)
        return json.loads(found[0])

    def figures(self, subject, context=2048):
        for part in subject["ranges"]:
            if part["last"] is None or part["last"] >= context:
                return {placed["figure"]["name"]: placed for placed in part["figures"]}
        self.fail(f"no figures for a context of {context}")

    def test_the_page_has_the_numbers_of_inspect(self):
        name = self.write_config(YARN)
        data = self.data(name, "--context", 4096)
        inspected = self.run_json("inspect", "inspect", name, "--context", 4096)
        [subject] = data["subjects"]
        self.assertEqual(subject["ranges"][0]["inv_freq"], inspected["rotary"][0]["inv_freq"])
        self.assertEqual(data["configs"][0]["warnings"], inspected["warnings"])
        self.assertEqual(data["context"], 4096)
        self.assertIn(4096, data["stops"])
        self.assertEqual(data["stops"], sorted(set(data["stops"])))
        fields = {field["label"]: field["value"] for field in subject["fields"]}
        self.assertEqual(fields["rule (rope_type)"], "yarn")
        self.assertEqual(fields["rule: factor"], "4")
        for field in subject["fields"]:
            self.assertTrue(field["label"] and field["value"] and field["meaning"], field)

    def test_the_page_has_the_warnings_of_inspect(self):
        arguments = (self.config, "--context", 100000)
        warnings = self.run_json("inspect", "inspect", *arguments)["warnings"]
        self.assertEqual(len(warnings), 1)
        self.assertEqual(self.data(*arguments)["configs"][0]["warnings"], warnings)
        result = self.run_tool("report", *arguments, "-o", "page.html", "--force")
        self.assertIn(b"rotary report: warning: config.json: ", result.stderr)

    def test_a_yarn_model_has_five_figures(self):
        figures = self.figures(self.data(self.write_config(YARN))["subjects"][0])
        sections = {name: placed["section"] for name, placed in figures.items()}
        self.assertEqual(
            sections,
            {"wavelengths": "context", "scaling": "scaling", "similarity": "distance",
             "decay": "distance", "numerics": "accuracy"},
        )
        plain = self.figures(self.data(self.write_config(LLAMA))["subjects"][0])
        [series] = plain["wavelengths"]["figure"]["panels"][0]["series"]
        for pair, wavelength in zip(series["x"], series["y"]):
            expected = 2 * math.pi * 10000 ** (pair / 8)
            self.assertEqual(wavelength, float(f"{expected:.7g}"))

    def test_a_vision_towers_axes_are_described_and_mapped(self):
        data = self.data("qwen2-vl-2b", "--part", "vision")
        [subject] = data["subjects"]
        self.assertTrue(subject["of_patches"])
        figures = self.figures(subject)
        self.assertEqual({name: placed["section"] for name, placed in figures.items()},
                         {"axes": "axes", "numerics": "accuracy"})
        fields = {field["label"]: field["value"] for field in subject["fields"]}
        self.assertEqual(fields["coordinates"], "2")
        self.assertEqual(fields["pairs of each coordinate"], "20, 20")
        self.assertEqual(fields["arrangement"], "in blocks")
        self.assertEqual(fields["exponents"], "own")
        self.assertNotIn("stated context", fields)
        sentences = data["configs"][0]["sentences"]
        self.assertIn("A position has 2 coordinates: 20 pairs rotate by coordinate 0, 20 pairs "
                      "rotate by coordinate 1, in blocks.", sentences)
        self.assertIn("pair k rotates by base^(-k/m) radians a step", " ".join(sentences))
        self.assertNotIn("base^(-2i/d)", " ".join(sentences))
        self.assertNotIn("token", " ".join(sentences))

    def test_a_text_models_axes_are_described(self):
        data = self.data("qwen3-vl-4b")
        [subject] = data["subjects"]
        self.assertFalse(subject["of_patches"])
        self.assertEqual(list(self.figures(subject))[-1], "axes")
        self.assertIn("decay", self.figures(subject))
        sentences = " ".join(data["configs"][0]["sentences"])
        self.assertIn("24 pairs rotate by coordinate 0", sentences)
        self.assertIn("In a text all coordinates are one number.", sentences)
        self.assertIn("base^(-2i/d)", sentences)

    def test_exponents_dealt_to_axes_in_turn_are_described(self):
        tower = {"model_type": "pixtral", "hidden_size": 32, "num_attention_heads": 4,
                 "num_hidden_layers": 1, "head_dim": 8}
        data = self.data(self.write_config(tower))
        fields = {field["label"]: field["value"] for field in data["subjects"][0]["fields"]}
        self.assertEqual(fields["exponents"], "in_turn")
        self.assertIn("coordinate a has those of i = a, a + n",
                      " ".join(data["configs"][0]["sentences"]))

    def test_unrotated_models_have_the_figures_of_their_encoding(self):
        encoder = {"model_type": "marian", "d_model": 64, "encoder_layers": 2,
                   "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
        cases = {"bloom-3b": ["alibi"], "t5-small": ["t5"], "gpt2": [],
                 self.write_config(encoder): ["sinusoidal"]}
        for subject in self.data(*cases)["subjects"]:
            self.assertEqual(list(self.figures(subject)), cases[subject["name"]])

    def test_each_encoding_is_a_subject_of_the_page(self):
        data = self.data(self.write_config(TWO_TYPES), "qwen2.5-7b")
        self.assertEqual(
            [subject["name"] for subject in data["subjects"]],
            ["config.json, full_attention", "config.json, sliding_attention", "qwen2.5-7b"],
        )
        self.assertEqual([config["name"] for config in data["configs"]],
                         ["config.json", "qwen2.5-7b"])

    def test_a_remark_says_if_two_configs_can_share_a_cache(self):
        name, other = self.write_config(LLAMA), self.write_config(LLAMA, "other.json")
        [remark] = self.data(name, other)["remarks"]
        self.assertIn("are right", remark)
        self.write_config(LLAMA | {"rope_theta": 20000.0}, "other.json")
        [remark] = self.data(name, other)["remarks"]
        self.assertIn("are wrong", remark)

    def test_the_first_different_position_of_two_configs_is_named(self):
        self.write_config(LLAMA | {"rope_theta": 500000.0}, "other.json")
        [found] = self.data(self.config, "other.json")["differences"]
        self.assertEqual((found["one"], found["other"], found["same"]),
                         ("config.json", "other.json", False))
        [sentence] = found["sentences"]
        self.assertTrue(sentence.startswith(
            "In layers 0-2 cos and sin first differ at position 1, by "), sentence)
        self.assertEqual(self.data(self.config)["differences"], [])

    def test_the_key_that_makes_engines_differ_is_named(self):
        config = dict(LLAMA, partial_rotary_factor=0.5)
        data = self.data(self.write_config(config), "--between", "transformers@4.57,transformers")
        [found] = data["differences"]
        self.assertEqual((found["one"], found["same"]), ("transformers@4.57", False))
        self.assertIn("partial_rotary_factor", found["sentences"][0])
        self.assert_fails(2, ["--between takes one config"], "report", "config.json",
                          "llama-3.1-8b", "--between", "mlx,vllm", "-o", "page.html")

    def test_a_dynamic_rule_has_a_range_for_each_context(self):
        data = self.data(self.write_config(DYNAMIC))
        ranges = data["subjects"][0]["ranges"]
        self.assertEqual((ranges[0]["first"], ranges[0]["last"]), (1, 2048))
        self.assertEqual([part["last"] for part in ranges[1:]],
                         [stop for stop in data["stops"] if stop > 2048])
        slowest = [part["inv_freq"][-1] for part in ranges]
        self.assertEqual(slowest, sorted(slowest, reverse=True))
        self.assertEqual(len(self.data(self.write_config(LLAMA))["subjects"][0]["ranges"]), 1)

    def test_keys_are_listed_with_their_effects(self):
        keys = {key["path"]: key for key in
                self.data(self.write_config(YARN))["configs"][0]["keys"]}
        self.assertLessEqual({"model_type", "rope_theta", "rope_scaling.factor"}, set(keys))
        self.assertTrue(all(key["use"] and key["value"] for key in keys.values()))
        [without, doubled] = keys["rope_scaling.factor"]["effects"]
        self.assertIn("refused", without["results"][0])
        self.assertEqual(doubled["change"], "with 8.0")
        self.assertIn("factor 4 -> 8", doubled["results"])

    def test_a_config_is_read_from_standard_input(self):
        config = json.dumps(LLAMA).encode()
        self.run_ok("report", "-", "-o", "page.html", stdin=config)
        data = json.loads(DATA.findall((self.path / "page.html").read_text())[0])
        self.assertEqual(data["configs"][0]["name"], "standard input")

    def test_the_page_loads_nothing(self):
        page = self.page(self.write_config(YARN), "bloom-3b")
        self.assertIn("default-src 'none'", page)
        self.assertIn("Permission is hereby granted", page)
        # These addresses are in comments or are the namespace of SVG. A browser fetches none.
        known = {"https://www.chartjs.org", "https://github.com/kurkle/color#readme",
                 "http://www.w3.org/2000/svg"}
        self.assertLessEqual(set(re.findall(r'https?://[^\s"\'<]+', page)), known)
        head = page.split("<body>")[0]
        self.assertEqual(re.findall(r"\b(?:src|srcset|url)\s*[=(]|@import", head), [])
        elements = re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="([^"]*)"', page)
        self.assertEqual(elements, ["data:,"])

    def test_no_text_becomes_markup(self):
        marks = len(re.findall("<", self.page(self.write_config(LLAMA))))
        config = LLAMA | {"model_type": HOSTILE}
        name = self.write_config(config, 'a<b onclick="hurt=1">&.json')
        page = self.page(name, "--pairing", "half")
        self.assertEqual(len(re.findall("<", page)), marks)
        self.assertNotIn("hurt", DATA.sub("", page))
        data = self.data(name, "--pairing", "half")
        self.assertEqual(data["configs"][0]["name"], name)
        self.assertIn(HOSTILE, data["configs"][0]["summary"])

    def test_two_runs_write_the_same_bytes(self):
        name = self.write_config(YARN)
        self.assertEqual(self.page(name), self.page(name))

    def test_the_answer_lists_encodings_and_figures(self):
        text = self.run_ok("report", self.config, "gpt2", "--out", "a.html")
        figures = "wavelengths, scaling, similarity, decay, numerics"
        self.assertIn(f"config.json: rotary; {figures}\n", text)
        self.assertIn("gpt2: learned\n", text)
        document = self.run_json("report", "report", self.config, "gpt2", "-o", "b.html")
        self.assertEqual(document["output"], "b.html")
        self.assertEqual(document["bytes"], (self.path / "b.html").stat().st_size)
        self.assertEqual([encoding["kind"] for encoding in document["encodings"]],
                         ["rotary", "learned"])

    def test_wrong_arguments_are_refused(self):
        out = ("-o", "page.html")
        self.assert_fails(2, ["--out"], "report", self.config)
        self.assert_fails(2, ["CONFIG"], "report", *out)
        self.assert_fails(2, ["at most 4", "got 5"], "report", *"abcde", *out)
        self.assert_fails(2, ["must differ", "twice"], "report", self.config, self.config, *out)
        self.assert_fails(2, ["must be a file"], "report", self.config, "-o", "-")
        bad = self.write_config("{", "bad.json")
        self.assert_fails(3, ["bad.json"], "report", self.config, bad, *out)
        self.assert_fails(4, ["cannot"], "report", self.config, "-o", "nowhere/page.html")
