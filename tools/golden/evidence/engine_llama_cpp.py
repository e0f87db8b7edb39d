# SPDX-License-Identifier: Apache-2.0
"""llama.cpp: its converter is run, and the tool reads the file as its loader does, whose rows
(src/model/gguf) were read."""

import base64
import pathlib
import sys
import tempfile

from architectures import architecture_among
from families import known_families
from readings import ROOT, Kept, Tool
from rows import Evidence
from verdicts import judge_family

sys.path.insert(0, str(ROOT / "tools/golden/classes"))

from scratch import python_with  # noqa: E402

PACKAGES = ["torch==2.15.0", "transformers==5.23.0", "numpy==2.4.6", "sentencepiece==0.2.1"]
SURVEY = pathlib.Path(__file__).with_name("llama_cpp_survey.py")
SOURCE = "conversion/*.py was run, src/llama-model.cpp and src/models read"


def layers_of(tool, path, context):
    """What the tool reads of the file, for each layer; as an engine's answer."""
    answer = tool.ask({"gguf": str(path), "context": context})
    if "error" in answer:
        return answer
    model = answer["model"]
    pairing = model["gguf"]["checkpoint_pairing"]
    ropes = [{"inv_freq": each["inv_freq"], "factor": each["attention_factor"],
              "pairing": (pairing or each["pairing"]).removesuffix("_to_half")}
             for each in model["rotary"]]
    return {"layers": [ropes[layer["rotary"]] if layer["encoding"] == "rotary" else None
                       for layer in model["layers"]]}


def converted(survey, tool, name, path, asked):
    config = asked.config | {"architectures": [name]}
    answer = survey.ask({"config": config})
    if "error" in answer:
        return answer
    path.write_bytes(base64.b64decode(answer["gguf"]))
    found = [layers_of(tool, path, each) for each in asked.contexts]
    wrong = next((each for each in found if "error" in each), None)
    return wrong or {"calls": [each["layers"] for each in found]}


def evidence(names, source):
    python = python_with(PACKAGES, ROOT / "build/golden/environments")
    found = Evidence("llama.cpp", "", "the converter of llama.cpp in llama_cpp_python 0.3.36",
                     agreed="read")
    tool, survey = Tool(), Kept([python, "-B", SURVEY, source], "llama_cpp_python-0.3.36")
    registered = survey.ask({"names": True})["names"]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.gguf"
        for family in names or known_families():
            name = architecture_among(family, registered)
            if name is None:
                found.add_absent(family)
                continue
            found.sources[family] = SOURCE
            judge_family(found, family, tool,
                         lambda asked, name=name: converted(survey, tool, name, path, asked))
            print(family, {kind: len(cells) for kind, cells in found.kinds[family].items()},
                  flush=True)
    return found
