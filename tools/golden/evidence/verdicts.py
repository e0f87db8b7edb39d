# SPDX-License-Identifier: Apache-2.0
"""Verdicts on each cell of a family: the tool's reading beside an engine's answer."""

import collections

from cells import VARIANTS, cells_of
from layers import Differs, compare_layers, compare_ropes

WORST_FIRST = ("differs", "fails", "run", "none")


def judge_family(evidence, family, tool, ask_engine):
    """ask_engine(asked): {"calls": [layers in each context]} or {"error": ...}."""
    verdicts = collections.defaultdict(list)
    cells = list(cells_of(family, pairs_of(family, evidence.engine, tool)))
    first = [asked for asked in cells if asked.cell.endswith((":default", ":yarn"))]
    for index, asked in enumerate(first + [asked for asked in cells if asked not in first]):
        if index == len(first) and not has_run(verdicts):
            break  # the engine makes no model of these sizes, whatever its rope is
        verdicts[asked.cell].append(verdict_of(asked, evidence.engine, tool, ask_engine))
    if not has_run(verdicts):
        whys = [found[0][2] for found in verdicts.values() if found[0][0] == "fails"]
        if whys:
            evidence.not_run[family] = whys[0]
        return
    merged = {cell: min(found, key=lambda each: WORST_FIRST.index(each[0]))
              for cell, found in verdicts.items()}
    for cell, (kind, *texts) in merged.items():
        if cell.split()[0] not in VARIANTS and kind != "none":
            evidence.add(family, cell, kind, *texts)
    for variant in VARIANTS:
        add_variant(evidence, family, variant, merged)


def has_run(verdicts):
    return any(found[0][0] in ("run", "differs") for found in verdicts.values())


def add_variant(evidence, family, variant, merged):
    """Of dictionaries that the engine reads without the variant."""
    read = [cell for cell in merged if cell.startswith(variant + " ")
            and all(merged[f"{cell.split()[1]}:{rule}"][0] == "run"
                    for rule in ("default", "linear"))]
    found = [merged[cell] for cell in read if merged[cell][0] != "none"]
    if found:
        evidence.add(family, variant, *min(found, key=lambda each: WORST_FIRST.index(each[0])))


def pairs_of(family, engine, tool):
    """Of the layers that the lists of LongRoPE are for."""
    for asked in cells_of(family, 1):
        answer = tool.read(asked.config, engine)
        if answer.get("model", {}).get("rotary"):
            return len(answer["model"]["rotary"][0]["inv_freq"])
    return 1


def verdict_of(asked, engine, tool, ask_engine):
    readings = [tool.read(asked.config, engine, context) for context in asked.contexts]
    if "error" in readings[0]:
        return "none", readings[0]["error"], ""
    answer = ask_engine(asked)
    refusal = readings[0]["refusal"]
    if "error" in answer:
        return ("run",) if refusal else ("fails", "reads it", answer["error"])
    if refusal:
        return "differs", refusal, "reads it"
    try:
        is_once = readings[0]["lengths"] == "whole_context"  # by the longest context
        for index, reading in list(enumerate(readings))[-1 if is_once else 0:]:
            compare(reading["model"], answer, index)
    except Differs as found:
        return "differs", found.tool, found.engine
    return ("run",)


def compare(model, answer, index):
    if "calls" in answer:
        return compare_layers(model, answer["calls"][index])
    if len(model["rotary"]) != 1:
        raise Differs(f"{len(model['rotary'])} ropes", "one cache")
    return compare_ropes(model["rotary"][0], answer["rope"])
