# SPDX-License-Identifier: Apache-2.0
"""What ROTARY_CORE_ONLY builds links by itself: none of its sources reaches, through includes, the
header of a source that src/CMakeLists.txt lists as BEYOND_CORE."""

import pathlib
import re

from includes import INCLUDE, resolve
from listed import COMMENT
from tree import Finding

LIST = "src/CMakeLists.txt"
SOURCES = re.compile(
    r"(?:rotary_sources|add_library)\((?:rotary_\w*objects|\$\{kernels\})\s+([^)]*)\)")
WHOLE_ALONE = re.compile(r"^#ifndef ROTARY_CORE_ONLY$.*?^#endif$", re.DOTALL | re.MULTILINE)


def check_core(tree):
    files = {file.path: file for file in tree.of("cpp")}
    core, beyond = listed_sources(tree)
    left = sorted(core & files.keys())
    seen = set(left)
    while left:
        path = left.pop()
        for number, header in core_includes(files[path], files):
            source = str(pathlib.PurePosixPath(header).with_suffix(".cpp"))
            if source in beyond:
                yield Finding(
                    path, number, f"the core is built without {source}, whose header this includes")
            elif header not in seen and header in files:
                seen.add(header)
                left.append(header)


def listed_sources(tree):
    """The core's and the others."""
    kinds = set(), set()
    for file in tree.of("cmake"):
        if file.path == LIST:
            for words in map(str.split, SOURCES.findall(COMMENT.sub("", file.text))):
                sources = {"src/" + word for word in words if word.endswith(".cpp")}
                kinds["BEYOND_CORE" in words].update(sources)
    return kinds


def core_includes(file, known):
    """The line and the path of each header of this repository that the core's build includes."""
    text = WHOLE_ALONE.sub(lambda match: "\n" * match[0].count("\n"), file.text)
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match and match[1] == '"':
            header = resolve(file.path, match[2], known)
            if header:
                yield number, header
