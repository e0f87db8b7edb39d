# SPDX-License-Identifier: Apache-2.0
"""An experiment's results as one JSON value, for all outputs. lab/README.md describes it."""

import json
import pathlib
import re

import bleu
from cells import MALFORMED, Failure, read_arms
from judge import Measure, Measures, read_claim, summary


def machine_text(machine):
    ranks = f"{machine['ranks']} processes of " if machine["ranks"] != 1 else ""
    commit = f" ({machine['commit'][:8]})" if machine["commit"] else ""
    threads = f"{machine['threads']} thread{'' if machine['threads'] == 1 else 's'}"
    return (f"{machine['cpu']}, {ranks}{threads}, {machine['blas']}, torch {machine['torch']}, "
            f"rotary {machine['rotary']}{commit}")


def data_of(arms, data_dir):
    """Each data set of the cells once, with its origin and licence."""
    manifests = {}
    for path in pathlib.Path(data_dir).glob("*/manifest.json"):
        manifest = json.loads(path.read_text(encoding="utf-8"))
        manifests[manifest.get("sha256")] = manifest
    found = []
    for cell in (cell for arm in arms for cell in arm.cells):
        data = cell.config.get("data", {})
        one = {key: data.get(key, "") for key in ("name", "sha256")}
        known = manifests.get(one["sha256"], {})
        one |= {key: known.get(key) for key in ("origin", "licence")}
        if one not in found:
            found.append(one)
    return found


def remarks_on(arms, machines):
    """Reasons why numbers are not comparable."""
    remarks = []
    data = [cell.config.get("data") for arm in arms for cell in arm.cells]
    if any(each != data[0] for each in data):
        remarks.append("cells differ in their data: do not compare them")
    for arm in arms:
        first = arm.cells[0]
        for cell in arm.cells:
            other = [key for key in ("encoding", "model", "training")
                     if cell.config.get(key) != first.config.get(key)]
            if other:
                remarks.append(f"{arm.name}: the {other[0]} of seed {cell.seed} is not that of "
                               f"seed {first.seed}")
    if len(machines) > 1:
        remarks.append("cells were made in several ways: processor times of different ones do not "
                       "compare")
    return remarks


def cell_json(cell):
    done = cell.done
    keys = ("multiple", "rule", "loss", "last_quarter", "by_position")
    return {"seed": cell.seed, "steps": done["steps"], "parameters": done["parameters"],
            "loss": done["validation_loss"], "wall_s": done["wall_s"], "cpu_s": done["cpu_s"],
            "metrics": cell.metrics,
            "lengths": [{key: length.get(key) for key in keys} for length in done["lengths"]],
            "curve": {key: cell.curve[key] for key in
                      ("step", "tokens", "training", "validation", "cpu_s", "wall_s")},
            "pairs": done.get("pairs", [])}


def arm_json(measures, arm, target):
    config = arm.cells[0].config

    def summary_of(metric):
        return summary(measures.values(arm, Measure(arm.name, metric=metric)))

    return {"name": arm.name, "family": arm.family,
            "best_of_family": not arm.family or measures.find_arm(arm.family) is arm,
            **{key: config.get(key) for key in ("encoding", "model", "training", "start")},
            "loss": measures.loss(arm),
            "steps_to_target": summary_of(f"steps_to@{target}") if target else None,
            "metrics": {name: summary_of(name) for name in arm.cells[0].metrics},
            "cells": [cell_json(cell) for cell in arm.cells]}


def target_of(measures):
    """Returns the name of the arm whose final loss is the target of steps_to_target: the first
    trained one of learned, sinusoidal and none. Returns "" without it or without other arms."""
    for name in ("learned", "sinusoidal", "none"):
        arm = measures.find_arm(name)
        if arm and arm.cells[0].curve["step"] and len(measures.arms) > 1:
            return arm.name
    return ""


def results_of(experiment, asked):
    """Returns an experiment's document, and a function that compares its translations as text."""
    arms = list(read_arms(experiment, asked))
    measures = Measures(arms, experiment["arms"])
    for arm in measures.arms:
        for cell in arm.cells:
            bleu.add_score(cell)
    source = experiment["source"]
    machines = sorted({machine_text(machine) for arm in measures.arms for cell in arm.cells
                       for machine in cell.done.get("machines", ())})
    target = target_of(measures)
    try:
        claims = [read_claim(value, f"{source}: claim {number}")
                  for number, value in enumerate(experiment["claims"], 1)]
        published = [{**{key: table[key] for key in ("label", "source", "unit")},
                      "rows": measures.beside(table, f"{source}: paper {number}")}
                     for number, table in enumerate(experiment.get("paper", ()), 1)]
        head = {key: experiment[key] for key in ("name", "title", "mirrors")}
    except (KeyError, TypeError, ValueError) as error:
        raise Failure(MALFORMED, f"{source} must be an experiment: {error}") from error
    document = {
        **head, "preset": asked.preset,
        "cells": {"finished": sum(len(arm.cells) for arm in measures.arms),
                  "of_preset": sum(len(arm.seeds) for arm in arms)},
        "data": data_of(measures.arms, asked.data_dir), "machines": machines,
        "remarks": remarks_on(measures.arms, machines), "target": target,
        "arms": [arm_json(measures, arm, target) for arm in measures.arms],
        "claims": [measures.judge(claim) for claim in claims],
        "published": published}
    return document, lambda: bleu.comparisons(measures.arms, claims)


def as_json(experiments):
    """ASCII JSON, so that no character of a name can end a line or a page element."""
    version = re.search(r'ROTARY_VERSION_STRING "([^"]+)"', pathlib.Path(
        __file__, "../../../include/rotary/version.hpp").resolve().read_text(encoding="utf-8"))
    return json.dumps({"schema_version": 1, "rotary": version.group(1) if version else "",
                       "experiments": experiments}, separators=(",", ":"), allow_nan=False) + "\n"
