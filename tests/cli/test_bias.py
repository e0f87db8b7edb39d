# SPDX-License-Identifier: Apache-2.0
"""Compares relative biases in text, JSON and NPY with formulas that NumPy computes in double."""

import json

import numpy as np

from tool import ToolTest, of_bf16

ALIBI = ["alibi"]


def distances(rows, cols):
    return np.abs(np.subtract.outer(np.array(rows, float), np.array(cols, float)))


class BiasTest(ToolTest):
    def bias(self, *arguments):
        return np.array(self.run_json("bias", "bias", *arguments)["bias"])

    def test_alibi_equals_its_formula(self):
        got = self.bias(*ALIBI, "--heads", "4", "--rows", "2:6", "--cols", "0:6")
        slopes = 2.0 ** (-2 * np.arange(1, 5))
        wanted = -slopes[:, None, None] * np.subtract.outer(np.arange(2.0, 6), np.arange(6.0))
        np.testing.assert_array_equal(got, wanted)
        part = self.bias(*ALIBI, "--heads", "2", "--set", "first_head=2", "--set", "model_heads=4",
                         "--rows", "2:6", "--cols", "0:6")
        np.testing.assert_array_equal(part, wanted[2:])

    def test_list_prints_the_slopes_of_alibi(self):
        arguments = ["bias", *ALIBI, "--heads", "12", "--list"]
        slopes = self.run_json("bias", *arguments)["slopes"]
        np.testing.assert_allclose(slopes[:8], 2.0 ** -np.arange(1, 9))
        np.testing.assert_allclose(slopes[8:], 2.0 ** -(np.arange(4) + 0.5))

    def test_t5_takes_the_bias_of_each_bucket_from_the_table(self):
        table = np.random.default_rng(1).standard_normal((32, 3)).astype(np.float32)
        np.save(self.path / "table.npy", table)
        arguments = ["t5", "--set", "direction=causal", "--parameters", "table.npy"]
        got = self.bias(*arguments, "--rows", "0,5,300", "--cols", "0,4,10")
        self.assertEqual(got.shape, (3, 3, 3))
        np.testing.assert_array_equal(got[:, 1, 1], table[1])
        np.testing.assert_array_equal(got[:, 0, 2], table[0])
        np.testing.assert_array_equal(got[:, 2, 0], table[31])

    def test_list_prints_the_buckets_of_t5(self):
        arguments = ["bias", "t5", "--set", "direction=causal", "--list"]
        buckets = self.run_json("bias", *arguments)["buckets"]
        self.assertEqual(buckets[0], {"bucket": 31, "first": None, "last": -113})
        self.assertEqual(buckets[-1], {"bucket": 0, "first": 0, "last": None})
        self.assertEqual([entry["bucket"] for entry in buckets], list(range(31, -1, -1)))

    def test_kerple_equals_its_formula(self):
        d = distances([4095], [0, 4094, 4095])
        where = ["--heads", "2", "--rows", "4095", "--cols", "0,4094,4095"]
        got = self.bias("kerple_log", *where, "--set", "p=1.5", "--set", "a=0.5,2")
        wanted = [-1.5 * np.log1p(a * d) for a in (0.5, 2)]
        np.testing.assert_allclose(got, wanted, rtol=1e-14)
        np.save(self.path / "p.npy", np.array([0.1, 0.2, 1.0, 1.5]))
        got = self.bias("kerple_power", *where, "--parameters", "p.npy")
        np.testing.assert_allclose(got, [-0.1 * d, -0.2 * d**1.5], rtol=1e-14)

    def test_a_parameter_file_sets_the_number_of_heads_and_may_be_standard_input(self):
        np.save(self.path / "two.npy", np.array([3.0, 5.0]))
        np.save(self.path / "four.npy", np.array([1.0, 2, 0.5, 1.5]))
        where = ["--rows", "4", "--cols", "0,4"]
        for name, file, heads in (("alibi", "two.npy", 2), ("kerple_log", "four.npy", 2),
                                  ("kerple_power", "four.npy", 2), ("kerple_log", "two.npy", 1)):
            wanted = self.bias(name, *where, "--parameters", file, "--heads", heads)
            self.assertEqual(wanted.shape[0], heads)
            got = self.bias(name, *where, "--parameters", file)
            np.testing.assert_array_equal(got, wanted)
            done = self.run_tool("bias", name, *where, "--parameters", "-", "--json",
                                 stdin=(self.path / file).read_bytes())
            self.assertEqual(done.returncode, 0, done.stderr)
            np.testing.assert_array_equal(json.loads(done.stdout)["bias"], wanted)

    def test_fire_and_sandwich_equal_their_formulas(self):
        rows, cols = np.arange(600, 603.0), np.arange(4.0)
        w1, b1 = np.array([1, -2.0]), np.array([0.1, 3])
        w2, b2 = np.array([[1, 2], [3, -4.0]]), [5, 6]
        np.save(self.path / "fire.npy", np.concatenate([[0.1, 512], w1, b1, w2.ravel(), b2]))
        x = np.log1p(0.1 * distances(rows, cols)) / (np.log1p(0.1 * rows)[:, None] + 1e-6)
        hidden = np.maximum(w1 * x[..., None] + b1, 0)
        wanted = np.einsum("ijk,hk->hij", hidden, w2) + np.array(b2)[:, None, None]
        where = ["--heads", "2", "--rows", "600:603", "--cols", "0:4"]
        got = self.bias("fire", *where, "--parameters", "fire.npy")
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
        angles = distances(rows, cols)[..., None] * 10000.0 ** (-2 * np.arange(1, 5) / 8)
        wanted = (np.cos(angles).sum(-1) - 4) / (np.arange(1, 3)[:, None, None] * 8 / 2)
        got = self.bias("sandwich", *where, "--set", "dim=8")
        np.testing.assert_allclose(got, wanted, rtol=1e-9)

    def test_text_has_aligned_columns_and_eight_correct_digits(self):
        far = 2**62
        for where in (["--rows", "1000000:1000003", "--cols", "0:3"],
                      ["--rows", far, "--cols", f"{1 - far},0"]):
            arguments = ["bias", *ALIBI, "--heads", "3", *where]
            wanted = self.bias(*arguments[1:])
            text = self.run_ok(*arguments)
            blocks = [block.splitlines()[1:] for block in text.split("\n\n")]
            for block, numbers in zip(blocks, wanted):
                self.assertEqual(len({len(line) for line in block}), 1, text)
                got = [list(map(float, line.split()[1:])) for line in block[1:]]
                np.testing.assert_allclose(got, numbers, rtol=1e-8)

    def test_text_and_files_of_each_dtype_have_the_same_bias(self):
        arguments = ["bias", *ALIBI, "--heads", "2", "--rows", "0:3", "--cols", "0:3"]
        document = self.run_json("bias", *arguments)
        text = self.run_ok(*arguments).split()
        self.assertIn("-0.125", text)
        for dtype, numpy_type in [("f32", "<f4"), ("f64", "<f8"), ("f16", "<f2"), ("bf16", "<u2")]:
            out = ["--out", f"{dtype}.npy", "--dtype", dtype]
            saved = self.run_json("bias", *arguments, *out)
            self.assertNotIn("bias", saved)
            array = np.load(self.path / f"{dtype}.npy")
            self.assertEqual(array.dtype, np.dtype(numpy_type))
            if dtype == "bf16":
                array = of_bf16(array)
            np.testing.assert_array_equal(array, document["bias"])

    def test_wrong_arguments_are_refused(self):
        block = ["--rows", "0:2", "--cols", "0:2"]
        heads = ["--heads", "2"]
        for arguments, parts in [
            (["shaw"], ["rotary table shaw"]),
            (["cope", *heads, *block], ["add_cope()"]),
            (["sandwich", *heads, *block, "--set", "dim=4", "--set", "dim=6"],
             ["--set dim is given twice"]),
            (["t5", "--list", "--set", "direction=causal", *heads], ["neither --heads"]),
            ([*ALIBI, "--heads", 2**20, "--rows", "0:5", "--cols", "0"], ["at most 4 here"]),
            ([*ALIBI, *block], ["needs --heads"]),
            ([*ALIBI, *heads], ["--rows and --cols are required, such as --rows 0:4"]),
            ([*ALIBI, *heads, *block, "--list"], ["exclude"]),
            ([*ALIBI, *heads, *block, "--set", "slope=1"], ["must be one of", "'slope'"]),
            ([*ALIBI, *heads, *block, "--dtype", "f16"], ["--dtype is for --out"]),
            ([*ALIBI, *heads, "--rows", "0:9999", "--cols", "0:9999"], ["at most"]),
            (["t5", *block], ["--set direction"]),
            (["t5", *block, "--set", "direction=causal"], ["--parameters"]),
            (["t5", "--list", "--set", "direction=both"], ["bidirectional, causal"]),
            (["t5", "--list", "--set", "direction=causal", "--set", "buckets=1"], ["buckets"]),
            (["kerple_log", *heads, *block, "--set", "p=1,2,3"], ["2 heads", "got 3"]),
            (["kerple_log", *heads, "--list"], ["--list is for"]),
            (["fire", *heads, *block], ["--parameters"]),
        ]:
            self.assert_fails(2, parts, "bias", *arguments)
        np.save(self.path / "i.npy", np.arange(4))
        np.save(self.path / "f.npy", np.arange(5.0))
        np.save(self.path / "two.npy", np.arange(2.0))
        np.save(self.path / "empty.npy", np.zeros(0))
        for name in ["fire", "kerple_log"]:
            for count in [2**63 - 1, -(2**63), 2**62 + 1, 2**20 + 1, 0]:
                self.assert_fails(2, ["--heads must be in [1, 1048576]"], "bias", name,
                                  f"--heads={count}", *block, "--parameters", "two.npy")
        for arguments, parts in [
            ([*ALIBI, *heads, *block, "--parameters", "i.npy"], ["<f4", "<i8"]),
            ([*ALIBI, *heads, *block, "--parameters", "empty.npy"], ["slope for each head"]),
            (["kerple_log", *heads, *block, "--parameters", "f.npy", "--set", "p=1"],
             ["2 numbers for each of 2 heads", "got 5"]),
            (["fire", *heads, *block, "--parameters", "f.npy"], ["2 + 2 W", "got 5"]),
            (["t5", *block, "--set", "direction=causal", "--parameters", "f.npy"], ["[5]"]),
            (["kerple_log", *block, "--parameters", "f.npy"], ["each of 3 heads", "got 5"]),
            ([*ALIBI, *block, "--parameters", "f.npy", "--set", "bias_max=16"],
             ["must be one of", "'bias_max'"]),
        ]:
            self.assert_fails(2, parts, "bias", *arguments)
