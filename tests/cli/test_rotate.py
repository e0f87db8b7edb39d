# SPDX-License-Identifier: Apache-2.0
"""Compares rotated arrays with the definition, which NumPy computes in double."""

import json

import numpy as np

from tool import INTERLEAVED, LLAMA, PARTIAL, TWO_TYPES, YARN, ToolTest, bf16, of_bf16, rotated

LAYOUTS = {"bthd": (0, 1, 2, 3), "bhtd": (0, 2, 1, 3), "thd": None}
MODELS = [  # (config, features of a head, arguments of rotated())
    (LLAMA, 16, dict(rotary_dim=16, half=True)),
    (PARTIAL, 32, dict(rotary_dim=8, half=True)),
    (INTERLEAVED, 16, dict(rotary_dim=8, half=False)),
]


class RotateTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(7)

    def random_array(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def rotate(self, config, *arguments, layout="bthd", **options):
        name = self.write_config(config)
        command = ["rotate", "--config", name, "--layout", layout, *arguments]
        return self.run_json("rotate", *command, **options)

    def test_each_model_and_layout_rotates_by_the_definition(self):
        for config, head_dim, model in MODELS:
            for layout, order in LAYOUTS.items():
                with self.subTest(model_type=config["model_type"], layout=layout):
                    batch = 1 if layout == "thd" else 2
                    x = self.random_array(batch, 5, 3, head_dim)
                    held = x[0] if layout == "thd" else x.transpose(order)
                    self.save("q.npy", np.ascontiguousarray(held))
                    more = ["--q", "q.npy", "--out-q", "out.npy", "--first-position", "-2"]
                    self.rotate(config, *more, "--force", layout=layout)
                    got = self.load("out.npy")
                    self.assertEqual((got.dtype, got.shape), (np.float32, held.shape))
                    got = got[None] if layout == "thd" else got.transpose(order)
                    wanted = rotated(x, np.arange(5) - 2, **model)
                    np.testing.assert_allclose(got, wanted, rtol=0, atol=2e-6)
                    rest = slice(model["rotary_dim"], None)
                    np.testing.assert_array_equal(got[..., rest], x[..., rest])

    def test_q_and_k_may_have_different_numbers_of_heads(self):
        q, k = self.random_array(2, 7, 4, 16), self.random_array(2, 7, 2, 16)
        names = ["--q", self.save("q.npy", q), "--k", self.save("k.npy", k)]
        outputs = ["--out-q", "q2.npy", "--out-k", "k2.npy"]
        document = self.rotate(LLAMA, *names, *outputs)
        self.assertEqual([t["name"] for t in document["tensors"]], ["q", "k"])
        self.assertEqual(document["tensors"][1]["shape"], [2, 7, 2, 16])
        self.assertEqual(document["positions"], {"first": 0, "file": None})
        for name, x in [("q2.npy", q), ("k2.npy", k)]:
            wanted = rotated(x, np.arange(7), half=True)
            np.testing.assert_allclose(self.load(name), wanted, rtol=0, atol=2e-6)

    def test_positions_are_read_from_a_file(self):
        x = self.random_array(2, 4, 1, 16)
        self.save("q.npy", x)
        per_batch = np.array([[0, 5, 5, -9], [100000, 1, 2, 3]])
        for positions, dtype in [
            (per_batch, np.int64),
            (per_batch, np.int32),
            (per_batch[0], np.int64),
            (per_batch[:1], np.int32),
            (per_batch + 0.0, np.float64),
            (per_batch[0] + [0.5, -0.25, 0.125, 1e-3], np.float64),
        ]:
            self.save("p.npy", positions.astype(dtype))
            more = ["--q", "q.npy", "--out-q", "o.npy", "--force", "--positions", "p.npy"]
            document = self.rotate(LLAMA, *more)
            self.assertEqual(document["positions"], {"first": None, "file": "p.npy"})
            wanted = rotated(x, positions, half=True)
            np.testing.assert_allclose(self.load("o.npy"), wanted, rtol=0, atol=2e-6)

    def test_inverse_and_transpose_undo_the_rotation(self):
        for config, _, model in (MODELS[0], MODELS[2]):
            x = self.random_array(1, 6, 2, 16)
            self.save("q.npy", x)
            self.rotate(config, "--q", "q.npy", "--out-q", "f.npy", "--force")
            back = ["--q", "f.npy", "--out-q", "b.npy", "--force", "--direction"]
            self.rotate(config, *back, "inverse")
            np.testing.assert_allclose(self.load("b.npy"), x, rtol=0, atol=1e-6)
            self.rotate(config, "--q", "q.npy", "--out-q", "t.npy", "--force",
                        "--direction", "transpose")
            wanted = rotated(x, -np.arange(6), **model)
            np.testing.assert_allclose(self.load("t.npy"), wanted, rtol=0, atol=2e-6)

    def test_inverse_undoes_an_attention_factor(self):
        x = self.random_array(1, 6, 2, 16)
        self.save("q.npy", x)
        self.rotate(YARN, "--q", "q.npy", "--out-q", "f.npy", "--first-position", "300")
        factor = 0.1 * np.log(4) + 1
        norms = np.linalg.norm(self.load("f.npy"), axis=-1) / np.linalg.norm(x, axis=-1)
        np.testing.assert_allclose(norms, factor, rtol=1e-6)
        self.rotate(YARN, "--q", "f.npy", "--out-q", "b.npy", "--first-position", "300",
                    "--direction", "inverse")
        np.testing.assert_allclose(self.load("b.npy"), x, rtol=0, atol=2e-6)

    def test_errors_are_within_the_rounding_of_each_dtype(self):
        """f16 is rounded from float32: unit has a factor 1 + 2^-8. 2^-25 is half the least f16."""
        x = self.random_array(2, 5, 3, 16)
        largest = x.astype(np.float16) * 100
        largest[0, 0, 0, :2] = 65504, 2.0**-24
        huge = x.astype(float) * 10.0**self.random.integers(-200, 200)
        for dtype, q, read, unit, least in (
                ("bf16", bf16(x), of_bf16, 2.0**-8, 0),
                ("f16", largest, np.float64, 2.0**-11 * (1 + 2.0**-8), 2.0**-25),
                ("f64", huge, np.float64, 1e-15, 0)):
            with self.subTest(dtype):
                names = ["--q", self.save("q.npy", q), "--k", self.save("k.npy", q[:, :, :1])]
                document = self.rotate(LLAMA, *names, "--out-q", "q2.npy", "--out-k", "k2.npy",
                                       "--dtype", dtype, "--force")
                self.assertEqual(document["dtype"], dtype)
                got = self.load("q2.npy")
                self.assertEqual((got.dtype, got.shape), (q.dtype, q.shape))
                np.testing.assert_array_equal(self.load("k2.npy"), got[:, :, :1])
                np.testing.assert_array_equal(got[:, 0], q[:, 0])
                wanted = rotated(read(q), np.arange(5), half=True)
                norms = np.tile(np.hypot(wanted[..., :8], wanted[..., 8:]), 2)
                self.assertTrue(np.all(np.abs(read(got) - wanted) <= unit * norms + least))

    def test_layer_and_layer_type_choose_the_base(self):
        x = self.random_array(1, 4, 1, 16)
        self.save("q.npy", x)
        for choice, base in [
            (["--layer", "0"], 1e6),
            (["--layer", "1"], 1e4),
            (["--layer-type", "sliding_attention"], 1e4),
        ]:
            self.rotate(TWO_TYPES, "--q", "q.npy", "--out-q", "o.npy", "--force", *choice)
            wanted = rotated(x, np.arange(4), True, base)
            np.testing.assert_allclose(self.load("o.npy"), wanted, rtol=0, atol=2e-6)

    def test_a_token_axis_as_long_as_the_number_of_heads_gives_a_warning(self):
        """A decode step [batch, heads, tokens, features] may be passed as bthd by mistake."""
        config = {**LLAMA, "num_key_value_heads": 2}
        for heads, tokens, layout, warned in ((1, 4, "bthd", True), (3, 2, "bthd", True),
                                              (4, 4, "bthd", False), (2, 4, "bthd", False),
                                              (1, 5, "bthd", False), (4, 1, "bhtd", False)):
            with self.subTest(heads=heads, tokens=tokens, layout=layout):
                shape = (1, tokens, heads, 16) if layout == "bthd" else (1, heads, tokens, 16)
                self.save("q.npy", self.random_array(*shape))
                more = ["--q", "q.npy", "--out-q", "o.npy", "--force"]
                warnings = self.rotate(config, *more, layout=layout)["warnings"]
                self.assertEqual(len(warnings), int(warned))
                if warned:
                    self.assertIn("as many as the model has heads", warnings[0])
                    self.assertIn("is its layout not bthd?", warnings[0])
        self.save("q.npy", self.random_array(1, 3, 1, 16))
        document = self.rotate({**config, "hidden_size": 48}, "--q", "q.npy", "--out-q", "o.npy",
                               "--force", "--set", "num_attention_heads=3", layout="bthd")
        self.assertIn("as many as the model has heads", document["warnings"][-1])

    def test_the_option_pairing_overrides_the_config_with_a_warning(self):
        x = self.random_array(1, 5, 1, 16)
        self.save("q.npy", x)
        more = ["--q", "q.npy", "--out-q", "o.npy", "--pairing", "interleaved"]
        document = self.rotate(LLAMA, *more)
        self.assertEqual(document["pairing"], "interleaved")
        self.assertEqual(len(document["warnings"]), 1)
        wanted = rotated(x, np.arange(5), half=False)
        np.testing.assert_allclose(self.load("o.npy"), wanted, rtol=0, atol=2e-6)

    def test_interleaved_to_half_moves_features_and_inverse_moves_them_back(self):
        x = self.random_array(1, 4, 1, 16)
        self.save("q.npy", x)
        pairing = ["--pairing", "interleaved_to_half"]
        document = self.rotate(LLAMA, "--q", "q.npy", "--out-q", "o.npy", *pairing)
        self.assertEqual(document["pairing"], "interleaved_to_half")
        interleaved = rotated(x, np.arange(4), half=False)
        wanted = np.concatenate([interleaved[..., 0::2], interleaved[..., 1::2]], axis=-1)
        np.testing.assert_allclose(self.load("o.npy"), wanted, rtol=0, atol=2e-6)
        back = ["--direction", "inverse", *pairing]
        self.rotate(LLAMA, "--q", "o.npy", "--out-q", "back.npy", *back)
        np.testing.assert_allclose(self.load("back.npy"), x, rtol=0, atol=2e-6)

    def test_config_and_array_are_read_from_standard_input(self):
        self.save("q.npy", self.random_array(1, 4, 2**14, 16))  # larger than one read of a pipe
        command = ["rotate", "--layout", "bthd", "--out-q", "o.npy", "--force"]
        self.run_ok(*command, "--config", "-", "--q", "q.npy", stdin=json.dumps(LLAMA).encode())
        from_config = self.load("o.npy")
        data = (self.path / "q.npy").read_bytes()
        self.run_ok(*command, "--config", self.config, "--q", "-", stdin=data)
        np.testing.assert_array_equal(self.load("o.npy"), from_config)

    def test_an_array_without_tokens_gives_an_empty_output(self):
        self.save("q.npy", self.random_array(2, 0, 3, 16))
        self.rotate(LLAMA, "--q", "q.npy", "--out-q", "o.npy")
        self.assertEqual(self.load("o.npy").shape, (2, 0, 3, 16))
