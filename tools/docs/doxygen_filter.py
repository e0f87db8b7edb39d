#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Turns a public header's plain comments into documentation comments for Doxygen.

A comment before code documents that code. A comment behind code documents the code before it. A
file's first comment documents the file. Comment lines with extra indentation are shown verbatim.
In a C header a comment of dashes starts a named group. Line numbers stay.
Usage: doxygen_filter.py HEADER
"""

import pathlib
import re
import sys

SPDX = re.compile(r"^(//|/\*) SPDX")
SECTION = re.compile(r"^/\* -+ (.+?) -+ \*/$")
OWN_LINES = re.compile(r"^(\s*)//(?: (?P<indent>\s*)\S.*)?$")
BEHIND_CODE = re.compile(r"^(?P<code>\s*[^}\s].*?)(?P<space>\s+)//(?= )")


def cpp_lines(lines):
    """C++: consecutive // lines become one comment, // behind code becomes ///<."""
    lines = ["" if "// NOLINT" in line else line for line in lines]
    inside = verbatim = False
    for line, following in zip(lines, lines[1:] + [""]):
        own, following = OWN_LINES.match(line), OWN_LINES.match(following)
        if SPDX.match(line):
            inside = True
            yield "/** @file"
        elif not own:
            yield BEHIND_CODE.sub(r"\g<code>\g<space>///<", line)
        else:
            next_verbatim = bool(following) and is_indented(following, verbatim)
            end = {(False, True): " @verbatim", (True, False): " @endverbatim"}
            text = line.replace("//", "  " if inside else "/**", 1)
            yield text + end.get((verbatim, next_verbatim), "") + ("" if following else " */")
            inside, verbatim = bool(following), next_verbatim


def is_indented(match, verbatim):
    indent = match["indent"]
    return verbatim if indent is None else len(indent) >= 2


def c_lines(lines):
    """C: /* becomes /**, or /**< behind code; the comment after the licence is the file's."""
    lines = list(lines)
    sections = [number for number, line in enumerate(lines) if SECTION.match(line)]
    for number in sections:  # sections have blank lines around them
        lines[number] = SECTION.sub(r"/** @name \1 */", lines[number])
        lines[number - 1] = "" if number == sections[0] else "/** @} */"
        lines[number + 1] = "/** @{ */"
    for before, line in zip([""] + lines, lines):
        if SPDX.match(line):
            yield "/** @file"
        elif SPDX.match(before):
            yield line.replace("/*", " *", 1)
        elif line.startswith("/* "):
            yield line.replace("/*", "/**", 1)
        else:
            yield line.replace(" /* ", " /**< ", 1)
    if sections:
        yield "/** @} */"


def main():
    path = pathlib.Path(sys.argv[1])
    lines = path.read_text(encoding="utf-8").splitlines()
    rewrite = c_lines if path.suffix == ".h" else cpp_lines
    sys.stdout.write("\n".join(rewrite(lines)) + "\n")


if __name__ == "__main__":
    main()
