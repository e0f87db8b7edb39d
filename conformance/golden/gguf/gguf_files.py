#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the complete vocabulary files in llama_cpp_python's source distribution, and compares them
with the reduced ones of tests/golden/gguf.

    gguf_files.py TOOL [--write] [--convert PYTHON]
"""

import argparse
import pathlib
import subprocess
import sys

import reduce

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "conformance/golden"))

from wheels import llama_cpp  # noqa: E402

FOLDER = ROOT / "tests/golden/gguf"
BUILD = ROOT / "build/golden/gguf"


class GgufError(Exception):
    """A file or answer differs from what is required."""


def inspected(tool, path):
    result = subprocess.run([tool, "inspect", "--json", str(path)], capture_output=True, text=True)
    if result.returncode != 0:
        raise GgufError(f"{path.name}: {result.stderr.strip()}")
    return result.stdout


def check_vocabularies(tool, sources, write):
    """Returns the number of files; each must reduce to the kept file and give the same answers."""
    sys.path.insert(0, str(sources / "gguf-py"))
    files = sorted((sources / "models").glob("ggml-vocab-*.gguf"))
    for path in files:
        kept = FOLDER / path.name.removeprefix("ggml-")
        made = reduce.reduced(path)
        if write:
            kept.write_bytes(made)
        if made != kept.read_bytes():
            raise GgufError(f"{kept} must be what reduce.py makes of {path.name}")
        if inspected(tool, path) != inspected(tool, kept):
            raise GgufError(f"{path.name} must give the same answers complete and reduced")
    return len(files)


def convert(python, sources, write):
    """Makes the pairs again with an interpreter that has torch and transformers."""
    made = BUILD / "pairs"
    made.mkdir(exist_ok=True)
    subprocess.run([python, "-B", str(pathlib.Path(__file__).with_name("convert.py")),
                    str(sources), str(FOLDER / "pairs" if write else made)], check=True)
    for path in sorted(made.glob("*.gguf")):
        if not write and path.read_bytes() != (FOLDER / "pairs" / path.name).read_bytes():
            raise GgufError(f"{path.name} must be made again byte by byte")


def main():
    parser = argparse.ArgumentParser(prog="dev golden --gguf",
                                     description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("tool", help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help="write the files instead")
    parser.add_argument("--convert", metavar="PYTHON",
                        help="make the pairs of config and GGUF again, too, by an interpreter that "
                             "has torch and transformers 5.23.0")
    arguments = parser.parse_args()
    try:
        sources = llama_cpp(BUILD)
        count = check_vocabularies(arguments.tool, sources, arguments.write)
        if arguments.convert:
            convert(arguments.convert, sources, arguments.write)
    except (GgufError, subprocess.CalledProcessError) as error:
        print(f"golden: {error}", file=sys.stderr)
        return 1
    print(f"{count} vocabulary files give the same answers complete and reduced")
    return 0


if __name__ == "__main__":
    sys.exit(main())
