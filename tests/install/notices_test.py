# SPDX-License-Identifier: Apache-2.0
"""The installed notices and SPDX document name every package that the installed files contain or
load.

ROTARY_BUILD: a build tree of ninja. ROTARY_PREFIX: the folder of its installation.
"""
import json
import os
import pathlib
import re
import subprocess
import unittest

from elf import SYSTEM, dynamic_entries, elf_files

BUILD = pathlib.Path(os.environ["ROTARY_BUILD"])
PREFIX = pathlib.Path(os.environ["ROTARY_PREFIX"])

# The package of each header folder, and of each library.
HEADERS = {"CLI": "CLI11", "fmt": "fmt", "hwy": "Highway", "nlohmann": "JSON for Modern C++"}
LIBRARIES = {"libfmt": "fmt", "libgmp": "GNU MP", "libhwy": "Highway", "libmpfr": "GNU MPFR",
             "libzip": "libzip"}
OF_THE_SYSTEM = {"asm", "asm-generic", "bits", "c++", "gnu", "linux", "sys"}


def only_file(name):
    (path,) = PREFIX.rglob(name)
    return path


def included_folders():
    """Returns the folders of /usr/include that sources of the libraries and the tool include."""
    text = subprocess.run(["ninja", "-C", BUILD, "-t", "deps"], check=True, capture_output=True,
                          text=True).stdout
    folders = set()
    shipped = False
    for line in text.splitlines():
        if not line.startswith(" "):
            shipped = line.startswith(("src/", "cli/", "models/"))
        elif shipped:
            found = re.match(r"\s*/usr/include/(?:[a-z0-9_]+-linux-gnu/)?([^/]+)/", line)
            folders.update(found.groups() if found else ())
    return folders - OF_THE_SYSTEM


class Sbom(unittest.TestCase):
    def setUp(self):
        self.document = json.loads(only_file("rotary.spdx.json").read_text())
        self.packages = {package["name"]: package for package in self.document["packages"]}

    def test_the_document_is_spdx_2_3(self):
        document = self.document
        self.assertEqual(("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"),
                         tuple(document[key] for key in ("spdxVersion", "dataLicense", "SPDXID")))
        self.assertRegex(document["documentNamespace"], r"^https://[^#]+$")
        self.assertRegex(document["creationInfo"]["created"],
                         r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        ids = [package["SPDXID"] for package in document["packages"]]
        self.assertEqual(len(ids), len(set(ids)))
        for spdx_id in ids:
            self.assertRegex(spdx_id, r"^SPDXRef-[A-Za-z0-9.-]+$")
        related = {(relation["spdxElementId"], relation["relationshipType"],
                    relation["relatedSpdxElement"]) for relation in document["relationships"]}
        self.assertIn(("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-rotary"), related)
        self.assertEqual(set(ids), {third for _, _, third in related})

    def test_every_package_has_a_version_and_a_licence(self):
        for name, package in self.packages.items():
            with self.subTest(name):
                self.assertRegex(package["versionInfo"], r"^\d+\.\d+")
                self.assertRegex(package["licenseDeclared"], r"^[A-Za-z0-9. +-]+$")
        for name, licence in [("GNU MP", "LGPL-3.0-or-later OR GPL-2.0-or-later"),
                              ("GNU MPFR", "LGPL-3.0-or-later")]:
            if name in self.packages:
                self.assertEqual(licence, self.packages[name]["licenseDeclared"])

    def test_every_loaded_library_is_in_the_document(self):
        loaded = {name for file in elf_files(PREFIX) for name in dynamic_entries(file, ["NEEDED"])}
        loaded = {name.split(".so")[0] for name in loaded - SYSTEM
                  if not name.startswith(("librotary", "ld-linux"))}
        self.assertTrue(loaded)
        for library in loaded:
            self.assertIn(LIBRARIES.get(library, f"the package of {library}"), set(self.packages))

    def test_every_package_of_a_compiled_header_is_in_the_document(self):
        folders = included_folders()
        self.assertTrue(folders)
        for folder in folders:
            self.assertIn(HEADERS.get(folder, f"the package of {folder}/"), set(self.packages))


class Notices(unittest.TestCase):
    def test_notices_have_the_licences_of_contained_packages(self):
        text = only_file("THIRD-PARTY-NOTICES.md").read_text()
        for name, licence in [("Chart.js", "Permission is hereby granted"),
                              ("CLI11", "Redistribution and use"),
                              ("fmt", "Permission is hereby granted"),
                              ("Highway", "Apache License 2.0 (LICENSE)"),
                              ("JSON for Modern C++", "Permission is hereby granted")]:
            part = text.split(f"\n## {name}\n")[1].split("\n## ")[0]
            self.assertIn("Copyright (c) ", part)
            self.assertIn(licence, part)
        self.assertIn("Apache License", only_file("LICENSE").read_text())

    def test_notices_name_the_packages_of_the_document(self):
        text = only_file("THIRD-PARTY-NOTICES.md").read_text()
        for package in json.loads(only_file("rotary.spdx.json").read_text())["packages"][1:]:
            name, version = package["name"], package["versionInfo"]
            self.assertIn(f"| [{name}]({package['homepage']}) {version} | "
                          f"{package['licenseDeclared']} |", text)


if __name__ == "__main__":
    unittest.main()
