# SPDX-License-Identifier: Apache-2.0
"""mlx-lm: its models are made and run, each with a spy in place of mlx.fast.rope."""

import pathlib
import sys

from families import known_families
from readings import ROOT, Kept, Tool
from rows import Evidence
from sizes import OWN
from verdicts import judge_family

sys.path.insert(0, str(ROOT / "tools/golden/classes"))

from scratch import python_with  # noqa: E402

PACKAGES = ["mlx-lm==0.32.2", "mlx[cpu]==0.32.4", "numpy==2.4.6"]
SURVEY = pathlib.Path(__file__).with_name("mlx_survey.py")


def evidence(names):
    python = python_with(PACKAGES, ROOT / "build/golden/environments")
    found = Evidence("mlx", "0.32", ", ".join(PACKAGES))
    tool, survey = Tool(), Kept([python, "-B", SURVEY], "mlx-lm-0.32.2")
    for family in names or sorted(set(known_families()) | set(OWN)):
        if not survey.ask({"has": family})["has"]:
            found.add_absent(family)
            continue
        judge_family(found, family, tool,
                     lambda asked: survey.ask({"config": asked.config, "contexts": asked.contexts}))
        print(family, {kind: len(cells) for kind, cells in found.kinds[family].items()},
              flush=True)
    return found
