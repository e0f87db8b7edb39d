# SPDX-License-Identifier: Apache-2.0
"""A shared library built with ROTARY_CORE_ONLY is a subset of the full one in symbols, headers,
dependencies and notices. CMake refuses to build parts that need the full library.

ROTARY_PREFIX: the folder of its installation. `./dev consumers` runs this test.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from elf import SYSTEM, dynamic_entries

PREFIX = pathlib.Path(os.environ["ROTARY_PREFIX"])
SOURCE = pathlib.Path(__file__).resolve().parents[2]
SYMBOLS = SOURCE / "tests/c_api"


def installed(name):
    (path,) = (path for path in PREFIX.rglob(name) if not path.is_symlink())
    return path


def listed(path):
    return {line for line in path.read_text().splitlines() if not line.startswith("#")}


class Core(unittest.TestCase):
    def test_the_core_exports_the_listed_symbols(self):
        (library,) = PREFIX.rglob("librotary.so")
        result = subprocess.run(
            [sys.executable, SYMBOLS / "exported_symbols.py", library,
             SYMBOLS / "exported_symbols_core.txt"], capture_output=True, text=True)
        self.assertEqual((0, ""), (result.returncode, result.stdout))

    def test_the_full_library_exports_the_symbols_of_the_core(self):
        core = listed(SYMBOLS / "exported_symbols_core.txt")
        self.assertEqual(set(), core - listed(SYMBOLS / "exported_symbols.txt"))
        self.assertTrue(core)

    def test_each_header_compiles_alone(self):
        headers = sorted((PREFIX / "include/rotary").iterdir())
        self.assertTrue(headers)
        for header in headers:
            with self.subTest(header.name):
                language = ["c", "-std=c99"] if header.suffix == ".h" else ["c++", "-std=c++20"]
                subprocess.run(
                    ["c++", "-x", *language, "-fsyntax-only", "-DROTARY_CORE_ONLY",
                     f"-I{PREFIX / 'include'}", "-include", header, "/dev/null"], check=True)

    def test_only_user_headers_and_their_includes_are_installed(self):
        folder = PREFIX / "include/rotary"
        users = [folder / name for name in
                 ("rotary.hpp", "numeric_contract.hpp", "rotary.h", "threads.hpp",
                  "rotary_threads.h")]
        text = subprocess.run(
            ["c++", "-x", "c++", "-std=c++20", "-MM", "-DROTARY_CORE_ONLY", f"-I{folder.parent}",
             *users], check=True, capture_output=True, text=True).stdout
        self.assertEqual(set(re.findall(r"include/rotary/(\S+)", text)),
                         {path.name for path in folder.iterdir()})

    def test_the_umbrella_header_without_the_macro_does_not_compile(self):
        result = subprocess.run(
            ["c++", "-x", "c++", "-std=c++20", "-fsyntax-only", f"-I{PREFIX / 'include'}",
             PREFIX / "include/rotary/rotary.hpp"], capture_output=True, text=True)
        self.assertIn("rotary/absolute.hpp: No such file", result.stderr)

    def test_pkg_config_defines_rotary_core_only(self):
        flags = subprocess.run(
            ["pkg-config", "--cflags", "rotary"], check=True, capture_output=True, text=True,
            env={**os.environ, "PKG_CONFIG_PATH": str(installed("rotary.pc").parent)}).stdout
        self.assertIn("-DROTARY_CORE_ONLY", flags.split())

    def test_the_core_loads_only_highway(self):
        (library,) = PREFIX.rglob("librotary.so")
        needed = set(dynamic_entries(library, ["NEEDED"])) - SYSTEM
        needed = [name.split(".so")[0] for name in needed if not name.startswith("ld-linux")]
        self.assertEqual(["libhwy"], needed)

    def test_the_notices_name_only_highway(self):
        document = json.loads(installed("rotary.spdx.json").read_text())
        self.assertEqual(["rotary", "Highway"], [each["name"] for each in document["packages"]])
        notices = installed("THIRD-PARTY-NOTICES.md").read_text()
        self.assertIn("\n## Highway\n", notices)
        self.assertNotIn("JSON for Modern C++", notices)


class Refusals(unittest.TestCase):
    def test_parts_that_need_the_full_library_are_refused(self):
        for part in ("ROTARY_TOOL", "ROTARY_FUZZ"):
            with self.subTest(part), tempfile.TemporaryDirectory() as folder:
                result = subprocess.run(
                    ["cmake", "-G", "Ninja", "-S", SOURCE, "-B", folder, "-DROTARY_CORE_ONLY=ON",
                     f"-D{part}=ON"],
                    capture_output=True, text=True)
                self.assertNotEqual(0, result.returncode)
                self.assertIn(f"{part} needs the whole library: pass -DROTARY_CORE_ONLY=OFF",
                              " ".join(result.stderr.split()))


if __name__ == "__main__":
    unittest.main()
