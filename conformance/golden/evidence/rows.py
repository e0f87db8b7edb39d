# SPDX-License-Identifier: Apache-2.0
"""Reads and writes src/model/dialects/evidence.txt."""

import collections
import itertools
import json

from names import BUILD, ROOT

PATH = ROOT / "src/model/dialects/evidence.txt"
HEAD = "# engine first last kind cells | families: what was looked at (docs/theory/dialects.md)\n"
ABSENT = {"*": ("fails", "", "")}  # the engine lacks the family


def read_rows(engine, versions):
    """Returns the engine's rows without texts: {version: {family: {cell: (kind, "", "")}}}."""
    kinds = {"run": "run", "read": "read", "absent": "fails", "none": "differs"}
    found = {version: collections.defaultdict(dict) for version in versions}
    for line in PATH.read_text(encoding="utf-8").splitlines():
        group, _, families = line.partition(" | ")
        name, first, last, kind, *cells = group.split()
        if name != engine.replace(".", "_"):
            continue
        for version, family in itertools.product(versions, families.split()):
            if number(first) <= number(version) <= number(last):
                found[version][family] |= dict.fromkeys(cells, (kinds[kind], "", ""))
    return found


def write_rows(engine, agreed, found):
    """Replaces an engine's rows. found: {version: {family: {cell: (kind, tool, engine)}}};
    agreed: the kind of an agreeing cell. Writes the differences into BUILD/evidence."""
    name = engine.replace(".", "_")
    kinds = {"run": agreed, "read": "read", "fails": "absent", "differs": "none"}
    groups = collections.defaultdict(set)
    families = sorted({family for each in found.values() for family in each})
    for family, kind in itertools.product(families, kinds):
        for first, last, cells in ranges(family, kind, found):
            groups[first, last, kinds[kind], " ".join(sorted(cells))].add(family)
    made = [f"{name} {' '.join(group)} | {' '.join(sorted(families))}\n"
            for group, families in sorted(groups.items(), key=lambda each: (
                number(each[0][0]), number(each[0][1]), *each[0][2:]))]
    kept = [line for line in PATH.read_text(encoding="utf-8").splitlines(keepends=True)
            if not line.startswith(("#", f"{name} "))]
    PATH.write_text(HEAD + "".join(sorted(kept + made, key=lambda line: line.split(" ", 1)[0])),
                    encoding="utf-8")
    differs = [json.dumps([version, family, cell, *texts]) for version, each in found.items()
               for family, cells in each.items() for cell, (kind, *texts) in cells.items()
               if kind == "differs"]
    beside = BUILD / f"evidence/{engine}.differs.json"
    beside.write_text("[\n" + ",\n".join(differs) + "\n]\n", encoding="utf-8")
    print(f"{engine}: {len(made)} rows, {len(differs)} cells differ ({beside})")


def ranges(family, kind, found):
    """Yields (first, last, cells) of adjacent releases. Differences share a row if texts do."""
    def cells_in(version):
        cells = found[version].get(family, {})
        return {cell: texts for cell, (each, *texts) in cells.items() if each == kind}
    if kind != "differs":
        yield from runs([(version, sorted(cells_in(version))) for version in found])
        return
    rows = collections.defaultdict(list)
    for cell in sorted({cell for version in found for cell in cells_in(version)}):
        for first, last, _ in runs([(version, cells_in(version).get(cell)) for version in found]):
            rows[first, last].append(cell)
    yield from ((first, last, cells) for (first, last), cells in rows.items())


def runs(values):
    for value, pairs in itertools.groupby(values, key=lambda pair: pair[1]):
        versions = [version for version, _ in pairs]
        if value:
            yield versions[0], versions[-1], value


def number(version):
    return tuple(map(int, version.split(".")))
