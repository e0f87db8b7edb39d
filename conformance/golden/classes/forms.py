# SPDX-License-Identifier: Apache-2.0
"""Runs the configuration and rotary classes of a Transformers release on one config per model type,
with rope keys written in every form; prints a JSON line for each.

    forms.py SETTINGS.json [MODEL_TYPE]...

Runs in classes.py's environment. The config is the class's default without rope keys. A line has
the config with one form's keys, and the class's frequencies and factors, or its exception.
"""

import copy
import json
import multiprocessing
import pathlib
import sys

import survey
from transformers import CONFIG_MAPPING

OUTER, INNER = 70000.0, 30000.0  # bases that are no class's default
OUTER_PART, INNER_PART = 0.25, 0.5
WORKERS = 2
ROPE_KEYS = ("rope_parameters", "rope_scaling", "rope_theta", "partial_rotary_factor",
             "compress_rope_theta", "default_theta", "layer_rope_theta")
IN_CONTEXT = ("dynamic", "longrope")
USES, COMPLETE = [], {}  # the workers inherit them, so that imports happen once


def main():
    survey.prepare()
    COMPLETE.update(json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))["complete"])
    USES.extend(use for use in survey.uses()
                if use.config.model_type in (sys.argv[2:] or known(use)))
    with multiprocessing.get_context("fork").Pool(WORKERS) as pool:
        for texts in pool.imap(examine, range(len(USES))):
            print("\n".join(texts), flush=True)


def examine(number):
    use = USES[number]
    line = {"model_type": use.config.model_type, "variant": "class"}
    try:
        found = [*lines(use, COMPLETE.get(use.config.__name__, {}))]
    except Exception as error:
        found = [line | {"error": survey.text_of(error)}]
    return [json.dumps(each) for each in found]


def known(use):
    """Returns [model_type], or [] if the class reads no rules."""
    reads_rules = not hasattr(use.rotary, "compute_axial_rope_parameters") and (
        use.rotary.__name__ not in survey.WITHOUT_RULES)
    return [use.config.model_type] if reads_rules else []


def lines(use, complete):
    default = use.config(**complete)
    whole = default.to_dict()
    config = {key: value for key, value in whole.items()
              if key not in ROPE_KEYS}
    size = whole.get("head_dim") or default.hidden_size // default.num_attention_heads
    if whole.get("head_dim", size) is None:
        config["head_dim"] = size  # functions of scaled rules fail on null
    positions = "max_position_embeddings"
    config[use.config.attribute_map.get(positions, positions)] = survey.TRAINED
    extra = {key: value for key, value in (complete.get("rope_parameters") or {}).items()
             if key == "mrope_section"}
    types = getattr(default, "layer_types", None) or ["full_attention"]
    labels = getattr(default, "_rope_type_labels", None) or sorted(set(types))
    for rule in ("default", *survey.RULES):
        for form, keys in forms(rule, size, extra, labels):
            yield made(use, form, rule, config | keys)


def made(use, form, rule, config):
    line = {"config_class": use.config.__name__, "model_type": use.config.model_type,
            "variant": f"{form}:{rule}", "config": config, "rotating": None,
            "form_keys": [key for key in config if key in ROPE_KEYS],
            "context": 2 * survey.TRAINED if rule in IN_CONTEXT else None}
    try:
        read = CONFIG_MAPPING[use.config.model_type].from_dict(copy.deepcopy(config))
        line["ropes"] = survey.ropes_of(use.rotary, read, line["context"], positions=None)
    except Exception as error:
        line["refusal"] = survey.text_of(error)
    return line


def parameters(rule, size, extra, **others):
    found = copy.deepcopy(survey.RULES.get(rule, {}) | extra) | others
    return found | survey.lists(size // 2) if rule == "longrope" else found


def forms(rule, size, extra, labels):
    """Yields (form, rope keys). Forms that move a value to another key exist for "default" and
    "yarn"; forms without a rule for "default"."""
    def of(**others):
        return {"rope_type": rule} | parameters(rule, size, extra, **others)

    old = {"type": rule} | parameters(rule, size, extra)
    outer, part = {"rope_theta": OUTER}, {"partial_rotary_factor": OUTER_PART}
    yield "scaling_type", outer | {"rope_scaling": old}
    yield "scaling_rope_type", outer | {"rope_scaling": of()}
    yield "parameters_flat", {"rope_parameters": of(rope_theta=INNER)}
    if rule not in ("default", "yarn"):
        return
    yield "both", outer | {
        "rope_scaling": of(),
        "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": INNER} | extra}
    yield "parameters_nested", {"rope_parameters": {
        label: of(rope_theta=INNER + i) for i, label in enumerate(labels)}}
    yield "scaling_two_thetas", outer | {"rope_scaling": of(rope_theta=INNER)}
    yield "parameters_type", {"rope_parameters": old | {"rope_theta": INNER}}
    yield "parameters_without_theta", {"rope_parameters": of()}
    yield "two_thetas", outer | {"rope_parameters": of(rope_theta=INNER)}
    yield "partial_inner", {
        "rope_parameters": of(rope_theta=INNER, partial_rotary_factor=INNER_PART)}
    yield "partial_outer", part | {"rope_parameters": of(rope_theta=INNER)}
    yield "partial_both", part | {
        "rope_parameters": of(rope_theta=INNER, partial_rotary_factor=INNER_PART)}
    if rule == "yarn":
        return
    yield "plain", {}
    yield "plain_theta", outer
    yield "plain_partial", outer | part
    for key in ("rope_scaling", "rope_parameters"):
        yield f"{key}_empty", {key: {}}
        yield f"{key}_null", {key: None}


if __name__ == "__main__":
    main()
