# SPDX-License-Identifier: Apache-2.0
"""Prints the 25 slowest objects and tests, with the seconds of the last build or run.
Usage: times.py BUILD, a Ninja build folder. ./dev times calls it."""

import pathlib
import re
import sys

SHOWN = 25
TEST = re.compile(r'^"(\S+)" start time:|^Test time = +([\d.]+) sec', re.MULTILINE)


def objects(build):
    """Build seconds of each object. Ninja appends a line per build; the last counts."""
    seconds = {}
    for line in (build / ".ninja_log").read_text().splitlines():
        if not line.startswith("#"):
            begin, end, _, path, _ = line.split("\t")
            seconds[path] = (int(end) - int(begin)) / 1000
    return {path: took for path, took in seconds.items() if (build / path).exists()}


def tests(build):
    log = build / "Testing/Temporary/LastTest.log"
    seconds, name = {}, None
    for match in TEST.finditer(log.read_text(errors="replace") if log.exists() else ""):
        if match[1]:
            name = match[1]
        else:
            seconds[name] = float(match[2])
    return seconds


def show(title, seconds):
    print(f"\n{title}: {len(seconds)}, {sum(seconds.values()):.0f} s one after the other")
    for name in sorted(seconds, key=seconds.get, reverse=True)[:SHOWN]:
        print(f"{seconds[name]:8.1f}  {name}")


def main():
    build = pathlib.Path(sys.argv[1])
    show("objects and other files", objects(build))
    show("tests", tests(build))


main()
