# SPDX-License-Identifier: Apache-2.0
"""Cells: each way of writing rope keys in a config, with each scaling rule."""

import dataclasses

THETA = 50000.0  # no class's default
TRAINED = {"max_position_embeddings": 2048}
ORIGINAL = {"original_max_position_embeddings": 512}

# WITH_SECTIONS: families whose rope dictionary must give the pairs of each axis.
SECTIONS = {"mrope_section": [8, 12, 12]}
WITH_SECTIONS = ("qwen2_vl_text", "qwen2_5_vl_text", "qwen2_5_omni_text", "qwen2_5_omni_talker",
                 "qwen3_vl_text", "qwen3_vl_moe_text", "qwen3_omni_moe_text", "paddleocr_vl_text",
                 "qwen3_omni_moe_talker_text", "cosmos3_edge_text", "glm4v_text", "glm4v_moe_text")
# Keys in a family's dictionary under every rule.
IN_DICTIONARY = {family: {"llama_4_scaling_beta": 0.1, **ORIGINAL}
                 for family in ("ministral3", "mistral3", "mistral4")} | {
                     "hunyuan": {"alpha": 1000.0}} | dict.fromkeys(WITH_SECTIONS, SECTIONS)
# The original context times the factor is not the trained length, to detect engines that compute
# one from the other.
YARN = {"factor": 8.0} | ORIGINAL
CALLS = {"dynamic": [23, 149, 101, 23], "longrope": [23, 149]}  # tokens of consecutive calls


@dataclasses.dataclass(frozen=True)
class Model:
    """keys: the family's smallest config.json without rope; labels: layer types with nested rope
    parameters; pairs: how many rotate."""

    family: str
    keys: dict
    labels: tuple = ()
    pairs: int = 32
    path: str = ""  # of the language model's keys

    def with_rope(self, rope):
        return self.keys | ({self.path: self.keys[self.path] | rope} if self.path else rope)


def rules_of(pairs):
    """rule -> its dictionaries, and keys beside each. A cell agrees if every dictionary does."""
    lists = {"short_factor": [1 + 0.01 * i for i in range(pairs)],
             "long_factor": [3 + 0.03 * i for i in range(pairs)]}
    long = lists | {"factor": 8.0, "original_max_position_embeddings": 64}
    return {
        "default": ([{}], TRAINED),
        "linear": ([{"factor": 4.0}], TRAINED),
        "dynamic": ([{"factor": 2.0}], {"max_position_embeddings": 64}),
        "yarn": ([YARN, YARN | {"attention_factor": 0.9, "beta_fast": 16.0, "beta_slow": 2.0},
                  YARN | {"mscale": 1.0, "mscale_all_dim": 0.5}, YARN | {"truncate": False}],
                 TRAINED),
        "llama3": ([{"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0} | ORIGINAL],
                   TRAINED),
        "longrope": ([long, long | {"factor": 16.0, "attention_factor": 1.1}],
                     {"max_position_embeddings": 128}),
    }


def first_case(model):
    """Shows whether the model runs and how many pairs rotate."""
    return case(model, "plain:default", "", {"rope_theta": THETA} | TRAINED)


def case(model, cell, tried, rope):
    rule = cell.partition(":")[2]
    return {"family": model.family, "cell": cell, "tried": tried,
            "config": model.with_rope(rope), "calls": CALLS.get(rule, [7])}


def cases(model):
    """All cases after first_case()."""
    theta = {"rope_theta": THETA} | TRAINED
    yield case(model, "no_base", "", TRAINED)
    yield case(model, "plain:default", "rope_scaling null", theta | {"rope_scaling": None})
    yield case(model, "own_head_dim", "", theta | {"head_dim": 48})
    more = IN_DICTIONARY.get(model.family, {})
    for rule, (dictionaries, beside) in rules_of(model.pairs).items():
        for keys in dictionaries:
            tried = ", ".join(key for key in keys if key not in dictionaries[0])
            for cell, rope in forms_of(rule, more | keys, model.labels):
                yield case(model, f"{cell}:{rule}", tried, beside | rope)
    lists, beside = rules_of(model.pairs)["longrope"]
    within = {"type": "longrope"} | {key: lists[0][key] for key in ("short_factor", "long_factor")}
    yield case(model, "scaling_type:longrope", "lists alone", theta | beside | {
        "original_max_position_embeddings": 64, "rope_scaling": within})
    if model.family in WITH_SECTIONS:
        yield case(model, "scaling_type:other", "",
                   theta | {"rope_scaling": {"type": "mrope"} | SECTIONS})
    yield from variants(model, more)


def forms_of(rule, keys, labels):
    """Yields (form, rope keys) for each form in which configs state a rule and its keys."""
    body, theta = {"rope_type": rule} | keys, {"rope_theta": THETA}
    yield "scaling_type", theta | {"rope_scaling": {"type": rule} | keys}
    yield "scaling_rope_type", theta | {"rope_scaling": body}
    yield "parameters_flat", {"rope_parameters": body | theta}
    yield "both", theta | {"rope_scaling": body, "rope_parameters": body | {"rope_theta": 20000.0}}
    if labels:
        yield "parameters_nested", {"rope_parameters": {
            label: body | {"rope_theta": THETA / (i + 1)} for i, label in enumerate(labels)}}


def variants(model, more):
    """Yields cases with keys in two places, for each form of the dictionary. judge.py counts
    only the forms that an engine reads."""
    half, theta = {"partial_rotary_factor": 0.5}, {"rope_theta": THETA} | TRAINED
    for rule in ("default", "linear"):
        keys = more | ({"rope_type": rule} | rules_of(1)[rule][0][0])
        inner = keys | {"rope_theta": THETA}
        scaled = {} if rule == "default" else {"rope_scaling": keys}
        two = keys | {"rope_theta": 20000.0}
        for variant, form, rope in (
                ("partial_outer", "scaling_rope_type", theta | half | scaled),
                ("partial_outer", "parameters_flat", TRAINED | half | {"rope_parameters": inner}),
                ("partial_inner", "scaling_rope_type", theta | {"rope_scaling": keys | half}),
                ("partial_inner", "parameters_flat", TRAINED | {"rope_parameters": inner | half}),
                ("two_thetas", "scaling_rope_type", theta | {"rope_scaling": two}),
                ("two_thetas", "parameters_flat", theta | {"rope_parameters": two})):
            yield case(model, variant, f"{rule} of {form}", rope) | {"form": form}
