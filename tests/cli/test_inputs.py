# SPDX-License-Identifier: Apache-2.0
"""Every input refuses named pipes, sockets, folders and devices without waiting for them."""

import json
import os
import re
import socket
import subprocess

import numpy as np

from calls import CALLS, PERMUTE, write_files
from tool import LLAMA, TOOL, ToolTest


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))


# Maps each kind of file to (function that makes it, pattern of the error).
KINDS = {
    "pipe": (os.mkfifo, "must be a regular file, got a named pipe"),
    "socket": (make_socket, "must be a regular file, got a socket"),
    "folder": (os.mkdir, "must be a regular file, got a folder|the folder must have a config.json"),
    "endless": (lambda path: os.symlink("/dev/zero", path), "must be a regular file, got a device"),
    "empty": (lambda path: os.symlink("/dev/null", path), "must be a regular file, got a device"),
    "to-pipe": (lambda path: os.symlink("pipe", path), "must be a regular file, got a named pipe"),
    "dangling": (lambda path: os.symlink("gone", path), "cannot open it: No such file"),
}


class NoFileTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.path)  # a socket needs a short path
        write_files(self, LLAMA)
        for name, (make, _) in KINDS.items():
            for ending in ("", ".npy", ".npz", ".safetensors", ".json"):
                make(name + ending)

    def check(self, arguments, path, words):
        before = sorted(os.listdir())
        result = subprocess.run([TOOL, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                                text=True, timeout=30)
        said = result.stderr + result.stdout
        self.assertEqual(result.returncode, 4, said)
        self.assertRegex(said, f"{re.escape(path)}: (error: )?({words})")
        self.assertEqual(sorted(os.listdir()), before)

    def test_every_input_refuses_what_is_not_a_regular_file(self):
        """Tries each kind of file in one call of each input. The calls of an input take turns."""
        for first, calls in enumerate(CALLS.values()):
            for number, (kind, (_, words)) in enumerate(KINDS.items(), first):
                arguments = calls[number % len(calls)].replace("?", kind).split()
                path = next(word for word in arguments if word.startswith(kind))
                with self.subTest(" ".join(arguments)):
                    self.check(arguments, path, words)

    def test_every_input_that_help_lists_has_a_call(self):
        names = self.run_json("help", "help")["commands"]
        names += [f"bench {name}" for name in self.run_json("help", "help", "bench")["commands"]]
        inputs = set()
        for command in names:
            facts = self.run_json("help", "help", *command.split())
            inputs |= {(command, each["names"][-1].rstrip(".")) for each in facts["arguments"]
                       if re.search(r"config|\.safetensors|of the same kinds", each["help"])}
            inputs |= {(command, each["names"][-1]) for each in facts["options"]
                       if re.search(r"^(FILE|PATH|CONFIG)$", each["value"] or "")
                       or "NPY file" in each["help"]}
        self.assertEqual({(command, name) for command, name in inputs
                          if not name.startswith("--out")}, set(CALLS))

    def test_a_folder_with_an_unusable_config_is_refused(self):
        for kind in KINDS.keys() - {"dangling", "to-pipe"}:
            make, words = KINDS[kind]
            os.mkdir(f"of-{kind}")
            make(f"of-{kind}/config.json")
            for command in (["inspect"], ["check"]):
                with self.subTest(kind=kind, command=command):
                    self.check([*command, f"of-{kind}"], "config.json", words)

    def test_an_index_that_names_no_regular_file_is_refused(self):
        for kind, (_, words) in KINDS.items():
            with open("all.index.json", "w") as file:
                json.dump({"weight_map": {"a.q_proj.weight": kind}}, file)
            with self.subTest(kind):
                self.check(PERMUTE.replace("?", "all.index.json").split(), kind, words)


class PipeOfTheShellTest(ToolTest):
    def test_a_pipe_of_the_shell_gives_the_answer_of_the_file(self):
        self.write_config(LLAMA, "c.json")
        np.save(self.path / "q.npy", np.random.default_rng(1).standard_normal((5, 4, 16)))
        expected = self.run_ok("inspect", "c.json")
        rotate = '"$0" rotate --layout thd --force --out-q'
        subprocess.run(["bash", "-c", f"{rotate} q --q q.npy --config c.json", TOOL], check=True,
                       cwd=self.path, timeout=60, stdout=subprocess.DEVNULL)
        for script in ['"$0" inspect <(cat c.json)', 'cat c.json | "$0" inspect /dev/stdin',
                       'cat c.json | "$0" inspect -', '"$0" inspect /dev/stdin < c.json',
                       '"$0" inspect <(sleep 0.1; head -c 9 c.json; sleep 0.1; tail -c +10 c.json)',
                       f'{rotate} o --q <(cat q.npy) --config <(cat c.json) > /dev/null; '
                       'cmp q o && "$0" inspect c.json']:
            with self.subTest(script):
                result = subprocess.run(["bash", "-c", script, TOOL], cwd=self.path, timeout=60,
                                        capture_output=True, text=True)
                self.assertEqual((result.stdout, result.stderr), (expected, ""))
