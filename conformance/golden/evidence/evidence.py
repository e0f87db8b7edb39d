#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares engines with the library and writes their rows of evidence.txt.

    evidence.py [--families A,B] [--from PATH] ENGINE[@RELEASE]
    evidence.py --shares transformers

An engine runs every config of cells.py for each family. Answers stay in build/golden/evidence, in a
file per release; a family in that file is not run again. --families: runs these families, and other
families' rows stay. --from: the wheel of vllm or onnxruntime-genai, or the folder vendor/llama.cpp
of llama_cpp_python's source distribution. Engine transformers runs the releases in "lines" of
releases.json, in one environment (14 GB).
"""

import argparse
import dataclasses
import json
import os
import subprocess
import sys

from names import BUILD, READINGS  # also extends the import path

from cells import cases, first_case
from engines import ENGINES
from judge import asked, verdicts
from rows import ABSENT, read_rows, write_rows
from shares import print_shares


class Survey:
    """A program that answers each JSON line with a JSON line. If it ends, it is started again."""

    def __init__(self, engine, release, source):
        self.made, self.process = lambda: engine.command(release, source), None

    def ask(self, question):
        if self.process is None:
            command, environment = self.made()
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                stderr=subprocess.DEVNULL, env=os.environ | environment)
        print(json.dumps(question), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        self.process = None
        return {"error": "the engine's process ended"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("engine", metavar="ENGINE[@RELEASE]")
    parser.add_argument("--families", type=lambda text: text.split(","))
    parser.add_argument("--from", dest="source")
    parser.add_argument("--shares", action="store_true", help="print the rows' shares")
    arguments = parser.parse_args()
    name, _, release = arguments.engine.partition("@")
    engine = ENGINES[name]
    if arguments.shares:
        return print_shares(engine)
    found = read_rows(name, [engine.version(each) for each in engine.releases])
    for each in [release] if release else engine.releases:
        made = found_of(engine, each, arguments)
        kept, asked_for = found[engine.version(each)], arguments.families
        found[engine.version(each)] = made if asked_for is None else {
            family: cells.get(family, {}) for family in kept.keys() | made.keys()
            for cells in [made if family in asked_for else kept]}
    write_rows(name, engine.agreed, found)
    return 0


def found_of(engine, release, arguments):
    """Returns a release's {family: {cell: verdict}}."""
    path = BUILD / f"evidence/{engine.name}-{release}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    survey = Survey(engine, release, arguments.source)
    kept = list(map(json.loads, path.read_text().splitlines())) if path.exists() else []
    kept = kept or keep(path, [survey.ask({"names": True})])
    wanted = {family: name for family in engine.families()
              if (name := engine.name_of(family, kept[0]["names"]))}
    for family in wanted.keys() & set(arguments.families or wanted):
        if not any(line.get("family") == family for line in kept):
            print(f"{engine.name} {release}: {family}", file=sys.stderr)
            kept += keep(path, lines_of(family, wanted[family], (engine, release), survey))
    lines = [line for line in kept if line.get("family") in wanted]
    judged = verdicts(lines, engine.dialect(release), engine, READINGS)
    ran = {family: trusted for family, cells in judged.items()
           if (trusted := engine.trusted(family, cells))}
    agreeing = sum(any(kind == "run" for kind, *_ in cells.values()) for cells in ran.values())
    print(f"{engine.name} {release}: {agreeing} of {len(wanted)} families agree in a form",
          file=sys.stderr)
    absent = {family for family in engine.families()
              if engine.is_absent(family, release, kept[0]["names"])}
    ran, absent = engine.with_parts(ran, absent, wanted.keys() - ran.keys())
    return engine.read(release) | ran | dict.fromkeys(absent, ABSENT)


def keep(path, lines):
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return lines


def lines_of(family, name, release, survey):
    """Returns the cases with their answers, or one error if the engine has no such model."""
    engine, version = release
    try:
        model = engine.model(family, survey)
    except LookupError as error:
        return [{"family": family, "error": str(error)}]
    first = first_case(model)
    ours = asked(READINGS, [first | {"dialect": engine.dialect(version)}])[0]
    rotary = ours.get("calls", [[]])[0]
    answered = [answer_of(first, name, survey)]
    if not rotary and not answered[0]["answer"].get("ropes"):
        return answered  # the model does not rotate, whatever the rope keys
    model = dataclasses.replace(model, pairs=len(rotary[0]["inv_freq"]) if rotary else 32)
    rest = list(cases(model))
    plain = [case for case in rest if case["cell"].endswith((":default", ":yarn"))]
    answered += [answer_of(case, name, survey) for case in plain]
    if all("error" in line["answer"] for line in answered):
        return answered  # the engine makes no model of these sizes, whatever the rope keys
    return answered + [answer_of(case, name, survey) for case in rest if case not in plain]


def answer_of(case, name, survey):
    config = {"architectures": [name]} | case["config"]
    return case | {"answer": survey.ask({"config": config, "calls": case["calls"]})}


if __name__ == "__main__":
    sys.exit(main())
