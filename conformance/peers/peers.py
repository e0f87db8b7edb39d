#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Verifies other implementations of rotary embedding, and times them beside ours.

    ./dev bench --peers                      set up, measure, print, keep build/peers/peers.json
    ./dev bench --peers --threads 2          the same with two threads for everyone
    ./dev bench --peers --from peers.json    print a kept run without measuring
    ./dev bench --peers --update             also write the table of docs/peers.md
    ./dev bench --peers attention ...        the same for attention: build/peers/attention.json;
                                             8192 tokens take 16 GiB of memory, some minutes
"""

import argparse
import dataclasses
import json
import pathlib
import subprocess
import sys
from typing import Callable

import attention_ratios
import attention_tables
import documents
import environment
import goals
import tables

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build/peers"


@dataclasses.dataclass(frozen=True)
class Topic:
    identity: dict  # of its reports
    tokens: list
    seconds: int
    markers: str
    table: Callable  # report -> text
    goals: Callable  # report -> text


TOPICS = {
    "peers": Topic({"schema_version": 1}, [1, 16, 512, 4096], 3, "peers",
                   tables.details, goals.text),
    "attention": Topic({"schema_version": 2, "kind": "attention"}, [512, 2048, 4096], 15,
                       "peers attention", attention_tables.details, attention_ratios.goals),
}


def main(words):
    name = "attention" if words[:1] == ["attention"] else "peers"
    topic = TOPICS[name]
    options = parsed(words[name == "attention":], name)
    try:
        report = read(options.source, topic) if options.source else measured(options, name)
        print(topic.table(report), *([] if options.markdown else [topic.goals(report)]), sep="\n")
        if options.update:
            documents.write(ROOT / "docs/peers.md", topic.table(report), topic.markers)
            print("written: docs/peers.md", file=sys.stderr)
    except (environment.PeersError, documents.MarkerError,
            subprocess.CalledProcessError) as error:
        print(f"peers: {error}", file=sys.stderr)
        return 1
    return 0


def parsed(words, name):
    topic = TOPICS[name]
    parser = argparse.ArgumentParser(
        prog="dev bench --peers" + " attention" * (name == "attention"), description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=positive, default=1, metavar="N",
                        help="threads for ours and for each peer, default: 1")
    parser.add_argument("--tokens", type=positive, nargs="+", default=topic.tokens, metavar="T",
                        help="default: " + " ".join(map(str, topic.tokens)))
    if name == "attention":
        parser.add_argument("--keys", type=positive, default=32768, metavar="N",
                            help="of a decode step, default: 32768")
    parser.add_argument("--seconds", type=positive_seconds, default=topic.seconds, metavar="S",
                        help=f"for each case that is timed, default: {topic.seconds}")
    parser.add_argument("--json", type=pathlib.Path, default=FOLDER / f"{name}.json",
                        metavar="FILE", help="where the report is kept, default: build/peers")
    parser.add_argument("--from", dest="source", type=pathlib.Path, metavar="FILE",
                        help="read a kept report instead of measuring")
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


def positive_seconds(word):
    number = float(word)
    if not number > 0:
        raise argparse.ArgumentTypeError(f"must be a number > 0, got {word}")
    return number


def read(path, topic):
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise environment.PeersError(f"{path} must be a report of this tool: {error}") from error
    if not isinstance(report, dict) or any(
            report.get(key) != value for key, value in topic.identity.items()):
        raise environment.PeersError(f"{path} must be a report of {topic.markers}, got other JSON")
    return report


def measured(options, name):
    python = environment.prepare(ROOT, FOLDER)
    given = vars(options) | {"topic": name, "commit": environment.commit(ROOT),
                             "library": FOLDER / "native/lib/librotary_peers.so"}
    options.json.parent.mkdir(parents=True, exist_ok=True)
    result = subprocess.run(
        [python, "-B", pathlib.Path(__file__).with_name("measure.py"),
         json.dumps(given, default=str)], env=environment.variables(FOLDER, options.threads))
    if result.returncode != 0:
        raise environment.PeersError("the measurement failed, see above")
    print(f"kept: {options.json}", file=sys.stderr)
    return read(options.json, TOPICS[name])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
