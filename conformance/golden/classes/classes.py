#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the tool with every rotary class of a published Transformers: the default config's
rotating layers, and frequencies, factor and rows for it and for five scaling rules.

    classes.py [--write] [MODEL_TYPE]...

settings.json pins the packages, completes default configs that make no model, and gives reasons
for classes that cannot agree. Also compares `rotary positions` with get_rope_index on random
prompts. Exits with 1 if anything disagrees without a reason. --write: keeps some numbers for
tests in tests/golden/classes.json and rope_index.json. --vllm: also compares
vllm/model_executor/models/qwen2_5_vl.py. --forms: instead compares every form of the rope keys for
one config per model_type (forms.py).
"""

import argparse
import collections
import fnmatch
import json
import pathlib
import subprocess
import sys

from judge import Verdict, judged, judged_form
from keep import ROOT, recorded, recorded_form, write

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from positions import compare_positions, makers  # noqa: E402
from wheels import WheelError, python_with  # noqa: E402

FILE = HERE / "settings.json"
SETTINGS = json.loads(FILE.read_text(encoding="utf-8"))
TOOL = ROOT / "build/release/bin/rotary"
ENVIRONMENTS = ROOT / "build/golden/environments"


def main():
    parser = argparse.ArgumentParser(prog="dev golden --classes",
                                     description=__doc__.split("\n\n")[0])
    parser.add_argument("model_types", nargs="*", metavar="MODEL_TYPE", help="default: all")
    parser.add_argument("--write", action="store_true", help="write tests/golden/classes.json")
    parser.add_argument("--vllm", metavar="FILE", help="qwen2_5_vl.py of vLLM, for its ids")
    parser.add_argument("--forms", action="store_true", help="compare forms of rope keys alone")
    parser.add_argument("--positions", action="store_true", help="compare ids alone")
    arguments = parser.parse_args()
    try:
        failed = 0
        if arguments.forms:
            return compare_forms(arguments.model_types, [] if arguments.write else None)
        if not arguments.positions:
            failed = compare_classes(arguments.model_types, [] if arguments.write else None)
        return max(failed, compare_ids(arguments)) if not arguments.model_types else failed
    except (WheelError, subprocess.CalledProcessError) as error:
        print(f"golden: {error}", file=sys.stderr)
        return 1


def compare_classes(model_types, kept):
    """Prints each class's verdict, and other variants that disagree. Returns 0 if settings.json has
    a reason for each that disagrees. kept: a list that collects the agreeing classes, or None."""
    print(", ".join(SETTINGS["python"]))
    counts = collections.Counter()
    for line in survey(model_types):
        verdict = with_reason(line)
        counts[verdict.kind] += 1
        is_kept = line["variant"] == "class" and not line["is_axial"]  # axis_rows.py has axial ones
        if kept is not None and is_kept and verdict.kind == "agrees":
            kept.append(recorded(line, TOOL))
        if line["variant"] == "class" or verdict.kind not in ("agrees", "has a reason"):
            print(f"{line['config_class']:36} {line['variant']:9} {verdict.kind}: {verdict.text}",
                  flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    if kept is not None:
        write("classes", kept, SETTINGS["python"], "classes", sort_keys=True)
    failed = set(counts) - {"agrees", "has a reason"}
    return 1 if failed or not counts else 0


def compare_forms(model_types, kept):
    """Prints the forms on which tool and class disagree. Returns 0 if settings.json has a reason
    for each. kept: a list for agreeing forms of settings.json, or None."""
    counts = collections.Counter()
    for line in survey(model_types, "forms.py"):
        verdict = judged_form(line, TOOL)
        name = f"{line['model_type']} {line['variant']}"
        reasons = SETTINGS[f"reasons_of_{'refusals' if verdict.kind == 'refused' else 'forms'}"]
        if kept is not None and verdict.kind in ("agrees", "both refuse") and any(
                fnmatch.fnmatchcase(name, pattern) for pattern in SETTINGS["kept_forms"]):
            kept.append(recorded_form(line, TOOL))
        if verdict.kind in ("differs", "resolved", "refused"):
            verdict = next((Verdict("has a reason", why) for pattern, why in reasons.items()
                            if fnmatch.fnmatchcase(name, pattern)), verdict)
        counts[verdict.kind] += 1
        if verdict.kind not in ("agrees", "both refuse"):
            print(f"{name} {verdict.kind}: {verdict.text}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    if kept is not None:
        write("config_forms", kept, SETTINGS["python"], "config_forms", sort_keys=True)
    return 1 if set(counts) - {"agrees", "both refuse", "has a reason"} or not counts else 0


def compare_ids(arguments):
    packages = SETTINGS["python"]
    kept = [] if arguments.write else None
    failed = compare_positions(python_with(packages, ENVIRONMENTS), TOOL, ENVIRONMENTS.parent, kept,
                               arguments.vllm)
    if kept is not None:
        write("rope_index", kept, packages + makers(arguments.vllm), "cases",
              separators=(",", ":"))
    return failed


def survey(model_types, program="survey.py"):
    python = python_with(SETTINGS["python"], ENVIRONMENTS)
    command = [python, "-B", HERE / program, FILE, *model_types]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as process:
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode != 0:
        yield {"config_class": "-", "model_type": "-", "variant": "class", "is_axial": False,
               "error": f"the survey ended with {process.returncode}"}


def with_reason(line):
    verdict = judged(line, TOOL)
    reason = SETTINGS["reasons"].get(line["config_class"])
    if reason is None or (verdict.kind == "agrees" and line["variant"] != "class"):
        return verdict
    if verdict.kind == "agrees":
        return Verdict("differs", f"agrees, although settings.json has a reason: {reason}")
    return Verdict("has a reason", reason)


if __name__ == "__main__":
    sys.exit(main())
