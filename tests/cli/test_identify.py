# SPDX-License-Identifier: Apache-2.0
"""Tests the verdicts, exit codes and text of rotary identify, and rotary trace."""

import json
import pathlib

import numpy as np

import gguf_files
import safetensors_files
from tool import LLAMA, TWO_TYPES, ToolTest, bf16, narrow, of_bf16, rotated, spoilt, validate

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "identify"
WIDTH = 16


def heads(tokens=9, count=2, seed=1):
    return np.random.default_rng(seed).standard_normal((tokens, count, WIDTH)).astype(np.float32)


def turned(x, positions, half=True, base=10000.0):
    return rotated(x, positions, half, base).astype(np.float32)


class IdentifyTool(ToolTest):
    def identify(self, *arguments, first=None):
        """Runs identify with the config. Returns (exit code, document)."""
        where = [] if first is None else ["--first-position", first]
        result = self.run_tool("identify", *arguments, "--config", self.config, *where, "--json")
        document = json.loads(result.stdout)
        validate(document, "identify")
        return result.returncode, document

    def text(self, code, *arguments, first=0):
        return self.run_ok("identify", *arguments, "--config", self.config, "--first-position",
                           first, code=code)

    def files(self, before, after):
        return ["--before", self.save("q.npy", before), "--after", self.save("q2.npy", after)]

    def table(self, angles):
        return ["--cos", self.save("cos.npy", np.cos(angles).astype(np.float32)),
                "--sin", self.save("sin.npy", np.sin(angles).astype(np.float32))]

    def causes(self, document):
        return [(cause["name"], field["field"], field["found"])
                for cause in document["explanations"][0]["causes"] for field in cause["fields"]]


class IdentifyTest(IdentifyTool):
    def test_a_correct_rotation_has_the_verdict_as_configured(self):
        x = heads()
        y = turned(x, np.arange(5, 14))
        code, found = self.identify(*self.files(x, y), first=5)
        self.assertEqual((code, found["verdict"]), (0, "as_configured"))
        self.assertEqual((found["layout"], found["tokens"], found["heads"]), ("thd", 9, 2))

    def test_a_wrong_pairing_and_a_wrong_base_are_found_together(self):
        x = heads()
        y = turned(x, np.arange(9), base=500000.0, half=False)
        code, found = self.identify(*self.files(x, y), first=0)
        self.assertEqual((code, found["verdict"]), (1, "another_cause"))
        self.assertEqual(self.causes(found), [("pairing", "pairing", "interleaved"),
                                              ("base", "base", "500000")])
        code, found = self.identify(*self.files(x, y), "--causes", "1", first=0)
        self.assertEqual((code, found["verdict"]), (6, "unexplained"))

    def test_layout_and_first_position_are_found(self):
        x = heads()
        y = turned(x, np.arange(70, 79))
        files = self.files(x.swapaxes(0, 1)[None].copy(), y.swapaxes(0, 1)[None].copy())
        code, found = self.identify(*files)
        self.assertEqual((code, found["layout"], found["first_position"]), (0, "bhtd", 70))

    # The dump rotates each head by its index, so it fits if tokens and heads are exchanged.
    def test_a_dump_that_fits_only_with_exchanged_axes_is_faulty(self):
        x = heads(tokens=4, count=6)
        y = turned(x.swapaxes(0, 1), np.arange(6)).swapaxes(0, 1).copy()
        files = self.files(x, y)
        code, found = self.identify(*files, first=0)
        self.assertEqual((code, found["verdict"], found["layout"], found["right_layout"]),
                         (1, "another_cause", "thd", "htd"))
        code, found = self.identify(*files, "--layout", "htd", first=0)
        self.assertEqual((code, found["verdict"], found["right_layout"]),
                         (0, "as_configured", None))
        self.assertIn("with the axes htd as configured, with thd another cause; say --layout",
                      self.text(1, *files))

    def test_wrong_positions_of_a_few_tokens_are_found(self):
        x = heads(tokens=6)
        y = turned(x, [0, 1, 7, 8, 9, 5])
        code, found = self.identify(*self.files(x, y), "--layout", "thd", first=0)
        self.assertEqual((code, self.causes(found)),
                         (1, [("token_positions", "positions of tokens 2-4", "p + 5")]))
        self.assertEqual(found["positions"]["found"], [[[0, 1, 7, 8, 9, 5]]])
        self.assertEqual(found["checked_tokens"], 6)

    def test_the_first_position_of_a_table_is_found(self):
        angles = np.outer(np.arange(4000, 4009), 10000.0 ** (-np.arange(8) / 8))
        code, found = self.identify(*self.table(angles))
        self.assertEqual((code, found["first_position"]), (0, 4000))

    def test_unrelated_numbers_are_unexplained(self):
        x = heads()
        y = heads(seed=2)
        code, found = self.identify(*self.files(x, y), first=0)
        self.assertEqual((code, found["verdict"], found["explanations"]), (6, "unexplained", []))
        self.assertGreater(found["closest"][0]["residual"], 0.5)

    def test_changed_lengths_of_pairs_are_named(self):
        x = heads()
        rng = np.random.default_rng(3)
        weights = 1 + 0.3 * rng.standard_normal(WIDTH).astype(np.float32)
        normed = x / np.sqrt((x**2).mean(-1, keepdims=True))
        for q in normed, normed * weights, x + 0.1 * heads(seed=4):
            text = self.text(6, *self.files(x, turned(q, np.arange(9))))
            self.assertRegex(text, r"Lengths within pairs changed by (.|\n)*QK-norm\?")
        angles = rng.uniform(0, 6, (9, 1, WIDTH // 2))
        y = np.concatenate([x[..., :8] * np.cos(angles) - x[..., 8:] * np.sin(angles),
                            x[..., 8:] * np.cos(angles) + x[..., :8] * np.sin(angles)], -1)
        self.assertNotIn("Lengths", self.text(6, *self.files(x, y.astype(np.float32))))

    def test_bf16_is_accepted_as_uint16_and_as_float32(self):
        x = bf16(heads())
        wide = of_bf16(x)
        y = bf16(rotated(wide, np.arange(1000, 1009), half=True))
        code, found = self.identify(*self.files(x, y), "--dtype", "bf16", first=1000)
        self.assertEqual((code, found["dtype"]), (0, "bf16"))
        code, found = self.identify(*self.files(wide, of_bf16(y)), first=1000)
        self.assertEqual((code, found["dtype"]), (0, "bf16"))
        # uint16 without --dtype is refused.
        self.assert_fails(2, ["--before must have the type '<f4', '<f2' or '<f8', got '<u2'; for "
                              "bf16 held as uint16 pass --dtype bf16"], "identify",
                          *self.files(x, y), "--config", self.config)

    def test_rounding_differences_are_distinguished_from_larger_ones(self):
        x = narrow(heads(count=4))
        one, other = np.split(x, 2, -1)
        inv_freq = np.float32(10000.0 ** (-np.arange(WIDTH // 2) / (WIDTH // 2)))
        angles = np.arange(1000, 1009, dtype=np.float32)[:, None, None] * inv_freq
        cos, sin = narrow(np.cos(angles)), narrow(np.sin(angles))
        kernel = narrow(np.concatenate([one * cos - other * sin, other * cos + one * sin], -1))
        steps = narrow(np.concatenate([narrow(one * cos) - narrow(other * sin),
                                       narrow(other * cos) + narrow(one * sin)], -1))
        files = [*self.files(x, kernel), "--other", self.save("q3.npy", steps)]
        code, found = self.identify(*files, first=1000)
        self.assertEqual((code, found["other"]["difference"]), (0, "rounding"))
        named = [each["explanations"][0]["arithmetic"] for each in (found, found["other"])]
        self.assertEqual(named, ["rounded_rows", "every_step"])
        self.assertIn("differ only by rounding", self.text(0, *files, first=1000))
        further, another = turned(x, np.arange(1001, 1010)), heads(count=4, seed=2)
        for numbers, wanted in (
                (kernel, (0, "none")), (further, (1, "more")), (another, (6, "unknown"))):
            self.save("q3.npy", numbers)
            code, found = self.identify(*files, first=1000)
            self.assertEqual((code, found["other"]["difference"]), wanted)

    def test_tied_explanations_name_a_position_that_separates_them(self):
        x = heads()
        y = turned(x, np.arange(9))
        _, found = self.identify(*self.files(x, y), "--layout", "thd", first=0)
        ties = {cause["fields"][0]["found"]: each["separating_position"]
                for each in found["explanations"] if len(each["causes"]) == 1
                for cause in each["causes"] if cause["name"] == "rounded_positions"}
        self.assertEqual(ties, {"bf16": 257, "f16": 2049})

    def test_tables_and_frequencies_are_identified(self):
        inv_freq = 10000.0 ** (-np.arange(8) / 8)
        table = self.table(np.outer(np.arange(9), inv_freq))
        self.assertEqual(self.identify(*table)[0], 0)
        self.assertIn("\ncompared at 9 positions; tried ", self.run_ok("identify", *table))
        text = self.run_ok("identify", "--inv-freq", self.save("f.npy", 5e5 ** (-np.arange(8) / 8)))
        self.assertRegex(text, r"^described: this rotary embedding(?!(.|\n)*Next:)")
        code, found = self.identify(*table, "--set", "rope_theta=500000.0")
        self.assertEqual((code, self.causes(found)), (1, [("base", "base", "10000")]))
        frequencies = self.save("f.npy", inv_freq.astype(np.float32))
        self.assertEqual(self.identify("--inv-freq", frequencies)[0], 0)
        code, found = self.identify(
            "--inv-freq", frequencies, "--set", 'rope_scaling={"rope_type": "linear", "factor": 4}')
        self.assertEqual((code, self.causes(found)[0]), (1, ("scaling", "rope_type", "default")))

    def test_an_offset_between_two_caches_is_found(self):
        x = heads()
        positions = np.arange(30, 39)
        ours = self.save("k.npy", turned(x, positions))
        theirs = self.save("k2.npy", turned(x, positions + 1))
        code, found = self.identify("--ours", ours, "--theirs", theirs, first=30)
        self.assertEqual((code, self.causes(found)), (1, [("position_offset", "positions",
                                                           "p + 1")]))

    def test_refusals_name_the_option_of_the_file(self):
        def refused(message, *files):
            self.assert_fails(2, [message], "identify", *files, "--config", self.config,
                              "--first-position", "0")

        x = self.save("x.npy", heads())
        narrow_x = self.save("narrow.npy", heads()[..., :8])
        np.savez(self.path / "two.npz", a=heads(), b=heads())
        refused("--ours must name one of the arrays of two.npz, as two.npz:NAME; it has a, b",
                "--ours", "two.npz", "--theirs", x)
        refused("--theirs: two.npz must have the array 'c'; it has a, b",
                "--ours", x, "--theirs", "two.npz:c")
        refused("--ours and --theirs must have one shape", "--ours", x, "--theirs", narrow_x)
        refused("--ours must have the axes of --layout td", "--ours", x, "--theirs", x,
                "--layout", "td")
        refused("--before and --other must have one shape", "--before", x, "--after", x,
                "--other", narrow_x)
        refused("before in TRACE: two.npz must have the array '0.q.before'; it has a, b", "two.npz")

    def test_a_safetensors_trace_is_read(self):
        x = heads()
        y = turned(x, np.arange(9))
        arrays = {"0.q.before": x, "0.q.after": y, "0.positions": np.arange(9, dtype=np.int64)}
        safetensors_files.save(self.path / "trace.safetensors", arrays)
        code, found = self.identify("trace.safetensors")
        self.assertEqual((code, found["verdict"]), (0, "as_configured"))
        self.assert_fails(2, ["it has 0.q.before, 0.q.after, 0.positions"], "identify",
                          "trace.safetensors", "--config", self.config, "--call", "1")

    def save_trace(self, positions, base=10000.0, **others):
        x = heads(len(positions))
        arrays = {"q.before": x, "q.after": turned(x, positions, base=base),
                  "positions": np.array(positions), **others}
        safetensors_files.save(self.path / "trace.safetensors",
                               {f"0.{name}": array for name, array in arrays.items()})

    def test_the_layer_of_a_trace_chooses_the_embedding(self):
        self.config = self.write_config(TWO_TYPES)
        for layer, base in ((0, 1000000.0), (1, 10000.0)):
            self.save_trace(range(300, 309), base, layer=np.array([layer]))
            code, found = self.identify("trace.safetensors")
            self.assertEqual((code, found["verdict"]), (0, "as_configured"), layer)
            code, found = self.identify("trace.safetensors", "--layer", 1 - layer)
            self.assertEqual(code, 1, layer)

    def test_wrong_position_ids_from_the_caller_of_the_model_are_noted(self):
        for first, given, past, part in ((17, 17, 16, "16 cached tokens: row 0, token 0: 17, "
                                                      "where it must be 16: all are off by +1"),
                                         (0, 5, 5, "other ids than the rotary module got"),
                                         (16, 16, 16, None)):
            self.save_trace(range(first, first + 9), given=np.arange(given, given + 9),
                            past=np.array([past]))
            code, found = self.identify("trace.safetensors")
            self.assertEqual((code, found["verdict"]), (0, "as_configured"))
            self.assertEqual(len(found["notes"]), 1 if part else 0)
            self.assertIn(part or "", " ".join(found["notes"]))

    def test_a_gguf_config_for_a_trace_of_transformers_is_noted(self):
        keys = gguf_files.llama(block_count=2, embedding_length=64, attention__head_count=4,
                                attention__head_count_kv=2, rope__freq_base=10000.0,
                                rope__dimension_count=WIDTH)
        (self.path / "model.gguf").write_bytes(gguf_files.encoded(keys))
        self.config = "model.gguf"
        self.save_trace(range(9))
        code, found = self.identify("trace.safetensors")
        self.assertEqual((code, self.causes(found)), (1, [("pairing", "pairing", "half")]))
        self.assertIn("needs its config.json", " ".join(found["notes"]))

    def test_incomplete_arguments_are_refused(self):
        for arguments, message in (
                ([], "identify needs numbers of one kind"),
                (["--before", "q.npy"], "--before and --after go together"),
                (["--ours", "a.npy", "--theirs", "b.npy"], "--ours and --theirs need --config")):
            self.assert_fails(2, [message], "identify", *arguments)


INTERLEAVED = ("pairing", "pairing", "interleaved")
LLAMA3 = {"rope_theta": 500000.0, "rope_scaling": {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192}}
YARN = {"rope_theta": 150000.0, "rope_scaling": {
    "rope_type": "yarn", "factor": 32.0, "truncate": False,
    "original_max_position_embeddings": 4096}}
DROPPED = ("attention_factor", "attention_factor", "1")


class NonFiniteTest(IdentifyTool):
    """Comparisons with NaN are false, so a NaN could pass a check unnoticed."""

    def assert_refuses(self, name, message, *arguments):
        self.assert_fails(3, [f"{name} must have finite numbers of float32's range, got {message}"],
                          "identify", *arguments, "--config", self.config)

    def test_no_element_may_be_nan_or_infinite(self):
        x = heads(3, 1)
        angles = np.outer(np.arange(2), 10000.0 ** (-np.arange(8) / 8))
        twice = np.repeat(angles, 2, -1)
        for arrays in ({"--before": x, "--after": turned(x, np.arange(3))},
                       {"--cos": np.cos(angles), "--sin": np.sin(angles)},
                       {"--cos": np.cos(twice), "--sin": np.sin(twice)}, {"--inv-freq": angles[1]}):
            for name, array in arrays.items():
                for index, value, spoiled in spoilt(array):
                    with self.subTest(name=name, index=index, value=value):
                        given = (arrays | {name: spoiled}).items()
                        self.assert_refuses(name, f"{value} at {index}", *(
                            word for name, array in given
                            for word in (name, self.save(f"{name[2:]}.npy", array))))

    def test_elements_outside_the_sample_must_be_finite(self):
        x = heads(100, 9)
        y = turned(x, np.arange(100))
        for index in ([17, 0, 3], [99, 8, 15], [50, 4, 0]):
            spoiled = y.copy()
            spoiled[tuple(index)] = np.nan
            self.assert_refuses("--after", f"nan at {index}", *self.files(x, spoiled),
                                "--first-position", "0")

    def test_nan_is_refused_in_each_dtype(self):
        x = heads(3, 1)
        spoiled = x.copy()
        spoiled[2, 0, 5] = np.nan
        for dtype, held in (("f16", lambda x: x.astype(np.float16)), ("bf16", bf16),
                            ("f64", lambda x: x.astype(float))):
            self.assert_refuses("--after", "nan at [2, 0, 5]", *self.files(held(x), held(spoiled)),
                                "--dtype", dtype)

    def test_numbers_whose_squares_overflow_are_refused(self):
        self.assert_refuses("--before", "1e+300 at [0, 0, 0]",
                            *self.files(np.full((3, 1, WIDTH), 1e300), heads(3, 1).astype(float)))


class OtherProgramsTest(IdentifyTool):
    """Identifies dumps that the code of five packages made (tests/golden/PROVENANCE.md)."""

    DUMPS = {
        "ggml/neox": ({}, []),
        "ggml/normal": ({}, [INTERLEAVED]),
        "mlx/plain_bf16": ({}, []),
        "mlx/plain_f32": ({}, []),
        "mlx/traditional_bf16": ({}, [INTERLEAVED]),
        "mlx/traditional_f32": ({}, [INTERLEAVED]),
        "onnxruntime/interleaved_0": ({}, []),
        "onnxruntime/interleaved_1": ({}, [INTERLEAVED]),
        # This package rounds positions to q's dtype. bf16 has no number between 1000 and 1004.
        "rotary_embedding_torch/bf16": ({}, [INTERLEAVED,
                                             ("rounded_positions", "positions", "bf16")]),
        "rotary_embedding_torch/f32": ({}, [INTERLEAVED]),
        **{f"transformers/{case}_{dtype}": expected for dtype in ("bf16", "f32")
           for case, expected in (("cohere", ({}, [INTERLEAVED])), ("llama3", (LLAMA3, [])),
                                  ("yarn", (YARN, [])),
                                  ("yarn_without_factor", (YARN, [DROPPED])))},
    }

    def set_rope(self, rope):
        self.write_config(LLAMA | {"hidden_size": 256, "num_attention_heads": 4,
                                   "head_dim": 64, "max_position_embeddings": 131072} | rope)

    def dump(self, name):
        package, case = name.split("/")
        path = GOLDEN / f"{package}.npz"
        return ["--before", f"{path}:{case}_before", "--after", f"{path}:{case}_after"]

    def test_every_recorded_dump_is_listed(self):
        kept = [f"{path.stem}/{array.removesuffix('_after')}" for path in GOLDEN.glob("*.npz")
                for array in np.load(path).files if array.endswith("_after")]
        self.assertEqual(sorted(kept), sorted(self.DUMPS))

    def test_the_causes_of_each_dump_are_named(self):
        for name, (rope, causes) in self.DUMPS.items():
            with self.subTest(name):
                self.set_rope(rope)
                code, found = self.identify(*self.dump(name), first=1000)
                self.assertEqual((code, self.causes(found)), (1 if causes else 0, causes))

    def test_the_first_positions_of_dumps_are_found(self):
        for name in ("ggml/neox", "mlx/plain_f32", "transformers/cohere_bf16",
                     "onnxruntime/interleaved_1"):
            with self.subTest(name):
                self.set_rope({})
                _, found = self.identify(*self.dump(name))
                self.assertEqual(found["first_position"], 1000)


class TraceTest(ToolTest):
    def test_trace_prints_the_adapter_of_the_examples(self):
        adapter = pathlib.Path(__file__).parents[2] / "examples" / "trace_rope.py"
        self.assertEqual(self.run_ok("trace"), adapter.read_text())
        document = self.run_json("trace", "trace")
        self.assertEqual(document["adapter"], adapter.read_text())
        compile(document["adapter"], "trace_rope.py", "exec")
