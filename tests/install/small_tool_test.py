# SPDX-License-Identifier: Apache-2.0
"""A tool built with ROTARY_TOOL_BENCH=OFF and ROTARY_TOOL_NPZ=OFF needs neither MPFR nor libzip. It
names the command or format that it lacks.

ROTARY_PREFIX: the folder of its installation. `./dev consumers` runs this test.
"""
import os
import pathlib
import subprocess
import tempfile
import unittest

from elf import dynamic_entries

TOOL = pathlib.Path(os.environ["ROTARY_PREFIX"]) / "bin/rotary"
UNSUPPORTED = 5


def run(*arguments):
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True)


class SmallTool(unittest.TestCase):
    def test_the_small_tool_loads_neither_mpfr_nor_libzip(self):
        for name in dynamic_entries(TOOL, ["NEEDED"]):
            self.assertNotRegex(name, "mpfr|gmp|libzip")

    def test_the_notices_name_neither_mpfr_nor_libzip(self):
        (notices,) = TOOL.parent.parent.rglob("THIRD-PARTY-NOTICES.md")
        self.assertNotRegex(notices.read_text(), "MPFR|GNU MP|libzip")

    def test_bench_is_refused_with_its_build_option(self):
        for arguments in (["bench"], ["bench", "attention", "--tokens", "512"]):
            result = run(*arguments)
            self.assertEqual(UNSUPPORTED, result.returncode)
            self.assertIn("-DROTARY_TOOL_BENCH=ON", result.stderr)

    def test_npz_is_refused_and_npy_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            table = ["table", "llama-3.1-8b", "--positions", "0:4", "--out"]
            result = run(*table, f"{folder}/rows.npz")
            self.assertEqual(UNSUPPORTED, result.returncode)
            self.assertIn("-DROTARY_TOOL_NPZ=ON", result.stderr)
            self.assertEqual([], os.listdir(folder))
            self.assertEqual(0, run(*table, f"{folder}/rows.npy").returncode)
            self.assertEqual(["rows.npy"], os.listdir(folder))

    def test_every_other_command_has_help(self):
        commands = run("--help").stdout
        for name in ("inspect", "table", "rotate", "encode", "bias", "explain", "claims", "plot",
                     "report", "models"):
            self.assertIn(f"  {name} ", commands)
            self.assertEqual(0, run(name, "--help").returncode)


if __name__ == "__main__":
    unittest.main()
