#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times attention of other implementations beside ours, after verifying all of them.

    ./dev bench --peers attention                  measure, keep build/peers/attention.json
    ./dev bench --peers attention --tokens 8192    16 GiB of memory, some minutes
    ./dev bench --peers attention --threads 2      the same with two threads for everyone
    ./dev bench --peers attention --from FILE      print a run that was kept
    ./dev bench --peers attention --update         also write the tables of docs/peers.md
"""

import argparse
import json
import pathlib
import subprocess
import sys

import attention_ratios
import attention_tables
import documents
import environment

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDER = ROOT / "build/peers"


def parsed(words):
    parser = argparse.ArgumentParser(prog="dev bench --peers attention", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="+", default=[512, 2048, 4096], metavar="N",
                        help="of a prefill, default: 512 2048 4096")
    parser.add_argument("--keys", type=int, default=32768, metavar="N",
                        help="of a decode step, default: 32768")
    parser.add_argument("--threads", type=int, default=1, metavar="N",
                        help="for ours and for each peer, default: 1")
    parser.add_argument("--seconds", type=float, default=15, metavar="S",
                        help="for each shape, five rounds in any case; default: 15")
    parser.add_argument("--json", type=pathlib.Path, default=FOLDER / "attention.json",
                        metavar="FILE", help="where the report is kept, default: build/peers")
    parser.add_argument("--from", dest="source", type=pathlib.Path, metavar="FILE",
                        help="a report that was kept, instead of a measurement")
    parser.add_argument("--update", action="store_true",
                        help="write the tables between markers in docs/peers.md")
    return parser.parse_args(words)


def measured(options):
    python = environment.prepare(ROOT, FOLDER)
    command = [str(python), "-B", str(pathlib.Path(__file__).with_name("attention_measure.py")),
               "--library", str(environment.library(FOLDER)), "--json", str(options.json),
               "--commit", environment.commit(ROOT), "--seconds", str(options.seconds),
               "--threads", str(options.threads), "--keys", str(options.keys),
               "--tokens", *map(str, options.tokens)]
    options.json.parent.mkdir(parents=True, exist_ok=True)
    if subprocess.run(command, env=environment.variables(FOLDER, options.threads)).returncode != 0:
        raise environment.PeersError("the measurement failed, see above")
    print(f"kept: {options.json}", file=sys.stderr)
    return read(options.json)


def read(path):
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise environment.PeersError(f"{path} must be a report of this tool: {error}") from error
    kind = (report.get("kind"), report.get("schema_version")) if isinstance(report, dict) else None
    if kind != ("attention", 2):
        raise environment.PeersError(f"{path} must be a report of attention, got other JSON")
    return report


def main():
    options = parsed(sys.argv[1:])
    try:
        report = read(options.source) if options.source else measured(options)
        table = attention_tables.details(report)
        print(table, attention_ratios.goals(report), sep="\n")
        if options.update:
            path = ROOT / "docs/peers.md"
            documents.write(path, table, documents.markers("peers attention"))
            print(f"written: {path.relative_to(ROOT)}", file=sys.stderr)
    except (environment.PeersError, documents.MarkerError) as error:
        print(f"peers: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
