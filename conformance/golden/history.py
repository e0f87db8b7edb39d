# SPDX-License-Identifier: Apache-2.0
"""Runs the same configs in several Transformers releases."""

import dataclasses
import inspect

import numpy as np
import torch

# Relative. Releases that compute the same values in another order differ by less.
SAME = 2.0**-20

# Classes of old releases, in which the caller chose by rope type: {family: {rope type: class}}.
OLD_CLASSES = {
    "llama": {"default": "LlamaRotaryEmbedding",
              "dynamic": "LlamaDynamicNTKScalingRotaryEmbedding"},
    "phi3": {"longrope": "Phi3LongRoPEScaledRotaryEmbedding"},
}


@dataclasses.dataclass
class Observation:
    """The frequencies after each call and the attention factor, or why there are none."""

    inv_freq: list = dataclasses.field(default_factory=list)
    factor: float = 1.0
    missing: str = ""

    def same_as(self, other):
        if self.missing or other.missing:
            return self.missing == other.missing
        if not abs(self.factor - other.factor) <= SAME:
            return False
        return all(a.shape == b.shape and np.all(np.abs(a - b) <= SAME * np.abs(b))
                   for a, b in zip(self.inv_freq, other.inv_freq, strict=True))


def periods(case, releases):
    """Returns [[first release, last release, observation]] of each behaviour, oldest first."""
    found = []
    for release in releases:
        observation = observe(case, release)
        if found and found[-1][2].same_as(observation):
            found[-1][1] = release.version
        else:
            found.append([release.version, release.version, observation])
    return found


def observe(case, release):
    """Calls the family's rotary embedding as its layers do."""
    try:
        rotary = rotary_of(case, release)
        return Observation(missing="not there") if rotary is None else called(rotary, case.calls)
    except (RuntimeError, TypeError, KeyError) as error:
        return Observation(missing=f"fails with {type(error).__name__}")


def called(rotary, positions):
    observation = Observation()
    # Before 4.38 forward() takes a length instead of positions.
    by_length = "position_ids" not in inspect.signature(rotary.forward).parameters
    for position in positions:
        x = torch.zeros(1, 1, 1, 1)
        if by_length:
            tables = rotary(x, seq_len=position + 1)
        else:
            tables = rotary(x, torch.tensor([[0, position]]))
        observation.inv_freq.append(rotary.inv_freq.double().numpy().copy())
        # cos at position 0, since the factor's name varies.
        observation.factor = tables[0].flatten()[0].item()
    return observation


def rotary_of(case, release):
    """Returns None if the release has no rotary embedding for the config's rope type."""
    if not release.has(f"transformers/models/{case.family}/modeling_{case.family}.py"):
        return None
    config = release.config(case.family, case.config)
    rope_type = (case.config.get("rope_scaling") or {}).get("rope_type", "default")
    present = release.model_names(case.family)
    old = OLD_CLASSES[case.family].get(rope_type)
    new = f"{case.family.capitalize()}RotaryEmbedding"
    if release.rope_utils and not (case.family == "phi3" and old in present):
        return getattr(release.model(case.family, new), new)(config=config)
    if old not in present:
        return None
    cls = getattr(release.model(case.family, old), old)
    head_dim = config.hidden_size // config.num_attention_heads
    if case.family == "phi3":
        return cls(head_dim, config)
    factor = {"scaling_factor": config.rope_scaling["factor"]} if config.rope_scaling else {}
    return cls(head_dim, config.max_position_embeddings, config.rope_theta, **factor)
