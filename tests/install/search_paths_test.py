# SPDX-License-Identifier: Apache-2.0
"""Programs and libraries load no code from the current directory: RPATH and RUNPATH have no empty
and no relative element. Installed files load no code from outside their prefix.

ROTARY_BUILD: a build tree. ROTARY_PREFIX: the folder of its installation.
"""
import os
import pathlib
import subprocess
import tempfile
import unittest

from elf import SYSTEM, dynamic_entries, elf_files

BUILD = pathlib.Path(os.environ["ROTARY_BUILD"])
PREFIX = pathlib.Path(os.environ["ROTARY_PREFIX"])


def faults(file, prefix=None):
    """Returns the faults of a file's search paths. With a prefix, a path outside it is a fault."""
    found = []
    for paths in dynamic_entries(file, ["RPATH", "RUNPATH"]):
        for element in paths.split(":"):
            folder = element.replace("$ORIGIN", str(file.parent))
            inside = prefix is None or pathlib.Path(os.path.normpath(folder)).is_relative_to(prefix)
            if not folder.startswith("/"):
                found.append(f"{file}: '{element}' of '{paths}' is empty or relative")
            elif not inside:
                found.append(f"{file}: '{element}' of '{paths}' is outside {prefix}")
    return found


class SearchPaths(unittest.TestCase):
    def test_the_build_tree_has_only_absolute_search_paths(self):
        files = list(elf_files(BUILD / "bin")) + list(elf_files(BUILD / "lib"))
        self.assertIn(BUILD / "bin/rotary", files)
        self.assertEqual([], [fault for file in files for fault in faults(file)])

    def test_the_install_tree_has_only_search_paths_inside_it(self):
        files = list(elf_files(PREFIX))
        self.assertIn(PREFIX / "bin/rotary", files)
        self.assertEqual([], [fault for file in files for fault in faults(file, PREFIX)])

    def test_planted_faults_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            source = folder / "main.c"
            source.write_text("int main(void) { return 0; }\n")
            for paths, expected in [("::::", 5), ("/usr/lib:", 1), ("lib", 1), ("/opt/lib", 1),
                                    ("$ORIGIN/../..", 1), ("$ORIGIN:$ORIGIN/../lib", 0)]:
                program = folder / "bin/program"
                program.parent.mkdir(exist_ok=True)
                subprocess.run(["cc", source, "-o", program, f"-Wl,-rpath,{paths}"], check=True)
                prefix = pathlib.Path("/usr") if paths.startswith("/usr") else folder
                self.assertEqual(expected, len(faults(program, prefix)), paths)


class CurrentDirectory(unittest.TestCase):
    """Plants files with the names of libraries. The loader would fail if it read one."""

    def test_the_tool_loads_nothing_from_the_current_directory(self):
        for tool in (BUILD / "bin/rotary", PREFIX / "bin/rotary"):
            with self.subTest(tool=tool), tempfile.TemporaryDirectory() as folder:
                needed = set(dynamic_entries(tool, ["NEEDED"])) - SYSTEM
                self.assertTrue(needed)
                for name in needed:
                    pathlib.Path(folder, name).write_text("planted")
                result = subprocess.run([tool, "--version"], cwd=folder, capture_output=True,
                                        text=True)
                self.assertEqual((0, ""), (result.returncode, result.stderr))


if __name__ == "__main__":
    unittest.main()
