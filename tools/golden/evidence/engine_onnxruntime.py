# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime: the classes of onnxruntime-genai's model builder are made, and their caches."""

import pathlib
import sys

from architectures import architecture_among, of_transformers
from families import known_families
from readings import ROOT, Kept, Tool
from rows import Evidence
from verdicts import judge_family

sys.path.insert(0, str(ROOT / "tools/golden/classes"))

from scratch import python_with  # noqa: E402

PACKAGES = ["torch==2.15.0", "transformers==5.23.0", "numpy==2.4.6", "onnx_ir", "onnxruntime"]
SURVEY = pathlib.Path(__file__).with_name("onnxruntime_survey.py")


def answered(survey, name, asked):
    """A model of the builder has one cache, for each of its layers, in every context."""
    answer = survey.ask({"config": asked.config | {"architectures": [name]}})
    return answer if "error" in answer else {"rope": answer["rope"]}


def evidence(names, source):
    python = python_with(PACKAGES, ROOT / "build/golden/environments")
    found = Evidence("onnxruntime", "0.18",
                     "the builder of onnxruntime-genai 0.18.0 and " + ", ".join(PACKAGES))
    tool = Tool()
    survey = Kept([python, "-B", SURVEY, source / "onnxruntime_genai/models"],
                  "onnxruntime-genai-0.18.0")
    registered = survey.ask({"names": True})["names"]
    for family in names or known_families():
        name = architecture_among(family, registered)
        if name is None:
            found.add_absent(family)
            continue
        judge_family(found, family, tool,
                     lambda asked, name=name: answered(survey, name, asked))
        if family not in of_transformers():  # its class, which is not here, may read more
            found.kinds[family].pop("fails", None)
        print(family, {kind: len(cells) for kind, cells in found.kinds[family].items()},
              flush=True)
    return found
