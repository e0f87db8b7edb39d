# SPDX-License-Identifier: Apache-2.0
"""The names that "architectures" of a config.json has for a model_type."""

import ast
import functools
import sys
import zipfile

from readings import ROOT

sys.path.insert(0, str(ROOT / "tools/golden"))

from wheels import pins, wheel_of  # noqa: E402

MAPPINGS = ("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
            "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
            "MODEL_FOR_MASKED_LM_MAPPING_NAMES", "MODEL_MAPPING_NAMES")
ENDINGS = ("forcausallm", "lmheadmodel", "model", "forconditionalgeneration")


@functools.cache
def of_transformers():
    """{model_type: [class]}."""
    wheel = wheel_of(pins()["default"], ROOT / "build/golden/wheels")
    text = zipfile.ZipFile(wheel).read("transformers/models/auto/modeling_auto.py").decode()
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in MAPPINGS:
            rows = [row for row in node.value.args[0].elts if not isinstance(row, ast.Starred)]
            for model_type, names in map(ast.literal_eval, rows):
                names = [names] if isinstance(names, str) else names
                found.setdefault(model_type, []).extend(names)
    return found


def architecture_among(family, names):
    """The name of the family's architecture that an engine has; None: it has none. Families whose
    code is not in Transformers are known by their names."""
    for name in of_transformers().get(family, []):
        if name in names:
            return name
    plain = family.replace("_", "").replace("-", "").lower()
    alike = {name.lower(): name for name in names}
    return next((alike[plain + end] for end in ENDINGS if plain + end in alike), None)
