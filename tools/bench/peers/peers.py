#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times other implementations of rotary embedding beside ours, after verifying all of them.

    ./dev bench --peers                      set up, measure, print, keep build/peers/peers.json
    ./dev bench --peers --threads 2          the same with two threads for everyone
    ./dev bench --peers --from peers.json    print a run that was kept, without measuring
    ./dev bench --peers --update             also write the table of docs/peers.md
"""

import argparse
import json
import pathlib
import subprocess
import sys

import documents
import environment
import goals
import tables

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDER = ROOT / "build/peers"


def main():
    options = parsed(sys.argv[1:])
    try:
        report = read(options.source) if options.source else measured(options)
        show(report, options)
    except (environment.PeersError, documents.MarkerError) as error:
        print(f"peers: {error}", file=sys.stderr)
        return 1
    return 0


def show(report, options):
    if options.markdown:
        print(tables.details(report))
    else:
        print(tables.text(report), goals.text(report), sep="\n")
    if options.update:
        for path in documents.update(ROOT, report):
            print(f"written: {path.relative_to(ROOT)}", file=sys.stderr)


def parsed(words):
    parser = argparse.ArgumentParser(prog="dev bench --peers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=positive, default=1, metavar="N",
                        help="threads for ours and for each peer, default: 1")
    parser.add_argument("--tokens", type=positive, nargs="+", default=[1, 16, 512, 4096],
                        metavar="T", help="default: 1 16 512 4096")
    parser.add_argument("--seconds", type=positive, default=3, metavar="S",
                        help="for each dtype, pairing and number of tokens, default: 3")
    parser.add_argument("--json", type=pathlib.Path, default=FOLDER / "peers.json",
                        metavar="FILE", help="where the report is kept, default: build/peers")
    parser.add_argument("--from", dest="source", type=pathlib.Path, metavar="FILE",
                        help="a report that was kept, instead of a measurement")
    parser.add_argument("--markdown", action="store_true",
                        help="print the table of docs/peers.md alone")
    parser.add_argument("--update", action="store_true",
                        help="write the table between markers in docs/peers.md")
    return parser.parse_args(words)


def positive(word):
    number = int(word)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number >= 1, got {word}")
    return number


def read(path):
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise environment.PeersError(f"{path} must be a report of this tool: {error}") from error
    if not isinstance(report, dict) or report.get("schema_version") != 1:
        raise environment.PeersError(f"{path} must be a report of this tool, got other JSON")
    return report


def measured(options):
    python = environment.prepare(ROOT, FOLDER)
    command = [str(python), "-B", str(pathlib.Path(__file__).with_name("measure.py")),
               "--library", str(environment.library(FOLDER)), "--json", str(options.json),
               "--commit", environment.commit(ROOT),
               "--threads", str(options.threads), "--seconds", str(options.seconds),
               "--tokens", *map(str, options.tokens)]
    options.json.parent.mkdir(parents=True, exist_ok=True)
    result = subprocess.run(command, env=environment.variables(FOLDER, options.threads))
    if result.returncode != 0:
        raise environment.PeersError("the measurement failed, see above")
    report = read(options.json)
    report["goals"] = goals.evaluate(report)
    options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(f"kept: {options.json}", file=sys.stderr)
    return report


if __name__ == "__main__":
    sys.exit(main())
