# SPDX-License-Identifier: Apache-2.0
"""Selects the part of the survey that tests keep."""

import json
import pathlib

from judge import ask

ROOT = pathlib.Path(__file__).resolve().parents[3]


def recorded(line, tool):
    """Returns a class with some frequencies, the config keys that the tool reads, and the rotating
    layers (null if the model did not run)."""
    return {"class": line["config_class"], "config": read_part(line, tool),
            "ropes": {label: sample(rope) for label, rope in line["ropes"].items()},
            "rotating": sorted(index for index, _ in line["rotating"] or ()
                               if index is not None and index >= 0) or None}


def sample(rope):
    """The first two, the last two and the quartiles of the frequencies in falling order."""
    frequencies = sorted(map(abs, rope["inv_freq"]), reverse=True)
    last = len(frequencies) - 1
    places = sorted({0, 1, last // 4, last // 2, 3 * last // 4, last - 1, last})
    return {"pairs": len(frequencies), "factor": rope["factor"],
            "inv_freq": {place: frequencies[place] for place in places}}


def recorded_form(line, tool):
    """A config with its rope keys, and the class's result (null if it refuses)."""
    ropes = line.get("ropes")
    return {"form": line["variant"], "config": read_part(line, tool), "context": line["context"],
            "ropes": ropes and {label: sample(rope) for label, rope in ropes.items()}}


def read_part(line, tool):
    """Returns the config's keys that change the tool's answer, and the form's own keys."""
    config = dict(line["config"])
    whole = answer(config, line, tool)
    for key in list(config):
        if key == "model_type" or key in line.get("form_keys", ()):
            continue
        without = {name: value for name, value in config.items() if name != key}
        if answer(without, line, tool) == whole:
            config = without
    return config


def answer(config, line, tool):
    asked = ask(tool, "inspect", line | {"config": config})
    if asked.returncode != 0:
        return asked.stderr.splitlines()[0]
    said = json.loads(asked.stdout)
    for part in (said, *said["rotary"]):
        part.pop("sources", None)
    return said


def write(name, kept, packages, key, **style):
    """style: json.dumps's options for each kept line."""
    rows = ",\n".join(json.dumps(each, **style) for each in kept)
    (ROOT / f"tests/golden/{name}.json").write_text(
        f'{{"produced_by": {json.dumps(packages)}, "{key}": [\n{rows}\n]}}\n', encoding="utf-8")
