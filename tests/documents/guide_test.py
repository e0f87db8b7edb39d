#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows docs/guide.md literally in an empty directory.

A block below "`name`:" is the content of that file. A console block has commands after "$ ", each
with its exact output. The first cpp block without a file name starts a program, which later ones
continue. Blocks of sh set the environment, or build and install rotary. With --install the blocks
that build and install run as written. Otherwise the tested build is installed instead.

Usage: guide_test.py REPOSITORY (BUILD_FOLDER | --install)
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

repository = pathlib.Path(sys.argv[1])
build = sys.argv[2]
GUIDE = "docs/guide.md"
BLOCK = re.compile(r"(?P<above>[^\n]*)\n\n```(?P<language>\w+)\n(?P<text>.*?)^```$", re.M | re.S)
FILE_NAME = re.compile(r"`([\w.]+\.\w+)`:$|A model's `([\w.]+)`:$")
INSTRUCTION_SET = re.compile(r"\b(AVX3\w*|AVX2|SSE\d|NEON\w*|EMU128|SCALAR)\b")
STRICT = "-std=c++20 -Wall -Wextra -Wpedantic -Werror"


class Guide(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        text = (repository / GUIDE).read_text(encoding="utf-8")
        cls.blocks = [match.groupdict() for match in BLOCK.finditer(text)]
        assert len(cls.blocks) == text.count("\n```") // 2, "a block without a blank line above"
        cls.home = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.home.name) / "empty"
        cls.folder.mkdir()
        shell = [block["text"] for block in cls.blocks if block["language"] == "sh"]
        cls.exports = "".join(text for text in shell if text.startswith("export "))
        install = "".join(text for text in shell if not text.startswith("export "))
        if build != "--install":
            install = f'cmake --install "{build}" --prefix "$HOME/rotary" > installed.log'
        done = cls.run_command(install, repository if build == "--install" else cls.folder)
        assert done.returncode == 0, done.stdout
        for path in cls.folder.iterdir():
            path.unlink()

    @classmethod
    def tearDownClass(cls):
        cls.home.cleanup()

    @classmethod
    def run_command(cls, command, folder=None):
        """Merges stdout and stderr in order."""
        path = f"/usr/bin:{os.environ['PATH']}"  # Debian's python3 has NumPy
        environment = dict(os.environ, HOME=cls.home.name, PATH=path, LANG="C.UTF-8")
        return subprocess.run(
            ["bash", "-c", cls.exports + command], cwd=folder or cls.folder, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )

    def test_commands_print_what_the_guide_shows(self):
        ran = 0
        for block in self.blocks:
            name = FILE_NAME.search(block["above"])
            if name:
                (self.folder / (name[1] or name[2])).write_text(block["text"], encoding="utf-8")
            elif block["language"] == "console":
                for part in re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]:
                    command, _, expected = part.partition("\n")
                    with self.subTest(command=command):
                        output = self.run_command(command).stdout
                        same = [INSTRUCTION_SET.sub("SET", text) for text in (output, expected)]
                        ran += 1
                        self.assertEqual(*same)
        self.assertGreater(ran, 8)

    def test_the_cpp_blocks_make_one_program(self):
        begin, *parts = [
            block["text"]
            for block in self.blocks
            if block["language"] == "cpp" and not FILE_NAME.search(block["above"])
        ]
        self.assertGreater(len(parts), 5)
        functions = "".join(f"void part_{i}() {{\n{part}}}\n" for i, part in enumerate(parts))
        calls = "".join(f"  part_{i}();\n" for i in range(len(parts)))
        source = self.folder / "parts.cpp"
        source.write_text(f"{begin}\n{functions}int main() {{\n{calls}}}\n", encoding="utf-8")
        flags = "$(pkg-config --cflags --libs rotary-threads rotary)"
        rpath = '-Wl,-rpath,"$HOME/rotary/lib"'
        done = self.run_command(f"c++ {STRICT} parts.cpp {flags} {rpath} -o parts && ./parts")
        self.assertEqual(
            done.stdout, "the first holds for 1 to 2048 tokens; cached keys must be made again\n")
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
