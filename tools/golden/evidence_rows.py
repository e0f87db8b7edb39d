# SPDX-License-Identifier: Apache-2.0
"""src/model/dialects/evidence.txt: what was looked at, as the library has it."""

import collections
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATH = ROOT / "src/model/dialects/evidence.txt"
HEAD = "# engine first last kind cells | families: what was looked at (docs/theory/dialects.md)\n"


def write_rows(engine, rows, differs):
    """Puts the rows of an engine in the place of those that were there. rows: {"family", "first",
    "last" (absent: the engine has no releases), "kind", "cells" (absent: every config)}. differs:
    {"family", "first", "last", "cell", "tool", "engine"}, rows of the kind none; what differs is
    kept beside the answers."""
    name = engine.replace(".", "_")
    groups = collections.defaultdict(set)
    for row in [*rows, *rows_without_evidence(differs)]:
        cells = " ".join(sorted(row.get("cells") or ["*"]))
        groups[row.get("first", "0.0"), row.get("last", "0.0"), row["kind"], cells].add(
            row["family"])
    made = [f"{name} {' '.join(group)} | {' '.join(sorted(families))}\n"
            for group, families in sorted(groups.items(), key=lambda each: order(each[0]))]
    kept = [line for line in PATH.read_text(encoding="utf-8").splitlines(keepends=True)
            if not line.startswith(("#", f"{name} "))]
    PATH.write_text(HEAD + "".join(sorted(kept + made, key=engine_of)), encoding="utf-8")
    beside = ROOT / f"build/golden/evidence/{engine}.differs.json"
    beside.parent.mkdir(parents=True, exist_ok=True)
    beside.write_text("[\n" + ",\n".join(map(json.dumps, differs)) + "\n]\n", encoding="utf-8")
    print(f"{engine}: {len(made)} rows, {len(differs)} cells differ ({beside})")


def rows_without_evidence(differs):
    cells = collections.defaultdict(list)
    for each in differs:
        cells[each["family"], each.get("first", "0.0"), each.get("last", "0.0")].append(
            each["cell"])
    return [{"family": family, "first": first, "last": last, "kind": "none", "cells": found}
            for (family, first, last), found in cells.items()]


def order(group):
    first, last, *rest = group
    return *(tuple(map(int, each.split("."))) for each in (first, last)), *rest


def engine_of(line):
    return line.split(" ", 1)[0]
