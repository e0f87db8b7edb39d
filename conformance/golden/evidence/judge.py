# SPDX-License-Identifier: Apache-2.0
"""Compares an engine's answers with the library's reading of the same configs."""

import base64
import collections
import json
import pathlib
import subprocess
import tempfile

SAME = 2.0**-18  # relative; frequencies are recovered from float32 tables
STRICT = ("differs", "fails", "run", "unknown")


class Differs(Exception):
    """A difference: the library's value, and the engine's."""


def verdicts(lines, dialect, engine, readings):
    """Returns {family: {cell: (kind, tool, engine)}} for families that the engine has."""
    lines = [line for line in lines if "cell" in line]
    ours = asked(readings, [{"config": line["config"], "dialect": dialect, "calls": line["calls"]}
                            for line in lines])
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for line, answer, theirs in zip(lines, ours, answers_of(lines, readings)):
        found[line["family"]][line["cell"]].append((line.get("form"),
                                                    verdict(line, answer, theirs, engine)))
    return {family: merged(cells, engine.worst_first) for family, cells in found.items()}


def merged(cells, worst_first):
    """Returns the worst verdict on each cell. If keys are in two places, counts only forms that the
    engine reads, and ranks their verdicts by STRICT."""
    def worst(all_of):
        order = worst_first if all_of[0][0] is None else STRICT
        return min(all_of, key=lambda each: order.index(each[1][0]))
    def is_read(form):
        verdicts = [worst(cells[f"{form}:{rule}"])[1] for rule in ("default", "linear")]
        return all(kind == "run" for kind, *_ in verdicts)
    kept = {cell: [each for each in all_of if each[0] is None or is_read(each[0])]
            for cell, all_of in cells.items()}
    return {cell: worst(all_of)[1] for cell, all_of in kept.items() if all_of}


def asked(program, questions):
    """program: its path, or a command."""
    text = "\n".join(map(json.dumps, questions))
    answers = subprocess.run(program, input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in answers.stdout.splitlines()]


def answers_of(lines, readings):
    """Returns the engine's answers. The library reads GGUF files in place of llama.cpp's loader."""
    with tempfile.TemporaryDirectory() as folder:
        questions = []
        for line in lines:
            if "gguf" in line["answer"]:
                path = pathlib.Path(folder, f"{len(questions)}.gguf")
                path.write_bytes(base64.b64decode(line["answer"]["gguf"]))
                questions.append({"gguf": str(path), "calls": [max(line["calls"])]})
        read = iter(asked(readings, questions))
        return [of_file(next(read), len(line["calls"])) if "gguf" in line["answer"]
                else line["answer"] for line in lines]


def of_file(reading, calls):
    if "error" in reading:
        return reading
    rotating = [[layer, rope] for layer, rope in enumerate(reading["layers"]) if rope is not None]
    return {"ropes": reading["calls"][0], "calls": [rotating] * calls}


def verdict(line, ours, theirs, engine):
    """Returns (run, differs, fails or unknown; the library's answer; the engine's answer)."""
    note = f"{line['tried']}: " if line["tried"] else ""
    unread = next((each["error"] for each in [ours, *ours.get("calls", [[]])[0]]
                   if "error" in each), None)
    if "error" in theirs:
        kind = "fails" if not unread and not ours["refusal"] else engine.both_fail[bool(unread)]
        return kind, "", note + theirs["error"]
    if unread:
        return "unknown", note + unread, "runs"
    if ours["refusal"]:
        return "differs", note + ours["refusal"], "runs"
    if not theirs["ropes"] and any(rope is not None for rope in ours["layers"]):
        return "unknown", "rotates", note + "no function that rotates was seen"
    is_once = ours["lengths"] == "whole_context"  # computed once, for the longest context
    try:
        for call in range(len(line["calls"]))[-1 if is_once else 0:]:
            compare(ours, theirs, call)
    except Differs as error:
        return "differs", note + str(error.args[0]), str(error.args[1])
    return "run", "", ""


def compare(ours, theirs, call):
    ropes = ours["calls"][call]
    layers = [layer for layer, _ in theirs["calls"][call]]
    are_known = None not in layers and ours["layers"]
    rotating = [i for i, rope in enumerate(ours["layers"]) if rope is not None]
    if are_known and sorted(layers) != rotating:
        raise Differs(f"layers {rotating} rotate", f"layers {sorted(layers)} do")
    for layer, rope in theirs["calls"][call]:
        candidates = [ropes[ours["layers"][layer]]] if are_known else ropes
        compare_with_one_of(candidates, theirs["ropes"][rope], f"call {call}, layer {layer}")


def compare_with_one_of(candidates, theirs, where):
    problems = []
    for ours in candidates:
        try:
            return compare_ropes(ours, theirs, where)
        except Differs as error:
            problems.append(error)
    raise problems[0] if problems else Differs("does not rotate", "rotates")


def compare_ropes(ours, theirs, where):
    if theirs.get("kinds", 1) != 1:
        raise Differs(f"{where}: one rope", f"{theirs['kinds']} ropes")
    got, wanted = ([each for each in side["inv_freq"] if each] for side in (ours, theirs))
    if "pairing" not in theirs:  # tables have neither sign nor order
        got, wanted = (sorted(map(abs, side)) for side in (got, wanted))
    elif ours["pairing"].removesuffix("_to_half") != theirs["pairing"].removesuffix("_to_half"):
        raise Differs(f"{where}: {ours['pairing']}", theirs["pairing"])
    if len(got) != len(wanted):
        raise Differs(f"{where}: {len(got)} pairs", f"{len(wanted)} pairs")
    for pair, (one, other) in enumerate(zip(got, wanted)):
        if abs(one - other) > SAME * abs(other):
            raise Differs(f"{where}: frequency {pair} is {one:.6g}", f"{other:.6g}")
    if abs(ours["factor"] - theirs["factor"]) > SAME * abs(theirs["factor"]):
        raise Differs(f"{where}: factor {ours['factor']:.6g}", f"factor {theirs['factor']:.6g}")
