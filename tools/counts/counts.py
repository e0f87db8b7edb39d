# SPDX-License-Identifier: Apache-2.0
"""Counts instructions of the hot calls with callgrind and compares them with recorded.json. Counts
are the same in every run, unlike times, so a change of a few percent shows on any machine.

    counts.py PROGRAM RECORDED [--accept | --if-recorded]

PROGRAM is rotary-counts. RECORDED holds the counts for each compiler and instruction set.
--accept writes the new counts. Exits with 1 if a count differs by more than 2 % from the record,
in either direction. An improvement must be recorded too, or it could be lost unseen."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Valgrind does not know AVX-512.
INSTRUCTION_SETS = ("AVX2", "SSE4")
ALLOWED = 0.02
SUMMARY = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)


def count(program, instruction_set):
    """Returns the compiler, and the instruction count of each call by name."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        result = subprocess.run(
            ["valgrind", "--tool=callgrind", "--quiet", f"--callgrind-out-file={out}",
             "--zero-before=counted_call", "--dump-after=counted_call", program],
            capture_output=True, text=True,
            env=os.environ | {"ROTARY_INSTRUCTION_SET": instruction_set},
        )  # fmt: skip
        if result.returncode != 0:
            sys.exit(f"{program} must exit with 0 under callgrind, got {result.returncode}:\n"
                     f"{result.stderr}")
        compiler, used, *names = result.stdout.splitlines()
        if used != instruction_set:
            sys.exit(f"{program} must use {instruction_set}, got {used}")
        dumps = sorted(pathlib.Path(folder).glob("out.*"), key=lambda path: int(path.suffix[1:]))
        if len(dumps) != len(names):
            sys.exit(f"callgrind must write one dump for each of {len(names)} calls, "
                     f"got {len(dumps)}")
        return compiler, {
            name: int(SUMMARY.search(dump.read_text()).group(1))
            for name, dump in zip(names, dumps)
        }


def compare(title, counted, recorded):
    """Prints every count; returns how many differ too much from the record."""
    wrong = 0
    print(f"\n{title:<48}{'counted':>12}{'recorded':>12}{'change':>9}")
    for name in sorted(counted.keys() | recorded.keys(), key=[*counted, *recorded].index):
        now, before = counted.get(name), recorded.get(name)
        if now is None or before is None:
            change, is_wrong = "", True
        else:
            change, is_wrong = f"{now / before - 1:+.1%}", abs(now / before - 1) > ALLOWED
        wrong += is_wrong
        print(f"{name:<48}{now or 'no call':>12}{before or 'nothing':>12}{change:>9}"
              f"{'  <--' if is_wrong else ''}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("recorded", type=pathlib.Path)
    parser.add_argument("--accept", action="store_true", help="record the new counts")
    parser.add_argument("--if-recorded", action="store_true",
                        help="do nothing if this compiler has no recorded counts")
    options = parser.parse_args()
    recorded = json.loads(options.recorded.read_text()) if options.recorded.exists() else {}
    if options.if_recorded:
        compiler = subprocess.run([options.program], capture_output=True, text=True,
                                  check=True).stdout.splitlines()[0]
        if compiler not in recorded:
            print(f"nothing is counted: {options.recorded} has no counts for {compiler}")
            return
    wrong = 0
    for instruction_set in INSTRUCTION_SETS:
        compiler, counted = count(options.program, instruction_set)
        before = recorded.setdefault(compiler, {}).get(instruction_set, {})
        wrong += compare(f"instructions, {compiler}, {instruction_set}", counted, before)
        recorded[compiler][instruction_set] = counted
    if options.accept:
        options.recorded.write_text(json.dumps(recorded, indent=2) + "\n")
        print(f"\nrecorded in {options.recorded}")
    elif wrong:
        sys.exit(f"\n{wrong} counts differ by more than {ALLOWED:.0%} from {options.recorded}; "
                 "if the change is meant: ./dev counts --accept")


main()
