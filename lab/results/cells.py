# SPDX-License-Identifier: Apache-2.0
"""Reads experiments and the finished cells of a preset."""

import dataclasses
import json
import pathlib
import re

USAGE, MALFORMED, IO = 2, 3, 4  # exit codes
LOG = ("step", "tokens", "training", "validation", "learning_rate", "wall_s", "cpu_s",
       "tokens_per_s")


class Failure(Exception):
    """The message names the requirement and the value. code: the process's exit code."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


@dataclasses.dataclass
class Cell:
    seed: int
    done: dict
    curve: dict  # columns of log.csv by name
    config: dict
    folder: pathlib.Path

    @property
    def metrics(self):
        return self.done["metrics"]


@dataclasses.dataclass
class Arm:
    name: str
    family: str  # shared by arms that differ only in learning rate; "": none
    seeds: list
    cells: list

    def is_called(self, name):
        return name in (self.name, self.family or self.name)


def read_json(path):
    try:
        value = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise Failure(MALFORMED, f"{path} must be JSON: {error}") from error
    if not isinstance(value, dict):
        raise Failure(MALFORMED, f"{path} must be an object, got {json.dumps(value)[:40]}")
    return value


def arms_of(preset):
    """A preset's arms without cells, one per encoding and learning rate."""
    arms = []
    for entry in preset["encodings"]:
        entry = {"like": entry} if isinstance(entry, str) else entry
        name = entry.get("name", entry["like"])
        seeds = entry.get("seeds", preset["seeds"])
        rates = preset.get("learning_rates")
        if rates is None:
            arms.append(Arm(name, "", seeds, []))
        for rate in rates or ():
            arms.append(Arm(f"{name}-lr-{str(float(rate)).removesuffix('.0')}", name, seeds, []))
    return arms


def load_experiments(asked):
    """The experiments given by name or path; by default all in the folder that have the preset."""
    paths = [each if each.endswith(".json") or "/" in each
             else str(pathlib.Path(asked.experiments, f"{each}.json")) for each in asked.names]
    all_paths = sorted(map(str, pathlib.Path(asked.experiments).glob("*.json")))
    experiments = []
    for path in paths or all_paths:
        experiment = read_json(path)
        try:
            presets = experiment["presets"]
            if not re.fullmatch(r"[a-z0-9_-][a-z0-9_.-]*", experiment["name"]):
                raise Failure(MALFORMED, f"{path}: name must be lower-case letters, digits, '-', "
                              f"'_' and '.', not first, got '{experiment['name']}'")
            if paths and asked.preset not in presets:
                raise Failure(USAGE, f"--preset of {experiment['name']} must be one of "
                              f"{', '.join(sorted(presets))}, got '{asked.preset}'")
            if asked.preset in presets:
                experiment["arms"] = arms_of(presets[asked.preset])
                experiment["source"] = path
                experiments.append(experiment)
        except (KeyError, TypeError) as error:
            raise Failure(MALFORMED, f"{path} must be an experiment: {error}") from error
    if not experiments:
        raise Failure(USAGE, f"--preset must be one that an experiment of {asked.experiments} "
                      f"has, got '{asked.preset}'")
    for name in asked.only:
        if not any(arm.is_called(name) for one in experiments for arm in one["arms"]):
            raise Failure(USAGE,
                          f"--only must name encodings of the preset, got '{name}'")
    return experiments


def read_curve(path):
    columns = {name: [] for name in LOG}
    lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
    for number, line in enumerate(lines[1:], 2):
        try:
            values = [float(text) for text in line.split(",")]
        except ValueError:
            values = []
        if len(values) != len(LOG):
            raise Failure(MALFORMED,
                          f"{path}: line {number} must be {len(LOG)} numbers with commas between")
        for name, value in zip(LOG, values):
            columns[name].append(int(value) if name in ("step", "tokens") else value)
    return columns


def read_cell(folder, seed):
    done = read_json(folder / "done.json")
    try:
        for key in ("steps", "parameters", "validation_loss", "wall_s", "cpu_s", "lengths"):
            done[key]  # pylint: disable=pointless-statement
        # Overflowed numbers, such as perplexities, are null.
        done["metrics"] = {name: value for name, value in sorted(done["metrics"].items())
                           if value is not None}
    except (KeyError, AttributeError) as error:
        raise Failure(MALFORMED, f"{folder}/done.json must have the key {error}") from error
    return Cell(seed, done, read_curve(folder / "log.csv"), read_json(folder / "config.json"),
                folder)


def read_arms(experiment, asked):
    """The arms asked for, with their finished cells by seed."""
    root = pathlib.Path(asked.runs, f"{experiment['name']}-{asked.preset}")
    for arm in experiment["arms"]:
        if asked.only and not any(map(arm.is_called, asked.only)):
            continue
        for folder in (root / arm.name).glob("seed-*"):
            seed = folder.name.removeprefix("seed-")
            wanted = seed.isdecimal() and (not asked.seeds or int(seed) in asked.seeds)
            if wanted and (folder / "done.json").exists():
                arm.cells.append(read_cell(folder, int(seed)))
        arm.cells.sort(key=lambda cell: cell.seed)
        yield arm
