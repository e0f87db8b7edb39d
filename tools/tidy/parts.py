# SPDX-License-Identifier: Apache-2.0
"""Checks includes between the parts of the library, which src/CMakeLists.txt lists. A source must
not include a header of a part that its part does not see, not even through other headers."""

import pathlib
import re

from includes import INCLUDE, resolve
from listed import COMMENT
from tree import Finding

LIST = "src/CMakeLists.txt"
SEES = {
    "core": {"core"},
    "encodings": {"core", "encodings"},
    "attention": {"core", "encodings", "attention"},
    "models": {"core", "encodings", "models"},
}
SOURCES = re.compile(
    r"(?:if\(TARGET rotary_([a-z]+)\)\s+)?"
    r"(?:rotary_sources|add_library)\((?:rotary_([a-z]+)\w*|\$\{kernels\})\s+([^)]*)\)")
WHOLE_ALONE = re.compile(r"^#ifndef ROTARY_CORE_ONLY$.*?^#endif$", re.DOTALL | re.MULTILINE)


def check_parts(tree):
    files = {file.path: file for file in tree.of("cpp")}
    part_of = listed_sources(tree)
    for part, seen_parts in SEES.items():
        left = sorted(path for path in files if part_of.get(path) == part)
        seen = set(left)
        while left:
            path = left.pop()
            for number, header in includes_of(files[path], files, part):
                other = part_of.get(str(pathlib.PurePosixPath(header).with_suffix(".cpp")), part)
                if other not in seen_parts:
                    yield Finding(path, number, f"{part} is built without {other}, but this "
                                                f"includes its {header}")
                elif header not in seen and header in files:
                    seen.add(header)
                    left.append(header)


def listed_sources(tree):
    """Returns the part of each source."""
    part_of = {}
    for file in tree.of("cmake"):
        if file.path == LIST:
            for condition, target, words in SOURCES.findall(COMMENT.sub("", file.text)):
                part = condition or target or "core"
                named = {"src/" + word for word in words.split()} if part in SEES else ()
                for path in tree.paths:
                    if {path, path.rpartition("/")[0] + "/"} & set(named):
                        part_of[path] = part
    return part_of


def includes_of(file, known, part):
    """Yields line and path of each header of this repository that the part's build includes."""
    text = file.text
    if part == "core":
        text = WHOLE_ALONE.sub(lambda match: "\n" * match[0].count("\n"), text)
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match and match[1] == '"':
            header = resolve(file.path, match[2], known)
            if header:
                yield number, header
