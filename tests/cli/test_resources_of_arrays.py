# SPDX-License-Identifier: Apache-2.0
"""The worst arrays and prompts, measured by measured.py. Every input of the tool is measured."""

import io
import itertools
import json

import numpy as np

import safetensors_files
from measured import ARRAYS, COMMANDS, MOST_TIMES_OF_TEXTS, ROTATE, MeasuredTest, head

ENDINGS_OF_ARRAYS = {"diff of rows": ["npy", "npz"], "diff of frequencies": ["npy", "npz"],
                     "identify": ["npz", "safetensors"]}
HUGE = 1 << 27
TAKE_LARGE_ARRAYS = {"rotate", "encode"}

# Values of options and arguments that name a file to read.
NAMES_OF_FILES = ("FILE", "PATH", "CONFIG", "FOLDER")
NO_INPUTS = {"bias NAME", "claims CLAIM", "completions SHELL", "help COMMAND", "help --man-pages",
             "models ACTION", "models TEXT"}


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
    """The shape with a longer last axis, so that it has more elements than these."""
    return (*shape[:-1], elements // int(np.prod(shape[:-1])) + 1)


class ResourcesOfArraysTest(MeasuredTest):
    def facts(self, *command):
        facts = json.loads(self.run_ok("help", *command, "--json"))
        for name in facts["commands"]:
            yield from self.facts(*command, name)
        yield facts

    def test_every_input_of_every_command_is_measured(self):
        """A new command, argument or option that reads files must be added to COMMANDS."""
        measured = {name.split()[0]: [] for name in COMMANDS}
        for make in COMMANDS.values():
            words = make("name")
            measured[words[0]].append(words[1:])
        for facts in self.facts():
            command = facts["command"].removeprefix("rotary ")
            takes_value = {name for option in facts["options"] if option["value"]
                           for name in option["names"]}
            inputs = {name for option in facts["options"] for name in option["names"][-1:]
                      if option["value"] in NAMES_OF_FILES and not name.startswith("--out")}
            arguments = [argument["names"][0] for argument in facts["arguments"]]
            for words in measured.get(command, []):
                options = {word for word in words if word in takes_value}
                plain = [word for before, word in itertools.pairwise(["", *words])
                         if word[0] != "-" and before not in takes_value]
                inputs -= options
                arguments = [name for i, name in enumerate(arguments) if i >= len(plain)]
            named = {f"{command} {name}" for name in [*inputs, *arguments]}
            self.assertLessEqual(named, NO_INPUTS)

    def test_the_worst_arrays_stay_within_time_and_memory(self):
        self.write_plain_inputs()
        for command, (shape, _) in ARRAYS.items():
            for ending in ENDINGS_OF_ARRAYS.get(command, ["npy"]):
                self.check_arrays(command, shape, ending)

    def check_arrays(self, command, shape, ending):
        dtype = np.dtype(np.int64 if "positions" in command else np.float32)
        numbers = np.cos(np.arange(np.prod(shape))).reshape(shape) + 1
        self.write_array(f"plain.{ending}", numbers.astype(dtype))
        names = []
        for i, j in itertools.permutations(range(len(shape)), 2):
            names.append(f"{HUGE} on axis {i} and none on axis {j}.{ending}")
            self.write_array(names[-1], np.empty(changed(shape, {i: HUGE, j: 0}), dtype))
        if ending == "npy" and command.split()[0] not in TAKE_LARGE_ARRAYS:
            names.append("a hole.npy")
            shape_of_hole = longer(shape, 1 << 28)
            with open(self.path / names[-1], "wb") as file:
                file.write(npy_header(shape_of_hole, dtype))
                file.truncate(file.tell() + int(np.prod(shape_of_hole)) * dtype.itemsize)
        if ending == "npz":
            names.append("a bomb.npz")
            self.write_array(names[-1], np.zeros(longer(shape, 1 << 24), dtype))
        self.check(command, names, self.of_plain(command, f"plain.{ending}"), MOST_TIMES_OF_TEXTS)

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
        self.check("diff of both", ["narrow.npy"], self.of_plain("diff of both", "plain.npy"),
                   MOST_TIMES_OF_TEXTS)

    def test_a_written_array_is_in_memory_once(self):
        self.write_plain_inputs()
        np.save(self.path / "large.npy", np.ones((1, 1 << 16, 4, 128), np.float32))
        prompt = ["positions", "--out", "out.npy", "--force", "--text"]
        for words, plain, large in (([*ROTATE, "--q"], ["q.npy"], ["large.npy"]),
                                    (prompt, ["8", "--as", "qwen2-vl"],
                                     [str(1 << 23), "--as", "qwen2-vl"]),
                                    (prompt, ["8", "--as", "qwen3-omni"],
                                     [str(1 << 23), "--as", "qwen3-omni"])):
            before, after = (self.measured(words + each) for each in (plain, large))
            with self.subTest(words=words):
                self.assertEqual((before[0], after[0]), (0, 0))
                size = (self.path / "out.npy").stat().st_size / 1024
                # The file is in memory once; rotate's rows take a quarter of its size.
                self.assertLess(after[2] - before[2], 1.25 * size + 2048)

    def test_a_prompt_of_2_to_the_25_tokens_stays_within_limits(self):
        self.check("positions", [str(1 << 25)], self.of_plain("positions", "8"),
                   MOST_TIMES_OF_TEXTS)
