# SPDX-License-Identifier: Apache-2.0
"""vLLM: its models' own __init__ says what they want of get_rope, and its table code is run."""

import pathlib
import sys

from architectures import architecture_among, of_transformers
from families import known_families
from readings import ROOT, Kept, Tool
from rows import Evidence
from verdicts import judge_family

sys.path.insert(0, str(ROOT / "tools/golden/classes"))

from scratch import python_with  # noqa: E402

PACKAGES = ["torch==2.15.0", "transformers==5.23.0", "numpy==2.4.6", "pillow==12.1.0",
            "torchvision"]
SURVEY = pathlib.Path(__file__).with_name("vllm_survey.py")
# All layers make a rope; those without a window, here every fourth, do not use it: read in forward
# of commandr.py, cohere2_moe.py, exaone4.py and exaone_moe.py.
BY_WINDOW = ("cohere2", "cohere2_moe", "exaone4", "exaone4_5", "exaone_moe")


def answered(survey, name, asked):
    answer = survey.ask({"config": asked.config | {"architectures": [name]},
                         "contexts": asked.contexts})
    if asked.family not in BY_WINDOW or "error" in answer:
        return answer
    return {"calls": [[each if index % 4 != 3 else None for index, each in enumerate(layers)]
                      for layers in answer["calls"]]}


def evidence(names, source):
    python = python_with(PACKAGES, ROOT / "build/golden/environments")
    found = Evidence("vllm", "0.33", "the wheel of vLLM 0.33.0 and " + ", ".join(PACKAGES))
    tool, survey = Tool(), Kept([python, "-B", SURVEY, source], "vllm-0.33.0")
    registered = survey.ask({"names": True})["names"]
    for family in names or known_families():
        name = architecture_among(family, registered)
        if name is None:
            if family not in of_transformers():  # others may run as Transformers' own class
                found.add_absent(family)
            continue
        judge_family(found, family, tool,
                     lambda asked, name=name: answered(survey, name, asked))
        if family not in of_transformers():  # its class, which is not here, may read more
            found.kinds[family].pop("fails", None)
        print(family, {kind: len(cells) for kind, cells in found.kinds[family].items()},
              flush=True)
    return found
