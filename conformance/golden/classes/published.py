#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the tool with a published Transformers on models' config.json files.

    published.py FOLDER... [--tool TOOL]

Reads each *.json in the folders. The text model's rotary class must have the tool's frequencies,
factor and rows. Under a rule that depends on the context, frequencies and factor must agree in the
original context and in twice the trained context. The model's own forward pass on torch's meta
device must rotate the same layers. Prints a line for each config, even if no class can judge it
(refused, or unknown to Transformers). Exits with 1 if a config differs without a reason in
settings.json. Runs itself in settings.json's environment, which it makes once.
"""

import argparse
import collections
import functools
import json
import os
import pathlib
import signal
import subprocess
import sys

from judge import Verdict, ask, judged

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from wheels import python_with  # noqa: E402

ROOT = HERE.parents[2]
OF_CONTEXT = ("dynamic", "longrope")
MOST_SECONDS = 20  # per forward pass; some loop over experts or states in Python


class TooLong(BaseException):
    """The forward pass is too slow. Not an Exception: the survey takes exceptions as answers."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folders", nargs="+", metavar="FOLDER", type=pathlib.Path)
    parser.add_argument("--tool", default=ROOT / "build/release/bin/rotary")
    arguments = parser.parse_args()
    subprocess.run([arguments.tool, "--version"], check=True, capture_output=True)
    settings = json.loads((HERE / "settings.json").read_text(encoding="utf-8"))
    python = python_with(settings["python"], ROOT / "build/golden/environments")
    if pathlib.Path(sys.prefix).resolve() != python.parents[1].resolve():
        os.execv(python, [python, "-B", *sys.argv])
    files = sorted(path for folder in arguments.folders for path in folder.glob("**/*.json"))
    counts = collections.Counter()
    for path in files:
        config = json.loads(path.read_text(encoding="utf-8"))
        verdict = verdict_of(config, arguments.tool)
        if verdict.kind == "differs" and config["model_type"] in settings["reasons_of_files"]:
            verdict = Verdict("has a reason", settings["reasons_of_files"][config["model_type"]])
        counts[verdict.kind] += 1
        print(f"{path}: {verdict.kind}: {verdict.text}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    return 1 if counts["differs"] else 0


def verdict_of(config, tool):
    line = {"config": config, "variant": "class"}
    asked = ask(tool, "inspect", line)
    if asked.returncode != 0:
        return Verdict("refused", asked.stderr.strip().splitlines()[0])
    answer = json.loads(asked.stdout)
    if not answer["rotary"]:
        return Verdict("not rotary", ", ".join({each["encoding"] for each in answer["layers"]}))
    lines, why = lines_of(config, answer["config_part"])
    if not lines:
        return Verdict("not compared", why)
    verdicts = [judged(line | each, tool) for each in lines]
    wrong = [each for each in verdicts if each.kind != "agrees"]
    return (wrong or verdicts)[0]


def lines_of(config, part):
    """Returns the results of the text model's rotary classes, and the reason if there are none."""
    import survey  # needs the environment
    try:
        text = text_config(survey.transformers.CONFIG_MAPPING, config, part)
        if text is None:
            return [], f"{config['model_type']} is unknown to transformers"
        found = [use for use in uses(survey) if use.config is type(text)]
        return [line for use in found for line in lines_in_contexts(survey, use, text)], \
            f"{type(text).__name__} has no rotary class"
    except Exception as error:  # exceptions of other projects' code are answers
        return [], survey.text_of(error)


def text_config(classes, config, part):
    """Returns the text model's config. part: its path in `config`; null: the top."""
    path = part.split(".") if part else []
    is_known = config["model_type"] in classes
    if path and not (is_known and path[0] in classes[config["model_type"]].sub_configs):
        for name in path:  # a model or file form unknown to Transformers
            config = config[name]
    if config.get("model_type") not in classes:
        return None
    whole = classes[config["model_type"]].from_dict(config)
    text = whole.get_text_config(decoder=True)
    is_flat = text is not whole and part is None  # older files have the text's keys at the top
    return type(text).from_dict(config) if is_flat else text


@functools.cache
def uses(survey):
    survey.prepare()
    return list(survey.uses())


def ropes_in_use(survey, use, config, context):
    ropes = survey.ropes_of(use.rotary, config, context)
    if "main" in ropes and "sliding_attention" not in config.layer_types:
        del ropes["main"]  # DeepSeek-V4-Pro has no layers of this type
    return ropes


def lines_in_contexts(survey, use, config):
    line = {"positions": survey.POSITIONS}
    rope = getattr(config, "rope_parameters", None) or {}
    rules = [rope, *(each for each in rope.values() if isinstance(each, dict))]
    if not any(each.get("rope_type") in OF_CONTEXT for each in rules):
        ropes = ropes_in_use(survey, use, config, None)
        forward = within_seconds(lambda: survey.rotating_layers(use, config))
        yield line | {"context": None, "ropes": ropes} | forward
        return
    trained = config.max_position_embeddings
    first = min(each.get("original_max_position_embeddings") or trained for each in rules)
    for context in (first, 2 * trained):
        yield line | {"context": context, "rotating": None, "variant": "in context",
                      "ropes": ropes_in_use(survey, use, config, context)}


def within_seconds(forward_pass):
    def stop(*_):
        raise TooLong
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(MOST_SECONDS)
    try:
        return forward_pass()
    except TooLong:
        return {"rotating": None}
    finally:
        signal.alarm(0)


if __name__ == "__main__":
    sys.exit(main())
