# SPDX-License-Identifier: Apache-2.0
"""Every .cpp and .c must be built: a CMakeLists.txt in or above its folder must name the file or
its folder."""

import pathlib
import re

from tree import Finding

BUILT = ("src/", "apps/", "cli/", "reference/", "tests/", "bench/", "examples/", "fuzz/",
         "lab/", "python/")
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
        is_source = path.suffix in (".cpp", ".c") and str(path).startswith(BUILT)
        if is_source and not is_listed(path, words):
            yield Finding(str(path), 1, "no CMakeLists.txt lists this file")


def listed_words(text):
    return set(WORD.findall(COMMENT.sub("", text).replace(HERE, "")))


def is_listed(path, words):
    for folder in path.parents:
        name = path.relative_to(folder)
        # A build function may add the ending, or take all .cpp files of a folder.
        if {str(name), str(name.with_suffix("")), f"{name.parent}/"} & words.get(folder, set()):
            return True
    return False
