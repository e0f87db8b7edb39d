# SPDX-License-Identifier: Apache-2.0
"""Measures the worst arrays and prompts (measured.py)."""

import io
import itertools

import numpy as np

import safetensors_files
from calls import CALLS, SHAPES
from measured import MeasuredTest, head

ENDINGS = {"diff": ["npy", "npz"], ("identify", "TRACE"): ["npz", "safetensors"]}
HUGE = 1 << 27
TAKE_LARGE_ARRAYS = {"rotate", "encode"}


def table(tokens, pairs):
    angles = np.outer(np.arange(tokens), 1e4 ** -np.linspace(0, 1, pairs))
    return np.stack([np.cos(angles), np.sin(angles)]).astype(np.float32)


def npy_header(shape, dtype):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype.str, "fortran_order": False,
                                                "shape": shape})
    return file.getvalue()


def changed(shape, sizes):
    return tuple(sizes.get(i, size) for i, size in enumerate(shape))


def longer(shape, elements):
    """Lengthens the last axis until the shape has more than this number of elements."""
    return (*shape[:-1], elements // int(np.prod(shape[:-1])) + 1)


class ResourcesOfArraysTest(MeasuredTest):
    def test_the_worst_arrays_stay_within_limits(self):
        for (command, option), shapes in SHAPES.items():
            endings = ENDINGS.get((command, option)) or ENDINGS.get(command, ["npy"])
            for shape, ending in itertools.product(shapes, endings):
                self.check_arrays((command, option), shape, ending)

    def check_arrays(self, name, shape, ending):
        integers = {"--positions", "--mask", "--ids"}
        dtype = np.dtype(np.int64 if name[1] in integers else np.float32)
        plain = np.cos(np.arange(np.prod(shape))).reshape(shape) + 1
        self.write_array(f"plain.{ending}", plain.astype(dtype))
        names = []
        for i, j in itertools.permutations(range(len(shape)), 2):
            names.append(f"{HUGE} on axis {i} and none on axis {j}.{ending}")
            self.write_array(names[-1], np.empty(changed(shape, {i: HUGE, j: 0}), dtype))
        if ending == "npy" and name[0] not in TAKE_LARGE_ARRAYS:
            names.append("a hole.npy")
            shape_of_hole = longer(shape, 1 << 28)
            with open(self.path / names[-1], "wb") as file:
                file.write(npy_header(shape_of_hole, dtype))
                file.truncate(file.tell() + int(np.prod(shape_of_hole)) * dtype.itemsize)
        if ending == "npz":
            names.append("a bomb.npz")
            self.write_array(names[-1], np.zeros(longer(shape, 1 << 24), dtype))
        self.check(CALLS[name][0], names, f"plain.{ending}")

    def write_array(self, name, array):
        path = self.path / name
        if name.endswith(".npy"):
            np.save(path, array)
        elif name.endswith(".safetensors"):
            safetensors_files.save(path, {"0.q.before": array, "0.q.after": array})
        elif len(array.shape) == 1:
            np.savez_compressed(path, inv_freq=array)
        elif array.shape[0] == 2:
            np.savez_compressed(path, cos=array[0], sin=array[1])
        else:
            np.savez_compressed(path, **{"0.q.before": array, "0.q.after": array})

    def test_a_narrow_dump_and_a_wide_config_stay_within_limits(self):
        self.write_config(head(1 << 15), "wide.json")
        np.save(self.path / "plain.npy", table(4, 1 << 14))
        np.save(self.path / "narrow.npy", table(1 << 12, 1))
        self.check("diff ? wide.json", ["narrow.npy"], "plain.npy")

    def test_a_written_array_is_in_memory_once(self):
        np.save(self.path / "large.npy", np.ones((1, 1 << 16, 8, 16), np.float32))
        prompt = "positions --out o.npy --force --text ? --as"
        for call, plain, large in ((CALLS["rotate", "--q"][0], "q.npy", "large.npy"),
                                   (f"{prompt} qwen2-vl", "8", str(1 << 22)),
                                   (f"{prompt} qwen3-omni", "8", str(1 << 22))):
            before, after = (self.measured(call, each) for each in (plain, large))
            with self.subTest(call):
                self.assertEqual((before[0], after[0]), (0, 0))
                size = (self.path / "o.npy").stat().st_size / 1024
                # The file is in memory once; rotate's rows take a quarter of its size.
                self.assertLess(after[1] - before[1], 1.25 * size + 2048)

    def test_a_prompt_of_2_to_the_25_tokens_stays_within_limits(self):
        self.check("positions --as qwen2-vl --text ?", [str(1 << 25)], "8")
