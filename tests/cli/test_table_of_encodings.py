# SPDX-License-Identifier: Apache-2.0
"""Compares rotary table without a config with rotary encode, rotary bias and NumPy."""

import numpy as np

from test_encode import POSITIONS, POSITIONS_TEXT, rows
from tool import LLAMA, ToolTest

LIKE = {name: [] for name in ("transformer", "marian", "whisper", "musicgen")}
LIKE["fairseq"] = ["--padding-idx", "1"]
FAR = 2**62
DISTANCES = [*range(-9, 10), -(2**31), 2**31, -FAR, FAR, 1 - 2**63]
DISTANCES_TEXT = f"-9:10,{-2**31},{2**31},{-FAR},{FAR},{1 - 2**63}"


class TableOfPositionsTest(ToolTest):
    def test_table_and_encode_give_the_same_rows(self):
        for name, more in LIKE.items():
            where = [*more, "--dim", 8, "--positions", POSITIONS_TEXT]
            for dtype in ("f32", "f64", "f16", "bf16"):
                to = ["--dtype", dtype, "--force", "--out"]
                self.run_ok("encode", "--like", name, *where, *to, "e.npy")
                self.run_ok("table", name, *where, *to, "t.npy")
                self.assertEqual((self.path / "t.npy").read_bytes(),
                                 (self.path / "e.npy").read_bytes())
                if dtype == "f32":
                    np.testing.assert_allclose(self.load("t.npy"), rows(name, POSITIONS, 8),
                                               rtol=0, atol=2**-24)
            document = self.run_json("table", "table", name, *where, "--dtype", "f64")
            self.assertEqual(document["positions"], POSITIONS)
            np.testing.assert_allclose(document["rows"], rows(name, POSITIONS, 8), rtol=0,
                                       atol=1e-12)
            text = self.run_ok("table", name, *where)
            self.assertEqual(text, self.run_ok("encode", "--like", name, *where))

    def test_sinusoidal_options_give_the_rows_of_named_models(self):
        where = ["--dim", 8, "--positions", POSITIONS_TEXT]
        for name, layout, spacing in (
            ("transformer", "interleaved", "even"),
            ("marian", "sin_then_cos", "even"),
            ("whisper", "sin_then_cos", "ends"),
            ("musicgen", "cos_then_sin", "ends"),
        ):
            which = ["--layout", layout, "--spacing", spacing]
            got = self.run_json("table", "table", "sinusoidal", *which, *where)
            self.assertEqual(got["rows"],
                             self.run_json("table", "table", name, *where)["rows"])
            self.assertEqual(got["sinusoidal"]["layout"], layout)
            encoded = self.run_json("encode", "encode", "--like", "sinusoidal", *which, *where)
            self.assertEqual(encoded["rows"], got["rows"])
        shifted = self.run_json("table", "table", "marian", "--dim", 8, "--positions", "0",
                                "--offset", 5000, "--base", 500)
        self.assertEqual((shifted["offset"], shifted["sinusoidal"]["base"]), (5000, 500))
        angles = 5000 * 500.0 ** (-np.arange(4) / 4)
        np.testing.assert_allclose(shifted["rows"], [[*np.sin(angles), *np.cos(angles)]],
                                   rtol=0, atol=1e-7)

    def test_a_table_of_one_feature_has_only_the_sine(self):
        document = self.run_json("table", "table", "transformer", "--dim", 1, "--positions", "-2:3")
        np.testing.assert_allclose(np.ravel(document["rows"]), np.sin(np.arange(-2, 3)), atol=1e-7)


class TableOfDistancesTest(ToolTest):
    def encodings(self):
        table = np.random.default_rng(1).standard_normal((32, 3)).astype(np.float32)
        np.save(self.path / "t5.npy", table)
        heads = ["--heads", 3]
        return {
            "t5": ["--set", "direction=bidirectional", "--parameters", "t5.npy"],
            "alibi": heads,
            "kerple_log": [*heads, "--set", "p=1.5", "--set", "a=0.5,2,3"],
            "kerple_power": [*heads, "--set", "p=0.1,1,2", "--set", "a=0.01"],
            "sandwich": [*heads, "--set", "dim=8"],
        }

    def test_each_table_equals_the_bias_of_its_distances(self):
        for name, more in self.encodings().items():
            bias = self.run_json("bias", "bias", name, *more, "--rows", "0", "--cols",
                                 DISTANCES_TEXT)
            command = ["table", name, *more, "--distances", DISTANCES_TEXT]
            table = self.run_json("table", *command, "--dtype", "f64")
            self.assertEqual(table["distances"], DISTANCES)
            self.assertEqual(table["shape"], [3, len(DISTANCES)])
            wanted = np.array(bias["bias"])[:, 0]
            np.testing.assert_array_equal(table["bias"], wanted)
            for dtype, numpy_type in (("f32", "<f4"), ("f64", "<f8"), ("f16", "<f2")):
                with np.errstate(over="ignore"):
                    rounded = wanted.astype(numpy_type)
                saved = self.run_json("table", *command, "--dtype", dtype, "--out", "t.npy",
                                      "--force")
                self.assertNotIn("bias", saved)
                array = np.load(self.path / "t.npy")
                self.assertEqual(array.dtype, np.dtype(numpy_type))
                np.testing.assert_array_equal(array, rounded)
            head, *lines = self.run_ok(*command).splitlines()
            self.assertEqual(head.split(), "key - query head 0 head 1 head 2".split())
            got = np.array([list(map(float, line.split())) for line in lines])
            np.testing.assert_array_equal(got[:, 0], np.array(DISTANCES, float))
            np.testing.assert_allclose(got[:, 1:].T, wanted, rtol=1e-7)

    def test_heads_are_numbered_as_in_the_model(self):
        part = ["--heads", 2, "--set", "first_head=2", "--set", "model_heads=4"]
        table = self.run_json("table", "table", "alibi", *part, "--distances", "-1")
        self.assertEqual((table["first_head"], table["bias"]), (2, [[-2**-6], [-2**-8]]))
        head = self.run_ok("table", "alibi", *part, "--distances", "-1").splitlines()[0]
        self.assertEqual(head.split(), "key - query head 2 head 3".split())
        head = self.run_ok("bias", "alibi", *part, "--rows", 0, "--cols", 0).splitlines()[0]
        self.assertEqual(head, "head 2")

    def test_zero_is_printed_without_a_sign(self):
        more = self.encodings()["kerple_log"]
        line = self.run_ok("table", "kerple_log", *more, "--distances", "0").splitlines()[1]
        self.assertEqual(line.split(), ["0", "0", "0", "0"])
        text = self.run_ok("bias", "kerple_log", *more, "--rows", "0", "--cols", "0")
        self.assertNotIn("-0", text.split())

    def test_rows_of_shaw_are_clipped_distances(self):
        distances = [*DISTANCES, -(2**63), 2**63 - 1]
        text = f"{DISTANCES_TEXT},{-2**63},{2**63 - 1}"
        for left, right in ((4, 2), (0, 0), (0, 3), (2**40, 2**40)):
            wanted = [left + max(-left, min(right, distance)) for distance in distances]
            command = ["table", "shaw", "--left", left, "--right", right, "--distances", text]
            document = self.run_json("table", *command)
            self.assertEqual(document["rows"], wanted)
            self.assertEqual((document["left"], document["right"]), (left, right))
            lines = self.run_ok(*command).splitlines()
            self.assertEqual(lines[0].split(), "key - query row".split())
            self.assertEqual([list(map(int, line.split())) for line in lines[1:]],
                             [list(pair) for pair in zip(distances, wanted)])
            self.run_json("table", *command, "--out", "t.npy", "--force")
            saved = np.load(self.path / "t.npy")
            self.assertEqual(saved.dtype, np.int64)
            self.assertEqual(saved.tolist(), wanted)


class TableOfSpecsTest(ToolTest):
    SPEC = ["--set", "head_dim=16", "--set", "base=10000", "--set", "pairing=half"]

    def test_rope_by_options_equals_rope_by_a_config(self):
        where = ["--positions", "-3:3,100000"]
        of_config = self.run_json("table", "table", self.config, *where)
        self.assertEqual(self.run_json("table", "table", "rope", *self.SPEC, *where), of_config)
        by_options = [*self.SPEC[:4], "--pairing", "half"]
        self.assertEqual(self.run_json("table", "table", "rope", *by_options, *where), of_config)
        scaled = ["--set", 'scaling={"rope_type": "linear", "factor": 4}']
        at_8 = self.run_json("table", "table", "rope", *self.SPEC, *scaled, "--positions", "8")
        at_2 = self.run_json("table", "table", "rope", *self.SPEC, "--positions", "2")
        self.assertEqual((at_8["cos"], at_8["sin"]), (at_2["cos"], at_2["sin"]))
        arguments = ["--numerics", "transformers", "--dtype", "bf16", "--positions", "2"]
        rounded = self.run_json("table", "table", "rope", *self.SPEC, *arguments)
        bits = np.array(rounded["cos"], np.float32).view(np.uint32)
        np.testing.assert_array_equal(bits & 0xFFFF, 0)

    def test_xpos_has_rows_for_each_role(self):
        p = np.array([-700, 0, 8, 1000.0])[:, None]
        k = np.arange(8)
        angles = p * 10000.0 ** (-k / 8)
        for more, scale_base in (([], 512), (["--set", 'xpos={"scale_base": 256}'], 256)):
            factor = ((k / 8 + 0.4) / 1.4) ** (p / scale_base)
            for role, by in (("query", factor), ("key", 1 / factor)):
                got = self.run_json("table", "table", "xpos", *self.SPEC, *more, "--role", role,
                                    "--positions", "-700,0,8,1000")
                self.assertEqual(got["role"], role)
                np.testing.assert_allclose(got["cos"], np.cos(angles) * by, rtol=1e-6, atol=1e-6)
                np.testing.assert_allclose(got["sin"], np.sin(angles) * by, rtol=1e-6, atol=1e-6)

    def test_wrong_arguments_are_refused(self):
        at = ["--positions", "0"]
        for parts, command in (
            (["head_dim, base and pairing"], ["rope", *at]),
            (["by --set: base must be given"], ["rope", *self.SPEC[:2], *at]),
            (["'pairing' twice"], ["rope", *self.SPEC, "--pairing", "half", *at]),
            (["dim is not a key of a spec"], ["rope", *self.SPEC, "--set", "dim=3", *at]),
            (["rotary_dim", "got \"\""], ["rope", *self.SPEC, "--set", "rotary_dim=", *at]),
            (["rotary_dim", "got \"inf\""], ["rope", *self.SPEC, "--set", "rotary_dim=inf", *at]),
            (["valid JSON"], ["rope", *self.SPEC, "--set", "scaling={", *at]),
            (["base", "10000,"],
             ["rope", *self.SPEC[:2], *self.SPEC[4:], "--set", 'base=10000,"sense":"negative"',
              *at]),
            (["scaling", "factor"],
             ["rope", *self.SPEC, "--set",
              'scaling={"rope_type": "linear", "factor": 4},"sense":"negative"', *at]),
            (["--role is for rotary embedding"],
             ["alibi", "--heads", 2, "--distances", "0", "--role", "key"]),
            (["--context is required"],
             ["rope", *self.SPEC, "--set", 'scaling={"rope_type": "dynamic", "factor": 2, '
              '"original_max_position_embeddings": 16}', *at]),
        ):
            with self.subTest(command=command):
                self.assert_fails(2, parts, "table", *command)


class NamesTest(ToolTest):
    def test_a_file_is_preferred_to_an_encoding(self):
        where = ["--heads", 2, "--distances", "0"]
        self.run_ok("table", "alibi", *where)
        self.write_config(LLAMA, "alibi")
        self.assert_fails(2, ["--distances is for relative biases"], "table", "alibi", *where)
        document = self.run_json("table", "table", "alibi", "--positions", "0")
        self.assertEqual(document["encoding"], "rotary")
        self.assert_fails(4, ["./t5"], "table", "./t5", "--positions", "0")

    def test_encodings_without_a_table_name_another_command(self):
        for name, part in (
            ("fire", "rotary bias fire --rows LIST --cols LIST"),
            ("cope", "add_cope()"),
            ("learned", "rotary encode --table"),
        ):
            self.assert_fails(2, [part], "table", name, "--distances", "0")
        key_position = ["--heads", "2", "--set", "form=key_position", "--distances", "0"]
        self.assert_fails(2, ["rotary bias alibi"], "table", "alibi", *key_position)
        self.assert_fails(4, ["no model card", "nor is it an encoding", "whisper", "shaw"], "table",
                          "wisper", "--positions", "0")
        for card, part in (("bloom-3b", "rotary table alibi"), ("t5-small", "rotary table t5"),
                           ("gpt2", "rotary encode --table")):
            self.assert_fails(5, ["no rotary embedding", part], "table", card, "--positions", "0")

    def test_options_of_other_encodings_are_refused(self):
        whisper = ["whisper", "--dim", 4, "--positions", "0"]
        alibi = ["alibi", "--heads", 2, "--distances", "0"]
        shaw = ["shaw", "--left", 1, "--right", 1, "--distances", "0"]
        for parts, command in (
            (["--positions is for", "take --distances LIST"], ["alibi", "--positions", "0"]),
            (["--distances is for", "take --positions LIST"], ["whisper", "--distances", "0"]),
            (["--distances is for"], [self.config, "--distances", "0"]),
            (["--heads is for relative biases"], [self.config, "--positions", "0", "--heads", 2]),
            (["--heads is for relative biases"], [*shaw, "--heads", 2]),
            (["--dim is for sinusoidal"], [*alibi, "--dim", 2]),
            (["--dtype is for"], [*shaw, "--dtype", "f32"]),
            (["--form is for rotary embedding"], [*whisper, "--form", "hf"]),
            (["--set is for rotary embedding and relative"], [*whisper, "--set", "base=2"]),
            (["--left is for shaw"], [*alibi, "--left", 2]),
            (["--padding-idx is for fairseq"], [*whisper, "--padding-idx", 1]),
            (["--layout and --spacing are for sinusoidal"], [*whisper, "--layout", "interleaved"]),
            (["--dtype is for --numerics"],
             [self.config, "--positions", "0", "--dtype", "f32"]),
        ):
            self.assert_fails(2, parts, "table", *command)

    def test_wrong_arguments_are_refused(self):
        at = ["--positions", "0"]
        for parts, command in (
            (["whisper needs --dim"], ["whisper", *at]),
            (["whisper needs --positions"], ["whisper", "--dim", 4]),
            (["alibi needs --distances"], ["alibi", "--heads", 2]),
            (["alibi needs --heads"], ["alibi", "--distances", "0"]),
            (["--parameters", "rotary bias t5 --list"],
             ["t5", "--set", "direction=causal", "--distances", "0"]),
            (["shaw needs --left"], ["shaw", "--left", 2, "--distances", "0"]),
            (["0 to 2^40", "got -1 and 2"],
             ["shaw", "--left", -1, "--right", 2, "--distances", "0"]),
            (["fairseq needs --padding-idx"], ["fairseq", "--dim", 4, *at]),
            (["--offset is not for fairseq"],
             ["fairseq", "--dim", 4, "--padding-idx", 1, "--offset", 2, *at]),
            (["sinusoidal needs --layout"], ["sinusoidal", "--dim", 4, *at]),
            (["at most 4 here"], ["alibi", "--heads", 2**20, "--distances", "0:5"]),
            ([".npy for alibi"], ["alibi", "--heads", 2, "--distances", "0", "--out", "t.npz"]),
        ):
            with self.subTest(command=command):
                self.assert_fails(2, parts, "table", *command)
