# SPDX-License-Identifier: Apache-2.0
"""The families that the library knows, and their names in "architectures"."""

import ast
import functools
import json
import pathlib
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "conformance/golden"))
BUILD = ROOT / "build/golden"
READINGS = ROOT / "build/release/bin/rotary_readings"

from wheels import pins, wheel_of  # noqa: E402

MAPPINGS = ("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
            "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
            "MODEL_FOR_MASKED_LM_MAPPING_NAMES", "MODEL_MAPPING_NAMES")
ENDINGS = ("forcausallm", "lmheadmodel", "model", "forconditionalgeneration")
# Classes that config.json files of models outside Transformers name; models/ has more.
PUBLISHED = {"RefinedWeb": ["RWForCausalLM"], "RefinedWebModel": ["RWForCausalLM"],
             "Yi": ["YiForCausalLM"], "aquila": ["AquilaForCausalLM", "AquilaModel"],
             "baichuan": ["BaichuanForCausalLM", "BaiChuanForCausalLM"],
             "ernie4_5_moe_vl": ["Ernie4_5_VLMoeForConditionalGeneration"],
             "internvl_chat": ["InternVLChatModel"], "llava_mistral": ["LlavaMistralForCausalLM"],
             "llava_qwen": ["LlavaQwenForCausalLM"], "minicpmo": ["MiniCPMO"],
             "minicpmv": ["MiniCPMV"], "minimax_text_01": ["MiniMaxText01ForCausalLM"],
             "nemotron-nas": ["DeciLMForCausalLM"], "neobert": ["NeoBERT", "NeoBERTLMHead"],
             "stablelm_epoch": ["StableLMEpochForCausalLM"]}


@functools.cache
def families():
    """Returns [[model_type, encoding, Transformers folder, inner language model]]."""
    found = json.loads(subprocess.check_output([READINGS], input=b'{"families": 1}'))
    return [[*names, source.replace("-", "_"), within] for *names, source, within in found]


@functools.cache
def language_models():
    return {family: within for family, _, _, within in families() if within}


@functools.cache
def architectures():
    """Transformers' {model_type: [class]}."""
    wheel = zipfile.ZipFile(wheel_of(pins()["default"], BUILD / "wheels"))
    text = wheel.read("transformers/models/auto/modeling_auto.py").decode()
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in MAPPINGS:
            rows = [row for row in node.value.args[0].elts if not isinstance(row, ast.Starred)]
            for model_type, names in map(ast.literal_eval, rows):
                names = [names] if isinstance(names, str) else names
                found.setdefault(model_type, []).extend(names)
    return found


@functools.cache
def published():
    """Published config.json files' {model_type: [class]}."""
    found = dict(PUBLISHED)
    for path in sorted((ROOT / "models").glob("*.json")):
        card = json.loads(path.read_text(encoding="utf-8"))
        if "model_type" in card:
            found[card["model_type"]] = found.get(card["model_type"], []) + card.get(
                "architectures", [])
    return found


def architecture_among(family, names):
    """Returns the engine's name for the family's architecture, or None. Families outside
    Transformers are also found by their names."""
    for name in architectures().get(family, []) + published().get(family, []):
        if name in names:
            return name
    plain = family.replace("_", "").replace("-", "").lower()
    alike = {name.lower(): name for name in names}
    return next((alike[plain + end] for end in ENDINGS if plain + end in alike), None)
