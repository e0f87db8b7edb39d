# SPDX-License-Identifier: Apache-2.0
"""Measures a command's peak memory for the largest and oddest files, relative to a plain file.

Most of these files are large in two quantities, such as keys and layers. A command that stores an
entry for each pair of a key and a layer exceeds the limit. A run that takes MOST_SECONDS is killed
and fails; a loop over all pairs of 200,000 keys would take minutes."""

import json
import subprocess
import sys

import safetensors_files
from calls import write_files
from tool import LLAMA, TOOL, ToolTest

MOST_SECONDS = 30  # of processor time, enough for an emulator or a sanitizer
# A process's peak memory includes memory of its parent, so a small interpreter starts the tool.
# It reads a command from each line, and prints the exit code and the peak in KiB. The small
# quarantine makes AddressSanitizer return freed memory.
MEASURE = f"""
import json, os, resource, sys
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
nowhere = os.open(os.devnull, os.O_RDWR)
actions = [(os.POSIX_SPAWN_DUP2, nowhere, number) for number in (0, 1, 2)]
resource.setrlimit(resource.RLIMIT_CPU, ({MOST_SECONDS}, {MOST_SECONDS}))
for line in sys.stdin:
    command = json.loads(line)
    child = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    _, status, used = os.wait4(child, 0)
    print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_maxrss]), flush=True)
"""
MOST_MEMORY = 8  # relative to the plain file; several times the largest ratio seen
CODES_OF_ANSWERS = {0, 1, 6}


def head(features):
    return LLAMA | {"head_dim": features}


class MeasuredTest(ToolTest):
    def setUp(self):
        super().setUp()
        write_files(self, head(16) | {"num_attention_heads": None})
        self.helper = subprocess.Popen([sys.executable, "-S", "-E", "-c", MEASURE], cwd=self.path,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end_helper)

    def end_helper(self):
        self.helper.stdin.close()
        self.helper.stdout.close()
        self.helper.wait()

    def measured(self, call, name):
        """Returns the exit code (< 0 if a signal ended the run) and the peak memory in KiB."""
        words = [name if word.startswith("?") else word for word in call.split()]
        print(json.dumps([TOOL, *words]), file=self.helper.stdin, flush=True)
        return json.loads(self.helper.stdout.readline())

    def check(self, call, files, plain):
        code, memory_of_plain = self.measured(call, plain)
        self.assertIn(code, CODES_OF_ANSWERS, call)
        for name in files:
            code, memory = self.measured(call, name)
            with self.subTest(call=call, file=name):
                self.assertIn(code, CODES_OF_ANSWERS | {2, 3, 5})
                self.assertLessEqual(memory / memory_of_plain, MOST_MEMORY)

    def write_weights(self, name, shapes):
        safetensors_files.save_bytes(
            self.path / name, {name: ("U8", shape, b"") for name, shape in shapes.items()})
