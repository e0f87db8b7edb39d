#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden files again with a published Transformers, and compares.

    golden.py [--release VERSION] [FOLDER | FILE.json]...
    golden.py --releases [--write]

`./dev golden --onnx [--write]` runs onnx_vectors.py.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import torch

from cases import NoCase, reason_against, remade
from compare import judge
from history import periods
from history_cases import CASES
from history_table import compare_with_document
from release import release_of
from wheels import WheelError, pins

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    arguments = parsed(sys.argv[1:])
    torch.set_num_threads(1)
    try:
        if arguments.releases:
            return compare_with_document(histories(), arguments.write)
        return compare_files(files_of(arguments.paths), release_of(arguments.release))
    except (WheelError, subprocess.CalledProcessError) as error:
        print(f"golden: {error}", file=sys.stderr)
        return 1


def parsed(words):
    parser = argparse.ArgumentParser(prog="dev golden", description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", type=pathlib.Path, metavar="FOLDER | FILE.json",
                        default=[ROOT / "tests/golden"], help="default: tests/golden")
    parser.add_argument("--release", default=pins()["default"], choices=pins()["sha256"],
                        metavar="VERSION",
                        help="a release that releases.json pins, default: %(default)s")
    parser.add_argument("--releases", action="store_true",
                        help="compare tests/golden/releases.txt with what the pinned releases do")
    parser.add_argument("--write", action="store_true", help="with --releases: write the file")
    arguments = parser.parse_args(words)
    if arguments.write and not arguments.releases:
        parser.error("--write needs --releases")
    for path in arguments.paths:
        if not path.exists():
            parser.error(f"{path} must be a folder or a file, got neither")
    return arguments


def histories():
    releases = [release_of(version) for version in pins()["sha256"]]
    return [(case, periods(case, releases)) for case in CASES]


def files_of(paths):
    for path in paths:
        yield from sorted(path.glob("*.json")) if path.is_dir() else [path]


def compare_files(paths, release):
    print(f"transformers {release.version} on torch {torch.__version__}")
    counts = {"remade": 0, "not remade": 0, "changed": 0}
    for path in paths:
        kind, text = verdict_on(path, release)
        counts[kind] += 1
        print(f"{path.stem:44} {text}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    if counts["remade"] + counts["changed"] == 0:
        print("golden: no golden file was found", file=sys.stderr)
        return 1
    return 1 if counts["changed"] else 0


def verdict_on(path, release):
    golden = json.loads(path.read_text(encoding="utf-8"))
    reason = reason_against(path.stem, golden)
    if reason is not None:
        return "not remade", f"not remade: {reason}"
    try:
        verdict = judge(remade(golden, release))
    except NoCase as error:
        return "changed", f"CHANGED: {error}"
    except Exception as error:  # other projects' code may raise anything: that is a finding
        return "changed", f"CHANGED: fails with {type(error).__name__}: {error}"
    if verdict.count == 0 and not verdict.changes:
        return "changed", "CHANGED: holds no number that is made again"
    return ("changed" if verdict.changes else "remade"), verdict.text()


if __name__ == "__main__":
    sys.exit(main())
