# SPDX-License-Identifier: Apache-2.0
"""Compares rotary encode with NumPy in double, and tests its refusals."""

import numpy as np

from tool import ToolTest, of_bf16

POSITIONS = [-2, 0, 1, 2, 5000]
POSITIONS_TEXT = "-2,0:3,5000"


def angles(positions, dim, spacing):
    k = np.arange(dim // 2)
    exponent = 2 * k / dim if spacing == "even" else k / (dim // 2 - 1)
    return np.multiply.outer(np.asarray(positions, float), 10000.0 ** -exponent)


def rows(like, positions, dim):
    if like == "fairseq":
        positions = np.asarray(positions) + 2
        encoded = rows("whisper", positions, dim)
        encoded[positions == 1] = 0
        return encoded
    phi = angles(positions, dim, "even" if like in ("transformer", "marian") else "ends")
    if like == "transformer":
        return np.stack([np.sin(phi), np.cos(phi)], axis=-1).reshape(*phi.shape[:-1], dim)
    halves = [np.sin(phi), np.cos(phi)]
    return np.concatenate(halves[::-1] if like == "musicgen" else halves, axis=-1)


class EncodeTest(ToolTest):
    def test_json_lists_the_rows(self):
        command = ["encode", "--like", "whisper", "--dim", 6, "--positions", POSITIONS_TEXT]
        document = self.run_json("encode", *command, "--dtype", "f64")
        np.testing.assert_allclose(document["rows"], rows("whisper", POSITIONS, 6), atol=1e-12)
        self.assertEqual(document["positions"]["listed"], POSITIONS)
        self.assertEqual(document["sinusoidal"]["spacing"], "ends")

    def test_bf16_rows_are_rounded_once(self):
        self.run_ok("encode", "--like", "marian", "--dim", 64, "--positions", "0:50",
                    "--dtype", "bf16", "--out", "t.npy")
        bits = self.load("t.npy")
        self.assertEqual(bits.dtype, np.uint16)
        np.testing.assert_allclose(of_bf16(bits), rows("marian", range(50), 64), rtol=0, atol=2**-9)

    def test_embeddings_of_each_dtype_are_scaled_and_encoded(self):
        random = np.random.default_rng(3)
        for dtype, atol in ((np.float64, 1e-13), (np.float32, 2**-22), (np.float16, 2**-9)):
            x = random.standard_normal((2, 5, 16)).astype(dtype)
            self.save("x.npy", x)
            document = self.run_json("encode", "encode", "--like", "transformer", "--x", "x.npy",
                                     "--scale", "sqrt-dim", "--first-position", 7, "--out",
                                     "y.npy", "--force")
            wanted = 4 * x.astype(float) + rows("transformer", range(7, 12), 16)
            np.testing.assert_allclose(self.load("y.npy"), wanted, rtol=0, atol=8 * atol)
            self.assertEqual(document["positions"], {"first": 7, "file": None})
            self.assertEqual(document["input"], "x.npy")

    def test_positions_are_read_from_a_file(self):
        x = np.zeros((2, 3, 8), np.float32)
        positions = np.array([[0, 1.5, -1], [4, -1, 0]])
        self.save("x.npy", x)
        self.save("p.npy", positions)
        self.run_ok("encode", "--like", "fairseq", "--padding-idx", 1, "--x", "x.npy",
                    "--positions", "p.npy", "--out", "y.npy")
        np.testing.assert_allclose(self.load("y.npy"), rows("fairseq", positions, 8), rtol=0,
                                   atol=2**-23)

    def test_a_batch_without_rows_gives_an_empty_output(self):
        self.save("x.npy", np.zeros((0, 3, 8), np.float32))
        self.save("p.npy", np.zeros((0, 3), np.int64))
        self.run_ok("encode", "--like", "marian", "--x", "x.npy", "--positions", "p.npy", "--out",
                    "y.npy")
        self.assertEqual(self.load("y.npy").shape, (0, 3, 8))

    def test_rows_of_a_learned_table_are_added(self):
        random = np.random.default_rng(4)
        x = random.standard_normal((3, 8)).astype(np.float32)
        table = random.standard_normal((10, 8)).astype(np.float32)
        self.save("x.npy", x)
        self.save("t.npy", table)
        command = ["encode", "--table", "t.npy", "--offset", 2, "--x", "x.npy"]
        document = self.run_json("encode", *command, "--first-position", 5, "--out", "y.npy")
        np.testing.assert_array_equal(self.load("y.npy"), x + table[7:10])
        self.assertIsNone(document["sinusoidal"])
        self.assert_fails(2, ["0 <= row < 10", "index 8 and offset 2", "token 2"], *command,
                          "--first-position", 6, "--out", "z.npy")

    def test_wrong_arguments_are_refused(self):
        self.save("x.npy", np.zeros((3, 8), np.float32))
        like = ["encode", "--like", "marian"]
        short = [*like, "--dim", 8, "--positions", "0:2"]
        with_x = [*like, "--x", "x.npy", "--out", "y.npy"]
        for parts, command in (
            (["one of --like and --table"], ["encode", "--dim", 8, "--positions", "0"]),
            (["--like and --table exclude each other"], [*with_x, "--table", "x.npy"]),
            (["--table needs --x"], ["encode", "--table", "x.npy"]),
            (["--x and --out"], [*like, "--x", "x.npy"]),
            (["--dim and --positions are required"], [*like, "--dim", 8]),
            (["--dtype must be f32 or f64 without --out"], [*short, "--dtype", "bf16"]),
            (["must end in .npy, got 'y.npz'"], [*short, "--out", "y.npz"]),
            (["--scale is for the embeddings"], [*short, "--scale", 2]),
            (["exclude each other"], [*with_x, "--first-position", 1, "--positions", "x.npy"]),
            (["--dim is that of --x"], [*with_x, "--dim", 8]),
            (["--positions must have the shape"], [*with_x, "--positions", "x.npy"]),
            (["--positions must be an NPY file", "--first-position"],
             [*with_x, "--positions", ",".join(map(str, range(200)))]),
            (["--positions must be a list here", "--x"],
             [*like, "--dim", 8, "--positions", "x.npy"]),
            (["sqrt-dim, got 'sqrt'"], [*with_x, "--scale", "sqrt"]),
        ):
            with self.subTest(command=command):
                self.assert_fails(2, parts, *command)
        self.save("flat.npy", np.zeros(8, np.float32))
        self.assert_fails(2, ["--x must have the shape", "[8]"], *like, "--x", "flat.npy",
                          "--out", "y.npy")
        self.save("wide.npy", np.zeros((3, 9), np.float32))
        self.save("double.npy", np.zeros((3, 8)))
        self.save("half.npy", np.array([0, 0.5, 1]))
        table = ["encode", *with_x[3:], "--table"]
        self.assert_fails(2, ["the 8 features of --x, got 9"], *table, "wide.npy")
        self.assert_fails(2, ["the dtype of --x, f32; got f64"], *table, "double.npy")
        self.assert_fails(2, ["int32 or int64, got float64"], *table, "x.npy", "--positions",
                          "half.npy")
