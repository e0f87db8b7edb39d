# SPDX-License-Identifier: Apache-2.0
"""Configs whose meaning changed between releases, and why.

A case names a cause for the first release of each behaviour. `./dev golden --releases` finds the
behaviours' periods. A period without a cause, or a cause without a period, is an error.
"""

import dataclasses

import numpy as np


@dataclasses.dataclass
class Case:
    title: str
    family: str
    config: dict
    describe: object  # (case, observation) -> text
    causes: dict  # {first release of a period: its cause}
    calls: tuple = (0,)  # the last position of each consecutive forward pass


def plain(case, pairs):
    dim = 2 * pairs
    return case.config["rope_theta"] ** (-np.arange(0, dim, 2) / dim)


def slowed(case, observation):
    """YaRN: the slowed pairs, their divisors, and the attention factor."""
    inv_freq = observation.inv_freq[0]
    ratio = plain(case, len(inv_freq)) / inv_freq
    beyond = np.flatnonzero(ratio > 1 + 1e-6)
    if not len(beyond):
        return f"no pair of {len(ratio)} slowed; A = {observation.factor:.5g}"
    middle = (beyond[0] + np.argmax(ratio > ratio[-1] * (1 - 1e-6))) // 2
    return (f"pairs {beyond[0]} to {len(ratio) - 1} slowed, pair {middle} {ratio[middle]:.4g} "
            f"times, the last {ratio[-1]:.4g} times; A = {observation.factor:.5g}")


def lists(case, observation):
    """LongRoPE: the list used in each call; the config's lists are all 1 and all 8."""
    names = {1: "short", 8: "long"}
    taken = [names[round(plain(case, len(inv_freq))[-1] / inv_freq[-1])]
             for inv_freq in observation.inv_freq]
    return f"{', '.join(taken)}; A = {observation.factor:.5g}"


def lengths(case, observation):
    """Dynamic NTK: the length for which the current base was computed, after each call."""
    trained = case.config["max_position_embeddings"]
    factor = case.config["rope_scaling"]["factor"]
    found = []
    for inv_freq in observation.inv_freq:
        # The slowest frequency is base^(-(d - 2)/d); the base is multiplied by growth^(d/(d - 2)).
        growth = plain(case, len(inv_freq))[-1] / inv_freq[-1]
        found.append(f"{(growth + factor - 1) * trained / factor:.0f}")
    return ", ".join(found)


def features(case, observation):
    return f"{2 * len(observation.inv_freq[0])} features turn"


BEFORE = "`modeling_rope_utils.py`, which has YaRN, came with 4.43"
RAMP_OF_MAXIMUM = (
    "the ramp follows `max_position_embeddings`; the original length is not read (#33783)")
RATIO = "the factor becomes `max_position_embeddings` / original length, here {ratio} (#38224)"
EXPLICIT = "factor and original length are the config's (#40320)"
MSCALE = "; `mscale` is not read"

QWEN = {"hidden_size": 3584, "num_attention_heads": 28, "max_position_embeddings": 32768,
        "rope_theta": 1000000.0,
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
                         "original_max_position_embeddings": 32768}}
LONG_QWEN = QWEN | {"max_position_embeddings": 131072}
PHI = {"hidden_size": 3072, "num_attention_heads": 32, "max_position_embeddings": 131072,
       "original_max_position_embeddings": 4096, "rope_theta": 10000.0,
       "rope_scaling": {"rope_type": "longrope", "short_factor": [1.0] * 48,
                        "long_factor": [8.0] * 48}}
SMALL = {"hidden_size": 128, "num_attention_heads": 2, "max_position_embeddings": 2048,
         "rope_theta": 10000.0}

CASES = [
    Case("YaRN as the model card of Qwen2.5 gives it", "llama", QWEN, slowed, {
        "4.33.3": BEFORE,
        "4.43.4": RAMP_OF_MAXIMUM + "; here both are the same",
        "4.51.3": RATIO.format(ratio="1") + ": YaRN is off, and nothing says so",
        "4.56.2": EXPLICIT,
    }),
    Case("The same with the extended length as max_position_embeddings", "llama", LONG_QWEN,
         slowed, {
             "4.33.3": BEFORE,
             "4.43.4": RAMP_OF_MAXIMUM,
             "4.51.3": "the original length is read; " + RATIO.format(ratio="4, as given"),
         }),
    Case("The same with Qwen3's max_position_embeddings", "llama",
         QWEN | {"max_position_embeddings": 40960}, slowed, {
             "4.33.3": BEFORE,
             "4.43.4": RAMP_OF_MAXIMUM,
             "4.51.3": RATIO.format(ratio="1.25"),
             "4.56.2": EXPLICIT,
         }),
    Case("YaRN with a factor of null", "llama",
         LONG_QWEN | {"rope_scaling": QWEN["rope_scaling"] | {"factor": None}}, slowed, {
             "4.33.3": BEFORE,
             "4.43.4": "the logarithm of the factor is taken as it is",
             "4.51.3": RATIO.format(ratio="4"),
             "4.56.2": "the factor is used as it is",
             "5.0.0": "a factor of null becomes the ratio of the lengths",
         }),
    Case("YaRN with the numbers of DeepSeek-V3", "llama",
         {"hidden_size": 7168, "num_attention_heads": 128, "head_dim": 64,
          "max_position_embeddings": 163840, "rope_theta": 10000.0,
          "rope_scaling": {"rope_type": "yarn", "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0,
                           "original_max_position_embeddings": 4096}}, slowed, {
             "4.33.3": BEFORE,
             "4.43.4": "`head_dim` is not read, 56 is computed; " + RAMP_OF_MAXIMUM + MSCALE,
             "4.44.2": "`head_dim` is read; " + RAMP_OF_MAXIMUM + MSCALE,
             "4.51.3": "the original length, `mscale` and `mscale_all_dim` are read",
         }),
    Case("YaRN with the numbers of gpt-oss", "llama",
         {"hidden_size": 2880, "num_attention_heads": 64, "head_dim": 64,
          "max_position_embeddings": 131072, "rope_theta": 150000.0,
          "rope_scaling": {"rope_type": "yarn", "factor": 32.0, "truncate": False,
                           "original_max_position_embeddings": 4096}}, slowed, {
             "4.33.3": BEFORE,
             "4.43.4": "`head_dim` is not read; 45 is computed, odd",
             "4.44.2": "`head_dim` is read; " + RAMP_OF_MAXIMUM,
             "4.51.3": "the original length is read, `truncate` is not: ramp 8 to 18",
             "4.55.4": "`truncate` is read: ramp 8.09 to 17.40",
         }),
    Case("LongRoPE in Phi-3", "phi3", PHI, lists, {
        "4.33.3": "Phi-3 came after 4.40",
        "4.43.4": "the list follows each call; A follows the ratio of the lengths",
    }, (100, 4096, 100)),
    Case("LongRoPE in Phi-3, with a factor of 16 besides", "phi3",
         PHI | {"rope_scaling": PHI["rope_scaling"] | {"factor": 16.0}}, lists, {
             "4.33.3": "Phi-3 came after 4.40",
             "4.43.4": "the factor becomes the ratio of the lengths, 32",
             "5.0.0": "the factor is the config's",
         }, (100, 4096, 100)),
    Case("LongRoPE in another model", "llama", PHI, lists, {
        "4.33.3": "`modeling_rope_utils.py`, which has LongRoPE, came with 4.43",
        "4.43.4": "the list follows the config alone: its factor is above 1",
        "4.48.3": "the list follows the length, which Llama does not pass on",
        "4.51.3": "`dynamic_rope_update`: the list follows each call in every model",
    }, (100, 4096, 100)),
    Case("Dynamic NTK, one call after the other", "llama",
         SMALL | {"rope_scaling": {"rope_type": "dynamic", "factor": 4.0}}, lengths, {
             "4.33.3": "the base is recomputed for a longer call, never restored",
             "4.38.2": "the base is recomputed for every long call, never restored",
             "4.43.4": "recomputed for a longer call, restored below the trained length",
             "5.0.0": "a wrong attribute name (#39847): as in 4.40 again",
             "5.13.1": "the name is right again (#46624): as in 4.43",
         }, (10, 2047, 2048, 4095, 4096, 3000, 2047, 100, 5000)),
    Case("partial_rotary_factor in a model without partial rotation", "llama",
         SMALL | {"partial_rotary_factor": 0.5}, features, {
             "4.33.3": "the model's own class does not read it",
             "4.43.4": "the function that all models share reads it",
             "5.0.0": "Llama's own function does not read it",
         }),
]
