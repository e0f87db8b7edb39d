# SPDX-License-Identifier: Apache-2.0
"""Sends signals before and after each call that opens, makes, writes, renames or removes a file."""

import itertools
import json
import os
import re
import resource
import shutil
import signal

import numpy as np

import safetensors_files
from tool import ToolTest

# The signals that apps/partial_file.hpp handles: each ends a process by default.
ENDING = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGALRM,
          signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGPOLL, signal.SIGPROF,
          signal.SIGXCPU, signal.SIGXFSZ, signal.SIGVTALRM]


class InterruptionTest(ToolTest):
    COMMANDS = [
        ["table", "config.json", "--positions", "0:4", "--out", "t.npy", "--force"],
        ["rotate", "--config", "config.json", "--layout", "bthd", "--q", "q.npy", "--k", "q.npy",
         "--out-q", "old.npy", "--out-k", "new.npy", "--force"],
        ["permute", "all.index.json", "--to", "interleaved", "--out", "out", "--force"],
    ]

    def setUp(self):
        super().setUp()
        np.save(self.path / "q.npy", np.ones((1, 4, 2, 16), np.float32))
        (self.path / "old.npy").write_bytes(b"old")
        tensors = [f"{layer}.q_proj.weight" for layer in range(2)]
        for name in tensors:
            safetensors_files.save(self.path / name, {name: np.ones((64, 2), np.float32)})
        (self.path / "all.index.json").write_text(
            json.dumps({"weight_map": {name: name for name in tensors}}))
        self.inputs = self.contents()

    def start_again(self):
        for path in self.path.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name, content in self.inputs.items():
            (self.path / name).write_bytes(content)

    def interrupted(self, command, signals):
        """Runs the command once for each moment and sends the next of `signals` at that moment.
        Yields (moment, files left)."""
        for moment in itertools.count():
            self.start_again()
            number = next(signals)
            result = self.run_tool(*command, environment={
                "LD_PRELOAD": os.environ["ROTARY_SIGNAL_LIBRARY"], "ROTARY_MOMENT": str(moment),
                "ROTARY_SIGNAL": str(int(number))})
            if result.returncode == 0:
                self.assertGreater(moment, 6)
                return
            self.assertEqual(result.returncode, -number, result.stderr)
            yield moment, self.contents()

    def expected(self, command):
        self.start_again()
        self.run_ok(*command)
        return self.contents()

    def test_signals_leave_every_output_or_none(self):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # some signals write a core file
        signals = itertools.cycle(ENDING)
        for command in self.COMMANDS:
            complete = self.expected(command)
            for moment, left in self.interrupted(command, signals):
                with self.subTest(command[0], moment=moment):
                    self.assertIn(left, (self.inputs, complete))

    def test_files_left_by_a_kill_do_not_disturb_the_next_run(self):
        for command in self.COMMANDS:
            complete = self.expected(command)
            seen = []
            for _, left in self.interrupted(command, itertools.repeat(signal.SIGKILL)):
                state = {re.sub("[0-9a-f]{16}", "", name): left[name] for name in left}
                if state in seen:
                    continue
                seen.append(state)
                named = {name: content for name, content in left.items()
                         if not re.fullmatch(r"(out/)?rotary-[0-9a-f]{16}\.partial", name)}
                for name, content in named.items():
                    self.assertIn(content, (self.inputs.get(name), complete[name]))
                self.run_ok(*command)
                self.assertEqual({name: content for name, content in self.contents().items()
                                  if name not in left or name in named}, complete)
