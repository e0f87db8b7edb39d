# SPDX-License-Identifier: Apache-2.0
"""Every .cpp is built: its name stands in the CMakeLists.txt of its folder or of one above."""

import pathlib
import re

from tree import Finding

BUILT = ("src/", "cli/", "reference/", "tests/", "bench/", "examples/")
COMMENT = re.compile(r"#.*")
HERE = "${CMAKE_CURRENT_SOURCE_DIR}/"
WORD = re.compile(r"[^\s()\"]+")


def check_listed(tree):
    words = {
        pathlib.PurePosixPath(file.path).parent: listed_words(file.text)
        for file in tree.of("cmake")
        if file.path.endswith("CMakeLists.txt")
    }
    for path in map(pathlib.PurePosixPath, tree.paths):
        if path.suffix == ".cpp" and str(path).startswith(BUILT) and not is_listed(path, words):
            yield Finding(str(path), 1, "no CMakeLists.txt lists this file")


def listed_words(text):
    return set(WORD.findall(COMMENT.sub("", text).replace(HERE, "")))


def is_listed(path, words):
    for folder in path.parents:
        name = path.relative_to(folder)
        # A function of the build may add the ending.
        if {str(name), str(name.with_suffix(""))} & words.get(folder, set()):
            return True
    return False
