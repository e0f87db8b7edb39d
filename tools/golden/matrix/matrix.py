#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs releases of transformers beside the library, and writes their rows of evidence.txt.

    matrix.py READINGS [--families A,B] [RELEASE]...

READINGS is the program of evidence/readings.cpp. Every release of releases.json's "lines" runs
every family (observe.py), in one environment, with the packages that the release wants; what it
said is kept in build/golden/matrix, and a family that is there is not run again.
"""

import argparse
import email
import json
import os
import pathlib
import re
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "classes")]

from evidence_rows import write_rows  # noqa: E402
from scratch import python_with  # noqa: E402
from verdicts import rows_of, verdicts  # noqa: E402
from wheels import pins, wheel_of  # noqa: E402

BUILD = ROOT / "build/golden"
KEPT = BUILD / "matrix"
# Positions of these have two axes: tools/golden/classes compares them.
OF_IMAGES = re.compile("vision|vit|pixtral|_dit|Transformer|_video|siglip|clip")
BESIDE = ("tokenizers", "huggingface-hub", "safetensors")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("readings", type=pathlib.Path)
    parser.add_argument("releases", nargs="*", metavar="RELEASE")
    parser.add_argument("--families", type=lambda text: text.split(","))
    arguments = parser.parse_args()
    families = json.loads(subprocess.check_output([arguments.readings], input=b'{"families": 1}'))
    releases = arguments.releases or pins()["lines"]
    found = {}
    for release in releases:
        wanted = arguments.families or [family for family, encoding, _ in families
                                        if encoding == "rotary" and not OF_IMAGES.search(family)]
        lines = lines_of(release, wanted)
        found[release] = known_ones(release, families,
                                    verdicts(release, lines, arguments.readings))
    made = rows_of(found)
    write_rows("transformers", made["rows"], made["differs"])
    return 0


def known_ones(release, families, judged):
    """What is judged, and families of whose folder the release has none. A family whose code is not
    of Transformers, and one that an older release has by another name, is neither."""
    folders, newest = folders_of(release), folders_of(pins()["lines"][-1])
    own = {family: source for family, encoding, source in families
           if source in newest and encoding != "around another"}
    absent = {"absent": True, "why": "", "cells": {}}
    gone = {family: absent for family, source in own.items() if source not in folders}
    return {family: each for family, each in judged.items()
            if family in own and not each["absent"]} | gone


def folders_of(release):
    with zipfile.ZipFile(wheel_of(release, BUILD / "wheels")) as wheel:
        return {name.split("/")[2] for name in wheel.namelist()
                if name.startswith("transformers/models/")}


def lines_of(release, families):
    """What observe.py said of these families; those that are not there yet are run."""
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"{release}.jsonl"
    while missing := sorted(set(families) - begun(path)):
        observe(release, missing, path)
    return [line for line in read(path) if line["family"] in families]


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def begun(path):
    """A family that ended the process is not tried again."""
    return {line["family"] for line in read(path)}


def observe(release, families, path):
    python = python_with(pins()["environment"], BUILD / "environments")
    place = package_of(release)
    print(f"transformers {release}: {len(families)} families", file=sys.stderr)
    environment = os.environ | {"PYTHONPATH": str(place), "HF_HUB_OFFLINE": "1",
                                "PYTHONWARNINGS": "ignore",
                                "PYTHONPYCACHEPREFIX": str(BUILD / "pycache"),
                                "USE_TF": "0", "USE_FLAX": "0"}
    with path.open("a") as out, path.with_suffix(".log").open("a") as log:
        subprocess.run([python, HERE / "observe.py", *families], stdout=out, stderr=log,
                       env=environment, check=False)


def package_of(release):
    """The folder of the release and of what it wants beside torch."""
    place = BUILD / "releases" / release
    if (place / "installed").exists():
        return place
    wheel = wheel_of(release, BUILD / "wheels")
    install(place, wheel)
    metadata = place / f"transformers-{release}.dist-info/METADATA"
    wanted = [requirement.split(";")[0].replace(" ", "")
              for requirement in email.message_from_string(metadata.read_text())
              .get_all("Requires-Dist") if "extra" not in requirement]
    install(place, *(each for each in wanted if re.match("|".join(BESIDE), each)))
    (place / "installed").touch()
    return place


def install(place, *packages):
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile",
                    "--no-cache-dir", "--upgrade", "--target", place, *packages], check=True)


if __name__ == "__main__":
    sys.exit(main())
