#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A shared library's exported symbols must equal a checked-in list.

A new symbol is a promise to users; a lost symbol breaks their programs.
"""

import argparse
import pathlib
import re
import subprocess
import sys

# Maps types that nm spells out to their names in the public headers.
ALIASES = {
    f"rotary::StridedView<void{const}, rotary::{axes}Extents, rotary::{axes}Strides>":
        f"rotary::{prefix}{name}View"
    for const, prefix in (("", ""), (" const", "Const"))
    for axes, name in (("", "Heads"), ("Token", "Tokens"), ("Scores", "Scores"))
} | {
    "std::variant<rotary::TextTokenRun, rotary::ImagePatches, rotary::VideoPatches, "
    "rotary::SlicedImage>": "rotary::TokenGroup",
    "rotary::BasicTableView<void>": "rotary::TableView",
    "rotary::BasicTableView<void const>": "rotary::ConstTableView",
}
DECLARED = re.compile(r"\b(rotary_\w+)\s*\(")


def exported(library):
    """The library's defined dynamic symbols, as written in source."""
    command = ["nm", "--dynamic", "--defined-only", "--demangle", "--format=posix", library]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    # Lines are "name type value size"; names may hold spaces, and constructors appear twice.
    names = {re.sub(r" [A-Za-z](?: [0-9a-f]+){0,2}$", "", line.rstrip()) for line in lines}
    for spelled, alias in ALIASES.items():
        names = {name.replace(spelled, alias) for name in names}
    return names


def listed(path):
    lines = pathlib.Path(path).read_text().splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def declared(header):
    """The functions of a C header, marked ROTARY_API."""
    text = re.sub(r"/\*.*?\*/", "", pathlib.Path(header).read_text(), flags=re.DOTALL)
    statements = (part.split(";")[0] for part in text.split("ROTARY_API")[1:])
    return {DECLARED.search(statement)[1] for statement in statements}


def accept(path, symbols):
    kept = [line for line in pathlib.Path(path).read_text().splitlines() if line.startswith("#")]
    pathlib.Path(path).write_text("\n".join([*kept, *sorted(symbols)]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", help="the shared library")
    parser.add_argument("list", help="one demangled name on each line, '#' begins a comment")
    parser.add_argument("--header", action="append", default=[],
                        help="a C header whose functions must all be exported; may be repeated")
    parser.add_argument("--accept", action="store_true", help="write the list anew")
    arguments = parser.parse_args()

    symbols = exported(arguments.library)
    missing = sorted(set().union(*map(declared, arguments.header)) - symbols)
    for name in missing:
        print(f"declared in {' '.join(arguments.header)}, not exported: {name}")
    if arguments.accept:
        accept(arguments.list, symbols)
        return 1 if missing else 0
    wanted = listed(arguments.list)
    for name in sorted(symbols - wanted):
        print(f"exported, not in {arguments.list}: {name}")
    for name in sorted(wanted - symbols):
        print(f"in {arguments.list}, not exported: {name}")
    if symbols == wanted:
        return 1 if missing else 0
    again = " ".join([sys.executable, sys.argv[0], arguments.library, arguments.list, "--accept"])
    print(f"If this is what the change is meant to do: {again}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
