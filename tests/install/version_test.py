# SPDX-License-Identifier: Apache-2.0
"""Every file that states the version agrees with version.hpp.

ROTARY_SOURCE: the repository.
"""
import os
import pathlib
import re
import unittest

SOURCE = pathlib.Path(os.environ["ROTARY_SOURCE"])
PLACES = {
    "CHANGELOG.md": r"^## ([\d.]+)",
    "CITATION.cff": r"^version: ([\d.]+)$",
    "debian/changelog": r"^rotary \(([\d.]+)\)",
    "docs/python.md": r"rotary-([\d.]+)-cp310",
    "packaging/vcpkg/rotary/vcpkg.json": r'"version": "([\d.]+)"',
}


class VersionTest(unittest.TestCase):
    def setUp(self):
        header = (SOURCE / "include/rotary/version.hpp").read_text()
        self.version = re.search(r'VERSION_STRING "(.*)"', header)[1]
        self.numbers = re.findall(r"VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header)

    def test_the_numbers_equal_the_string(self):
        self.assertEqual(self.version, ".".join(self.numbers))

    def test_each_file_states_this_version(self):
        for name, pattern in PLACES.items():
            with self.subTest(name):
                found = re.search(pattern, (SOURCE / name).read_text(), re.M)
                self.assertEqual(self.version, found[1])

    def test_the_debian_package_of_the_library_names_the_minor_version(self):
        minor = ".".join(self.numbers[:2])
        self.assertIn(f"\nPackage: librotary{minor}\n", (SOURCE / "debian/control").read_text())

    def test_consumers_ask_for_this_minor_version(self):
        minor = ".".join(self.numbers[:2])
        files = [SOURCE / "README.md", SOURCE / "docs/how-to/link-rotary.md",
                 *SOURCE.glob("tests/consumers/*/CMakeLists.txt")]
        for file in files:
            for asked in re.findall(r"find_package\(rotary ([\d.]+)", file.read_text()):
                self.assertEqual(minor, asked, file)


if __name__ == "__main__":
    unittest.main()
