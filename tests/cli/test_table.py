# SPDX-License-Identifier: Apache-2.0
"""Compares tables in each form and file format with NumPy in double."""

import zipfile

import numpy as np

from tool import INTERLEAVED, LLAMA, PARTIAL, TWO_TYPES, YARN, ToolTest

POSITIONS = [-3, -2, -1, 0, 1, 2, 2047, 100000]
POSITIONS_TEXT = "-3:3,2047,100000"


def angles(rotary_dim, base=10000.0):
    inv_freq = base ** (-np.arange(0, rotary_dim, 2) / rotary_dim)
    return np.outer(POSITIONS, inv_freq)


class TableTest(ToolTest):
    def table(self, config, out, *arguments):
        name = self.write_config(config)
        command = ["table", name, "--positions", POSITIONS_TEXT, "--out", out, *arguments]
        self.run_ok(*command)
        return np.load(self.path / out)

    def assert_rows(self, got, wanted):
        self.assertEqual(got.dtype, wanted.astype(got.dtype).dtype)
        self.assertEqual(got.shape, wanted.shape)
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-7)

    def test_rows_have_half_width_by_default(self):
        arrays = self.table(LLAMA, "t.npz")
        self.assertEqual(sorted(arrays.files), ["cos", "sin"])
        self.assertEqual(arrays["cos"].dtype, np.float32)
        self.assert_rows(arrays["cos"], np.cos(angles(16)))
        self.assert_rows(arrays["sin"], np.sin(angles(16)))

    def test_form_hf_has_the_rows_of_transformers(self):
        half = self.table(PARTIAL, "half.npz", "--form", "hf")
        doubled = np.concatenate([angles(8), angles(8)], axis=-1)
        self.assert_rows(half["cos"], np.cos(doubled))
        self.assert_rows(half["sin"], np.sin(doubled))
        interleaved = self.table(INTERLEAVED, "interleaved.npz", "--form", "hf")
        repeated = np.repeat(angles(8), 2, axis=-1)
        self.assert_rows(interleaved["cos"], np.cos(repeated))
        self.assert_rows(interleaved["sin"], np.sin(repeated))

    def test_form_complex_has_complex_exponentials(self):
        wanted = np.exp(1j * angles(16))
        archive = self.table(LLAMA, "c.npz", "--form", "complex")
        self.assertEqual(archive.files, ["freqs_cis"])
        self.assertEqual(archive["freqs_cis"].dtype, np.complex64)
        self.assert_rows(archive["freqs_cis"], wanted)
        self.assert_rows(self.table(LLAMA, "c.npy", "--form", "complex"), wanted)

    def test_npy_holds_cos_and_sin_in_one_array(self):
        both = self.table(LLAMA, "t.npy")
        self.assertEqual(both.dtype, np.float32)
        self.assert_rows(both, np.stack([np.cos(angles(16)), np.sin(angles(16))]))

    def test_rows_include_the_attention_factor(self):
        rows = self.table(YARN, "t.npz")
        norms = np.hypot(rows["cos"], rows["sin"])
        np.testing.assert_allclose(norms, 0.1 * np.log(4) + 1, rtol=1e-6)

    def test_the_same_command_gives_the_same_bytes(self):
        self.table(LLAMA, "a.npz")
        self.table(LLAMA, "b.npz")
        self.assertEqual((self.path / "a.npz").read_bytes(), (self.path / "b.npz").read_bytes())
        with zipfile.ZipFile(self.path / "a.npz") as archive:
            self.assertEqual({(entry.compress_type, entry.date_time) for entry in archive.filelist},
                             {(zipfile.ZIP_STORED, (1980, 1, 1, 0, 0, 0))})

    def test_json_has_positions_shape_cos_and_sin(self):
        arguments = ["table", self.config, "--positions", POSITIONS_TEXT]
        document = self.run_json("table", *arguments)
        self.assertEqual(document["positions"], POSITIONS)
        self.assertEqual(document["shape"], [8, 8])
        np.testing.assert_allclose(document["cos"], np.cos(angles(16)), rtol=0, atol=1e-7)
        np.testing.assert_allclose(document["sin"], np.sin(angles(16)), rtol=0, atol=1e-7)
        with_file = self.run_json("table", *arguments, "--out", "t.npz")
        self.assertEqual(with_file["output"], "t.npz")
        self.assertNotIn("cos", with_file)
        saved = np.load(self.path / "t.npz")["cos"]
        np.testing.assert_array_equal(saved, np.float32(document["cos"]))

    def test_the_text_of_form_hf_has_a_line_for_each_feature(self):
        head, *lines = self.run_ok("table", self.config, "--positions", "0:8", "--form",
                                   "hf").splitlines()
        self.assertEqual(head.split(), ["position", "feature", "cos", "sin"])
        self.assertEqual(len(lines), 8 * 16)

    def test_the_layer_type_chooses_the_frequencies(self):
        rows = self.table(TWO_TYPES, "t.npz", "--layer-type", "full_attention")
        self.assert_rows(rows["cos"], np.cos(angles(16, 1e6)))
        name = self.write_config(TWO_TYPES)
        choices = "(full_attention, sliding_attention)"
        self.assert_fails(2, [f"has 2 rotary embeddings: choose one with --layer-type {choices}"],
                          "table", name, "--positions", "0")
        arguments = ["table", name, "--positions", "0", "--layer-type", "linear"]
        self.assert_fails(2, [f"must be one that the config names {choices}, got 'linear'"],
                          *arguments)

    def test_wrong_arguments_are_refused(self):
        for part, arguments in (("at most", ["0:99999999999"]),
                                ("at most", ["0:99999999999", "--out", "t.npz"]),
                                ("half-width", ["0", "--form", "wide"])):
            self.assert_fails(2, [part], "table", self.config, "--positions", *arguments)
