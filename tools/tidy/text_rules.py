# SPDX-License-Identifier: Apache-2.0
"""Rules about text: white space, the licence line, openings of comments, links, traces of one
machine, and calls that drop a NaN."""

import posixpath
import re

from tree import Finding

LICENCE = "SPDX-License-Identifier: Apache-2.0"

# Inline links and images, and reference definitions.
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\s*\[[^\]]+\]:\s*<?([^\s>]+)")
CODE_SPAN = re.compile(r"`[^`]*`")
FENCE = re.compile(r"^\s*(```|~~~)")
ELSEWHERE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|#)")

MACHINE_PATH = re.compile(r"(?<![\w.})])/(?:work|root|tmp|home)/")
REGISTRY = re.compile(
    r"\b(?:debian\.org|ubuntu\.com|pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|crates\.io"
    r"|anaconda\.org|docker\.io|ghcr\.io|golang\.org)\b"
)

# A comment that opens with one of these words does not name what it describes.
OPENING = re.compile(r"(?://|#|/\*) (?:Of|What|Whose|Who|Whom|To whom)\b")

# std::max(number, NaN) returns the number, so a NaN in a file would pass a comparison with the
# largest value. Integers are safe if their type is named. std::clamp keeps NaN.
EXTREMES = re.compile(
    r"\b(?:std::(?:ranges::)?(?:(?:min|max|minmax)(?:_element)?|fmin|fmax)f?"
    r"(?!<std::(?:optional<std::)?(?:u?int\d+_t|size_t|ptrdiff_t)>+)|fminf?|fmaxf?)(?=[(<])"
)
FROM_OUTSIDE = ("cli/difference/", "cli/identify/", "src/identify/", "src/model/difference/")

# Inputs of fuzz targets, where every byte counts, and pictures written by gnuplot.
AS_THEY_ARE = ("fuzz/corpus/", "docs/figures/", "docs/lab/")


def check_text(tree):
    for file in tree.files:
        if not file.path.startswith(AS_THEY_ARE):
            yield from white_space(file)
        yield from matches(file, MACHINE_PATH, "{} is a path of one machine")
        yield from matches(file, REGISTRY, "{} is the host of a package registry")
    for file in tree.of("cpp", "python", "bash", "cmake", "javascript", "css"):
        yield from licence_line(file)
        yield from matches(file, OPENING, "say subject, verb, object: the comment opens with a "
                           "word that stands for a noun")
    for file in tree.of("cpp"):
        if file.path.startswith(FROM_OUTSIDE):
            yield from matches(file, EXTREMES, "{} may drop a NaN: larger() and smaller() keep it; "
                               "for integers, name the type")
    for file in tree.of("markdown"):
        yield from links(file, tree)


def white_space(file):
    lines = file.text.split("\n")
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield Finding(file.path, number, "white space at the end of the line")
        if "\t" in line:
            yield Finding(file.path, number, "a tab; indent with spaces")
    if lines[-1] != "":
        yield Finding(file.path, len(lines), "the last line has no end")


def matches(file, pattern, message):
    for number, line in enumerate(file.lines, 1):
        if match := pattern.search(line):
            yield Finding(file.path, number, message.format(match[0]))


def licence_line(file):
    lines = file.lines + [""]
    first = 1 if lines[0].startswith("#!") else 0
    if not lines[first].removesuffix(" */").endswith(LICENCE):
        yield Finding(file.path, first + 1, f"the first line is the licence: {LICENCE}")


def links(file, tree):
    folder = posixpath.dirname(file.path)
    fenced = False
    for number, line in enumerate(file.lines, 1):
        if FENCE.match(line):
            fenced = not fenced
        if fenced:
            continue
        for match in LINK.finditer(CODE_SPAN.sub("", line)):
            target = match[1] or match[2]
            if ELSEWHERE.match(target):
                continue
            path = posixpath.normpath(posixpath.join(folder, target.split("#")[0]))
            if not (tree.root / path).exists():
                yield Finding(file.path, number, f"the link's target {path} does not exist")
