# SPDX-License-Identifier: Apache-2.0
"""What releases did, beside the library's reading of the same configs: cells, and rows of them."""

import collections
import itertools
import json
import subprocess

from wheels import pins

SAME = 2.0**-18  # relative: float32 tables, of which frequencies are taken back


def verdicts(release, lines, readings):
    """family -> {"kind", "cells": {cell: (kind, tool, engine)}, "why"}."""
    version = "@" + minor(release) if release != pins()["lines"][-1] else ""
    questions = [line for line in lines if "cell" in line]
    text = "\n".join(json.dumps({"config": line["config"], "dialect": f"transformers{version}",
                                 "calls": line.get("calls", [1])}) for line in questions)
    answers = subprocess.run([readings], input=text, capture_output=True, text=True, check=True)
    found = {line["family"]: {"cells": collections.defaultdict(list), "why": ""} for line in lines}
    for line in lines:
        found[line["family"]]["why"] += line.get("absent", "") or line.get("fails", "")
        found[line["family"]]["absent"] = "absent" in line or found[line["family"]].get("absent")
    for line, answer in zip(questions, map(json.loads, answers.stdout.splitlines()), strict=True):
        found[line["family"]]["cells"][line["cell"]].append(verdict(line, answer))
    return {family: {"absent": each["absent"], "why": each["why"],
                     "cells": {cell: worst(all_of) for cell, all_of in each["cells"].items()}}
            for family, each in found.items()}


def minor(release):
    return ".".join(release.split(".")[:2])


def worst(found):
    """differs, else run where one was run, else absent; a file that the library refuses with an
    error says nothing, and nothing wrong."""
    order = {"differs": 0, "run": 1, "absent": 2, "unknown": 3}
    return min(found, key=lambda each: order[each[0]])


def verdict(line, answer):
    """(run, differs or absent, what the library says, what the engine does)."""
    note = f"{line['tried']}: " if line["tried"] else ""
    if "refused" in line:
        return "absent", "", note + line["refused"]
    if "error" in answer:
        return "unknown", note + answer["error"], "runs"
    if answer["refusal"]:
        return "differs", note + answer["refusal"], "runs"
    if not line["ropes"] and any(rope is not None for rope in answer["layers"]):
        return "unknown", "rotates", note + "no function that rotates was seen"
    try:
        compare(line, answer)
    except Differs as error:
        return "differs", note + str(error.args[0]), str(error.args[1])
    return "run", "", ""


class Differs(Exception):
    """What the library says, and what the engine does."""


def compare(line, answer):
    if line["layers"] is None:
        compare_sets(line, answer)
        return
    for call, layers in enumerate(line["layers"]):
        ours = answer["calls"][call]
        indices = [layer for layer, _ in layers]
        if None not in indices and answer["layers"]:
            rotating = [i for i, rope in enumerate(answer["layers"]) if rope is not None]
            if sorted(indices) != rotating:
                raise Differs(f"layers {rotating} rotate", f"layers {sorted(indices)} do")
        for layer, rope in layers:
            if layer is None or not answer["layers"]:
                compare_sets(line | {"each_call": [[line["ropes"][rope]]]}, answer)
            else:
                compare_ropes(ours[answer["layers"][layer]], line["ropes"][rope],
                              f"call {call}, layer {layer}")


def compare_sets(line, answer):
    """Each rope of the engine is one of ours, and the other way round, where no layer is known."""
    for call, (theirs, ours) in enumerate(zip(line["each_call"], answer["calls"])):
        for one in theirs:
            problems = []
            for other in ours:
                try:
                    compare_ropes(other, one, f"call {call}")
                    break
                except Differs as error:
                    problems.append(error)
            else:
                raise problems[0] if problems else Differs("does not rotate", "rotates")


def compare_ropes(ours, theirs, where):
    if "error" in ours:
        raise Differs(f"{where}: {ours['error']}", "runs")
    got = sorted(abs(each) for each in ours["inv_freq"])
    wanted = sorted(theirs["inv_freq"])
    while len(wanted) > len(got) and wanted[0] == 0:
        wanted.pop(0)
    while len(got) > len(wanted) and got[0] == 0:
        got.pop(0)
    if len(got) != len(wanted):
        raise Differs(f"{where}: {len(got)} pairs", f"{len(wanted)} pairs")
    for one, other in zip(got, wanted):
        if abs(one - other) > SAME * abs(other):
            raise Differs(f"{where}: {text(got)}", text(wanted))
    if abs(ours["factor"] - theirs["factor"]) > SAME * abs(theirs["factor"]):
        raise Differs(f"{where}: factor {ours['factor']:.6g}", f"factor {theirs['factor']:.6g}")


def text(frequencies):
    return "frequencies " + ", ".join(f"{each:.5g}" for each in frequencies[-3:][::-1]) + (
        f" … {frequencies[0]:.5g}")


def rows_of(found):
    """{"rows", "differs"} of {release: verdicts}; equal neighbours are one row."""
    versions = [minor(release) for release in found]
    families = sorted({family for each in found.values() for family in each})
    rows, differs = [], []
    for family in families:
        each = [cells_of(found[release].get(family)) for release in found]
        for kind in ("run", "absent"):
            rows += [{"family": family, "first": first, "last": last, "kind": kind} | cells
                     for first, last, cells in ranges(versions, [one[kind] for one in each])]
        cells = sorted({cell for one in each for cell in one["differs"]})
        for cell in cells:
            differs += [{"family": family, "first": first, "last": last, "cell": cell,
                         "tool": texts[0], "engine": texts[1]}
                        for first, last, texts in ranges(
                            versions, [one["differs"].get(cell) for one in each])]
    return {"rows": rows, "differs": differs}


def cells_of(family):
    if family is None:
        return {"run": None, "absent": None, "differs": {}}
    by_kind = {kind: [cell for cell, each in family["cells"].items() if each[0] == kind]
               for kind in ("run", "absent")}
    whole = {} if family["absent"] else None
    return {"run": {"cells": by_kind["run"]} if by_kind["run"] else None,
            "absent": {"cells": by_kind["absent"]} if by_kind["absent"] else whole,
            "differs": {cell: each[1:] for cell, each in family["cells"].items()
                        if each[0] == "differs"}}


def ranges(versions, values):
    """(first, last, value) of equal neighbours that are not None."""
    places = itertools.groupby(zip(versions, values), key=lambda pair: json.dumps(pair[1]))
    for _, pairs in places:
        pairs = list(pairs)
        if pairs[0][1] is not None:
            yield pairs[0][0], pairs[-1][0], pairs[0][1]
