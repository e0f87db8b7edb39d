# SPDX-License-Identifier: Apache-2.0
"""Measures processor time and peak memory of commands for the largest and oddest files of each
kind, relative to a plain file. Each limit holds for all files and is several times today's largest
value. A quadratic loop, or a table with an entry for everything, exceeds it. Most files have two
quantities that can grow together, such as keys and layers, or pairs and tokens."""

import itertools
import json
import subprocess
import sys

import numpy as np

import safetensors_files
from tool import LLAMA, TOOL, ToolTest

# The peak memory of a process includes what its parent had when it was started. So a small
# interpreter starts the tool. It reads a command from each line, and answers with the exit code,
# seconds of processor time and KiB. AddressSanitizer would keep what was freed.
MEASURE = """
import json, os, sys
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
nowhere = os.open(os.devnull, os.O_RDWR)
actions = [(os.POSIX_SPAWN_DUP2, nowhere, number) for number in (0, 1, 2)]
for line in sys.stdin:
    command = json.loads(line)
    child = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    _, status, used = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    print(json.dumps([code, used.ru_utime + used.ru_stime, used.ru_maxrss]), flush=True)
"""

FIGURES = ["wavelengths", "scaling", "similarity", "decay", "numerics", "clipped", "rotation",
           "tables", "attention"]
COMMANDS = {
    "inspect": lambda name: ["inspect", name],
    "inspect --json": lambda name: ["inspect", name, "--json"],
    "table": lambda name: ["table", name, "--positions", "0:4"],
    "explain": lambda name: ["explain", name],
    "report": lambda name: ["report", name, "-o", "page.html", "--force"],
} | {f"plot {figure}": lambda name, figure=figure: ["plot", figure, name, "--csv"]
     for figure in FIGURES}
COMMANDS |= {
    "explain CONFIG": lambda name: ["explain", "relative", name],
    "check": lambda name: ["check", name],
    "diff": lambda name: ["diff", name, name],
    "rotate --config": lambda name: ["rotate", "--config", name, "--layout", "bthd", "--q",
                                     "q.npy", "--out-q", "out.npy", "--force"],
    "identify --config": lambda name: ["identify", "--config", name, "--inv-freq", "f.npy"],
}
OF_MODELS = list(COMMANDS)
COMMANDS |= {
    "permute": lambda name: ["permute", name, "--config", "plain.json", "--to", "interleaved",
                             "--out", f"{name}.out", "--force"],
    "permute --config": lambda name: ["permute", "plain", "--config", name, "--to", "interleaved",
                                      "--out", "permuted", "--force"],
    "stretch": lambda name: ["stretch", name, "65536", "--drafter", name],
    "diff of both": lambda name: ["diff", name, "wide.json"],
    "positions": lambda tokens: ["positions", "--as", "qwen2-vl", "--text", tokens],
}
OF_TEXT = ["inspect", "table", "explain", "report", "plot wavelengths", "check", "diff",
           "permute --config", "stretch"]

# Commands that read arrays: the shape of a plain array, and the command for its name. If a command
# needs two arrays, both are this one.
ROTATE = ["rotate", "--config", "plain.json", "--layout", "bthd", "--out-q", "out.npy", "--force"]
ENCODE = ["encode", "--out", "out.npy", "--force"]
IDENTIFY = ["identify", "--config", "plain.json"]
ARRAYS = {
    "rotate --q": ((1, 8, 4, 128), lambda name: [*ROTATE, "--q", name]),
    "rotate --k": ((1, 8, 4, 128), lambda name: [*ROTATE[:5], "--k", name, "--out-k", "out.npy",
                                                 "--force"]),
    "rotate --positions": ((1, 8), lambda name: [*ROTATE, "--q", "q.npy", "--positions", name]),
    "encode --x": ((2, 8, 16), lambda name: [*ENCODE, "--like", "marian", "--x", name]),
    "encode --table": ((8, 16), lambda name: [*ENCODE, "--x", name, "--table", name]),
    "encode --positions": ((1, 8), lambda name: [*ENCODE, "--like", "marian", "--x", "x.npy",
                                                 "--positions", name]),
    "bias": ((32, 4), lambda name: ["bias", "t5", "--set", "direction=causal", "--rows", "0:4",
                                    "--cols", "0:4", "--parameters", name]),
    "positions --mask": ((1, 8), lambda name: ["positions", "--mask", name]),
    "positions --ids": ((1, 8), lambda name: ["positions", "--ids", name]),
    "table --parameters": ((32, 4), lambda name: ["table", "t5", "--set", "direction=causal",
                                                  "--distances", "0:4", "--parameters", name]),
    "plot --table": ((8, 8), lambda name: ["plot", "tables", "--table", name, "--csv"]),
    "diff of rows": ((2, 8, 8), lambda name: ["diff", name, name]),
    "diff of frequencies": ((8,), lambda name: ["diff", name, name]),
    "identify --before": ((8, 4, 128), lambda name: [*IDENTIFY, "--before", name, "--after", name]),
    "identify --ours": ((8, 4, 128), lambda name: [*IDENTIFY, "--ours", name, "--theirs", name,
                                                   "--first-position", "0"]),
    "identify --other": ((8, 4, 128), lambda name: [*IDENTIFY, "--before", name, "--after", name,
                                                    "--other", name]),
    "identify --cos": ((8, 64), lambda name: [*IDENTIFY, "--cos", name, "--sin", name]),
    "identify --inv-freq": ((64,), lambda name: [*IDENTIFY, "--inv-freq", name]),
    "identify --positions": ((1, 8), lambda name: [*IDENTIFY, "--cos", "cos.npy", "--sin",
                                                   "cos.npy", "--positions", name]),
    "identify": ((8, 4, 128), lambda name: [*IDENTIFY, name]),
}
COMMANDS |= {name: make for name, (_, make) in ARRAYS.items()}


def head(features):
    return LLAMA | {"head_dim": features}


def names(count):
    """Names of this many modules: layers of one module would be counted together."""
    letters = itertools.product("abcdefghijklmnop", repeat=4)
    return {f"{''.join(next(letters))}.q_proj.weight": [128, 0] for _ in range(count)}


# Shapes of tensors without data, by name.
PLAIN_HEADER = names(4_000)

# Limits as multiples of a plain config's. For each key that is read `explain` resolves the whole
# config a few times; figures of `report` have 100 random vectors each.
MOST_TIMES_OF_TEXTS = 30
MOST_TIMES_OF_SIZES = {"explain": 200, "report": 100}
MOST_TIMES_OF_OTHERS = 80
MOST_MEMORY = 8
# Starting a process takes 4 to 20 ms. A shorter time of a plain config counts as this.
LEAST_SECONDS = 0.02
CODES_OF_ANSWERS = {0, 1, 6}


class MeasuredTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.helper = subprocess.Popen([sys.executable, "-S", "-E", "-c", MEASURE], cwd=self.path,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end_helper)

    def end_helper(self):
        self.helper.stdin.close()
        self.helper.stdout.close()
        self.helper.wait()

    def measured(self, arguments):
        print(json.dumps([TOOL, *arguments]), file=self.helper.stdin, flush=True)
        return json.loads(self.helper.stdout.readline())

    def check(self, command, files, plain, most_times):
        seconds_of_plain, memory_of_plain = plain
        for name in files:
            arguments = COMMANDS[command](name)
            code, seconds, memory = self.measured(arguments)
            if seconds / seconds_of_plain > most_times:  # another program may have been in the way
                seconds = min(self.measured(arguments)[1] for _ in range(3))
            with self.subTest(command=command, file=name):
                self.assertIn(code, CODES_OF_ANSWERS | {2, 3, 5})
                self.assertLessEqual(seconds / seconds_of_plain, most_times)
                self.assertLessEqual(memory / memory_of_plain, MOST_MEMORY)

    def of_plain(self, command, name):
        """Returns the least time and memory of three runs, since short times vary the most."""
        runs = [self.measured(COMMANDS[command](name)) for _ in range(3)]
        self.assertLessEqual({code for code, _, _ in runs}, CODES_OF_ANSWERS, command)
        seconds = max(min(seconds for _, seconds, _ in runs), LEAST_SECONDS)
        return seconds, min(memory for _, _, memory in runs)

    def write_plain_inputs(self):
        self.write_config(head(128) | {"num_attention_heads": None}, "plain.json")
        self.write_weights("plain", PLAIN_HEADER)
        for name, shape in (("q", (1, 8, 4, 128)), ("x", (2, 8, 16)), ("cos", (8, 64)),
                            ("f", (64,))):
            np.save(self.path / f"{name}.npy", np.cos(np.arange(np.prod(shape))).reshape(shape))

    def write_weights(self, name, shapes):
        safetensors_files.save_bytes(self.path / name, "U8",
                                     {name: (shape, b"") for name, shape in shapes.items()})
