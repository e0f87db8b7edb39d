# SPDX-License-Identifier: Apache-2.0
"""What every command that reads a config takes: --set, --context, --numerics, params.json."""

from tool import LLAMA, YARN, ToolTest

PARAMS = {
    "dim": 64,
    "n_heads": 4,
    "n_layers": 4,
    "multiple_of": 8,
    "rope_theta": 500000.0,
    "use_scaled_rope": True,
    "nope_layer_interval": 4,
}


class ModelOptionsTest(ToolTest):
    def inspect(self, config, *arguments):
        return self.run_json("inspect", "inspect", self.write_config(config), *arguments)

    def table(self, config, *arguments):
        name = self.write_config(config)
        return self.run_json("table", "table", name, "--positions", "3,70000", *arguments)

    def test_set_is_an_edit_of_the_file(self):
        edited = YARN | {"rope_theta": 30000, "rope_scaling": YARN["rope_scaling"] | {"factor": 8}}
        by_option = self.table(YARN, "--set", "rope_scaling.factor=8", "--set", "rope_theta=3e4")
        by_file = self.table(edited)
        self.assertEqual(by_option["cos"], by_file["cos"])
        self.assertEqual(by_option["attention_factor"], by_file["attention_factor"])
        self.assertNotEqual(by_option["cos"], self.table(YARN)["cos"])

    def test_set_takes_one_value(self):
        name = self.write_config(LLAMA, "last.json")
        document = self.run_json("inspect", "inspect", "--set", "rope_theta=5", name)
        self.assertEqual(document["rotary"][0]["base"], 5)

    def test_set_must_be_a_key_and_a_value(self):
        for text in ("rope_theta", "=5", ""):
            self.assert_fails(
                2, ["KEY=VALUE"], "inspect", self.write_config(LLAMA), "--set", text)
        self.assert_fails(
            2, ["must be an object"], "inspect", self.write_config(LLAMA), "--set",
            "hidden_size.x=1")

    def test_params_json(self):
        document = self.inspect(PARAMS)
        [rotary] = document["rotary"]
        self.assertEqual(rotary["pairing"], "interleaved")
        self.assertEqual(rotary["rope_type"], "llama3")
        encodings = [layer["encoding"] for layer in document["layers"]]
        self.assertEqual(encodings, ["rotary"] * 3 + ["none"])

    def test_a_layer_without_rotary_embedding(self):
        self.assert_fails(
            5, ["layer 3 has no rotary embedding: none"], "rotate", "--config",
            self.write_config(PARAMS), "--layout", "thd", "--layer", "3", "--q", "q.npy",
            "--out-q", "out.npy")

    def test_numerics_are_named(self):
        self.assert_fails(
            2, ["transformers"], "inspect", self.write_config(LLAMA), "--numerics", "torch")
        self.assertEqual(
            self.table(LLAMA, "--numerics", "exact")["cos"], self.table(LLAMA)["cos"])

    def test_frequencies_of_a_static_rule_hold_for_every_context(self):
        [rotary] = self.inspect(YARN)["rotary"]
        self.assertEqual(rotary["contexts"], {"first": 1, "last": None})
        self.assertEqual(self.table(YARN, "--context", 9)["cos"], self.table(YARN)["cos"])
