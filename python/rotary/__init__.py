# SPDX-License-Identifier: Apache-2.0
"""Rotary embedding and other position encodings of transformers, exact, from a model's own config.

>>> import rotary
>>> model = rotary.resolve("llama-3.1-8b")  # a path, dict, JSON text, GGUF file, PretrainedConfig
>>> f = model.frequencies()
>>> q, k = f.rotate(q, k, positions=range(16), layout="bhtd")

rotary.torch has the operator with gradients, rotary.transformers exact tables for models of
Transformers; both are imported when they are first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from rotary import _core
from rotary._attention import AttentionSequence, Bias, attend
from rotary._axis_positions import (ImagePatches, MRopePositions, SlicedImage, TextTokenRun,
                                    VideoPatches, grid_positions, m_rope_conventions,
                                    m_rope_positions)
from rotary._caches import KeyNorm, append, shift
from rotary._differences import Difference, diff
from rotary._errors import Error, ModelWarning
from rotary._frequencies import Frequencies, Rotations
from rotary._identify import (Cause, Explanation, Identification, identify, identify_frequencies,
                              identify_tables)
from rotary._models import Layer, Model, ModelRotary, Source, model_cards, resolve
from rotary._specs import Pairing, Parameters, RotarySpec, Scaling

if TYPE_CHECKING:
    from rotary import torch, transformers  # noqa: F401
    from rotary._figures import Figure, Page, plot, report  # noqa: F401

__version__: str = _core.version

__all__ = [
    "AttentionSequence", "Bias", "Cause", "Difference", "Error", "Explanation", "Figure",
    "Frequencies", "Identification", "ImagePatches", "KeyNorm", "Layer", "MRopePositions", "Model",
    "ModelRotary", "ModelWarning", "Page", "Pairing", "Parameters", "RotarySpec", "Rotations",
    "Scaling", "SlicedImage", "Source", "TextTokenRun", "VideoPatches", "append", "attend", "diff",
    "grid_positions", "identify", "identify_frequencies", "identify_tables", "instruction_set",
    "m_rope_conventions", "m_rope_positions", "model_cards", "plot", "report", "resolve", "shift",
]


def instruction_set() -> str:
    """The instruction set in use, by Highway's name: "AVX3", "AVX2"; ROTARY_INSTRUCTION_SET
    chooses another."""
    return _core.instruction_set()


_FIGURES = ("Figure", "Page", "plot", "report")


def __getattr__(name: str) -> Any:
    # Imported when they are first used, since they take heavier modules along.
    if name in ("torch", "transformers"):
        return importlib.import_module(f"rotary.{name}")
    if name in _FIGURES:
        return getattr(importlib.import_module("rotary._figures"), name)
    raise AttributeError(f"module 'rotary' has no attribute '{name}'")
