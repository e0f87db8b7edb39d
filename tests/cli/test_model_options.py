# SPDX-License-Identifier: Apache-2.0
"""Tests the options that all commands with a config share, and params.json as a config."""

import numpy as np

from tool import LLAMA, YARN, ToolTest, bf16, of_bf16

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

    def test_set_acts_like_an_edit_of_the_file(self):
        edited = YARN | {"rope_theta": 30000, "rope_scaling": YARN["rope_scaling"] | {"factor": 8}}
        by_option = self.table(YARN, "--set", "rope_scaling.factor=8", "--set", "rope_theta=3e4")
        by_file = self.table(edited)
        self.assertEqual(by_option["cos"], by_file["cos"])
        self.assertEqual(by_option["attention_factor"], by_file["attention_factor"])
        self.assertNotEqual(by_option["cos"], self.table(YARN)["cos"])

    def test_set_takes_exactly_one_value(self):
        name = self.write_config(LLAMA, "last.json")
        document = self.run_json("inspect", "inspect", "--set", "rope_theta=5", name)
        self.assertEqual(document["rotary"][0]["base"], 5)

    def test_set_without_key_and_value_is_refused(self):
        for text in ("=5", ""):
            self.assert_fails(
                2, ["KEY=VALUE"], "inspect", self.write_config(LLAMA), "--set", text)
        self.assert_fails(
            2, ["must be an object"], "inspect", self.write_config(LLAMA), "--set",
            "hidden_size.x=1")

    def test_a_layer_without_rotary_embedding_is_refused(self):
        self.assert_fails(
            5, ["layer 3 has no rotary embedding: none"], "rotate", "--config",
            self.write_config(PARAMS), "--layout", "thd", "--layer", "3", "--q", "q.npy",
            "--out-q", "out.npy")

    def test_exact_numerics_are_the_default(self):
        self.assertEqual(
            self.table(LLAMA, "--numerics", "exact")["cos"], self.table(LLAMA)["cos"])

    def test_a_rule_that_depends_on_the_context_needs_it(self):
        config = LLAMA | {"rope_scaling": {"type": "dynamic", "factor": 2}}
        name = self.write_config(config)
        says = ["--context is required", "dynamic"]
        self.assert_fails(2, says, "table", name, "--positions", "1")
        # A context of 2048 has no position 70000.
        self.assert_fails(
            2, ["positions must be below 2048", "got 70000"], "table", name, "--context", 2048,
            "--positions", "3,70000")
        long = self.table(config, "--context", 80000)
        self.assertNotEqual(long["cos"], self.table(LLAMA)["cos"])
        [rotary] = self.inspect(config)["rotary"]  # for the trained context
        self.assertEqual(rotary["contexts"], {"first": 1, "last": 2048})
        [rotary] = self.inspect(config, "--context", 5000)["rotary"]
        self.assertEqual(rotary["contexts"], {"first": 5000, "last": 5000})

    def test_rows_of_transformers_are_rounded_to_the_dtype(self):
        rows = np.array(self.table(LLAMA, "--numerics", "transformers", "--dtype", "bf16")["cos"])
        bits = rows.astype(np.float32).view(np.uint32)
        self.assertTrue(np.all(bits & 0xFFFF == 0))
        wide = np.array(self.table(LLAMA, "--numerics", "transformers")["cos"])
        np.testing.assert_allclose(rows, wide, atol=2.0**-8)
        self.assertFalse(np.all(wide.astype(np.float32).view(np.uint32) & 0xFFFF == 0))

    def test_bf16_rotation_rounds_each_step_like_transformers(self):
        """In bfloat16 rotate_half rounds cos, sin, both products and their sum."""
        rounded = lambda values: of_bf16(bf16(values))
        generator = np.random.default_rng(5)
        q = rounded(generator.standard_normal((7, 2, 16)).astype(np.float32))
        self.save("q.npy", bf16(q))
        self.run_ok(
            "rotate", "--config", self.write_config(LLAMA), "--layout", "thd", "--dtype", "bf16",
            "--numerics", "transformers", "--first-position", 100000, "--q", "q.npy", "--out-q",
            "out.npy")
        got = of_bf16(self.load("out.npy"))
        inv_freq = (1 / np.float32(10000) ** (np.arange(0, 16, 2, dtype=np.float32) / 16))
        positions = np.arange(100000, 100007, dtype=np.float32)
        angle = np.tile((positions[:, None] * inv_freq.astype(np.float32))[:, None, :], (1, 1, 2))
        cos, sin = (rounded(of(angle.astype(np.float64))) for of in (np.cos, np.sin))
        half = np.concatenate([-q[..., 8:], q[..., :8]], axis=-1)
        wanted = rounded(rounded(q * cos) + rounded(half * sin))
        self.assertGreaterEqual(np.mean(got == wanted), 0.99)

    def test_frequencies_of_a_static_rule_hold_for_every_context(self):
        [rotary] = self.inspect(YARN)["rotary"]
        self.assertEqual(rotary["contexts"], {"first": 1, "last": None})
        self.assertEqual(self.table(YARN, "--context", 9)["cos"], self.table(YARN)["cos"])
