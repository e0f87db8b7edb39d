# SPDX-License-Identifier: Apache-2.0
"""The ways in which a config may write its rope keys, times the rules, as configs: cells."""

import dataclasses

from families import language_models
from sizes import IN_DICTIONARY, OWN, SIZES, TRAINED

THETA = 50000.0  # no class's default
ORIGINAL = 1024
SHORT, LONG = 16, 2 * TRAINED

# The key that holds the dictionary, and the name of its type.
FORMS = {"scaling_type": ("rope_scaling", "type"),
         "scaling_rope_type": ("rope_scaling", "rope_type"),
         "parameters_flat": ("rope_parameters", "rope_type"),
         "parameters_nested": ("rope_parameters", "rope_type"),
         "both": ("rope_scaling", "rope_type")}

BOTH_KEYS = ("scaling_rope_type", "parameters_flat")  # of forms: one for each key

# A cell agrees if each of its dictionaries does. original_max_position_embeddings over factor is
# not the trained length, so that an engine that computes one of them is seen.
YARN = {"factor": 8.0, "original_max_position_embeddings": ORIGINAL}
RULES = {
    "default": [{}],
    "linear": [{"factor": 4.0}],
    "dynamic": [{"factor": 2.0}],
    "yarn": [YARN, YARN | {"attention_factor": 0.9, "beta_fast": 16.0, "beta_slow": 2.0},
             YARN | {"mscale": 1.0, "mscale_all_dim": 0.5}, YARN | {"truncate": False}],
    "llama3": [{"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                "original_max_position_embeddings": ORIGINAL}],
    "longrope": [{"original_max_position_embeddings": ORIGINAL},
                 {"original_max_position_embeddings": ORIGINAL, "factor": 16.0,
                  "attention_factor": 1.1}],
}
OF_CONTEXT = ("dynamic", "longrope")
VARIANTS = ("partial_inner", "partial_outer", "two_thetas")


@dataclasses.dataclass(frozen=True)
class Asked:
    """One config of a cell."""

    family: str
    cell: str
    config: dict
    contexts: tuple


def small_model(family, rope):
    """The keys of rope are among those of the language model."""
    config = {"model_type": family} | SIZES | OWN.get(family, {})
    within = language_models().get(family)
    if "text_config" not in config and within is None:
        return config | rope
    text = config.get("text_config", {"model_type": within} | OWN.get(within, {}))
    return config | {"text_config": SIZES | text | rope}


def dictionary(family, rule, values, pairs):
    values = IN_DICTIONARY.get(family, {}) | values
    if rule != "longrope":
        return values
    return values | {"short_factor": [1.0 + i / 64 for i in range(pairs)],
                     "long_factor": [4.0 + i / 8 for i in range(pairs)]}


def rope_keys(form, rule, values):
    if form == "plain":
        return {"rope_theta": THETA, "rope_scaling": None}
    key, name = FORMS[form]
    inner = {name: rule} | values
    if form == "parameters_flat":
        return {key: inner | {"rope_theta": THETA}}
    if form == "parameters_nested":
        return {key: {"full_attention": inner | {"rope_theta": THETA},
                      "sliding_attention": {"rope_type": "default", "rope_theta": 20000.0}}}
    outer = {"rope_theta": THETA, key: inner}
    return outer | ({"rope_parameters": inner | {"rope_theta": THETA}} if form == "both" else {})


def contexts_of(rule):
    return (SHORT, LONG) if rule in OF_CONTEXT else (SHORT,)


def with_theta(rope, key, value):
    return rope | {key: rope[key] | {"rope_theta": value}}


def variant_keys(variant, rule, values):
    """A dictionary under either key; only those that an engine reads at all can tell."""
    for form in BOTH_KEYS:
        key = FORMS[form][0]
        rope = rope_keys(form, rule, values)
        if variant == "partial_inner":
            yield form, rope | {key: rope[key] | {"partial_rotary_factor": 0.5}}
        elif variant == "partial_outer":
            yield form, rope | {"partial_rotary_factor": 0.5}
        else:
            yield form, with_theta(rope, key, 70000.0) | {"rope_theta": THETA}


def cells_of(family, pairs):
    """Each config of each cell of a family; pairs: of its rule."""
    def asked(cell, rule, rope):
        return Asked(family, cell, small_model(family, rope), contexts_of(rule))
    yield asked("plain:default", "default", rope_keys("plain", "default", {}))
    for form in FORMS:
        for rule, alternatives in RULES.items():
            for values in alternatives if form in BOTH_KEYS else alternatives[:1]:
                yield asked(f"{form}:{rule}", rule,
                            rope_keys(form, rule, dictionary(family, rule, values, pairs)))
    for variant in VARIANTS:
        for rule, values in (("default", {}), ("linear", RULES["linear"][0])):
            for form, rope in variant_keys(variant, rule, dictionary(family, rule, values, 1)):
                yield asked(f"{variant} {form}", rule, rope)
