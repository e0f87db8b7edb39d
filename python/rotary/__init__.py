# SPDX-License-Identifier: Apache-2.0
"""Exact rotary embeddings and other position encodings, from a model's own config.

>>> import rotary
>>> model = rotary.resolve("llama-3.1-8b")  # or a config.json, dict, GGUF file, PretrainedConfig
>>> f = model.frequencies()
>>> q, k = f.rotate(q, k, positions=range(16), layout="bhtd")

rotary.torch rotates tensors with gradients. rotary.transformers gives exact cos and sin to models
of Transformers. Both are imported at first use.
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from rotary import _core
from rotary._errors import Error, ModelWarning
from rotary._models import Layer, Model, ModelRotary, Source, model_cards, resolve
from rotary._parameters import Pairing, Parameters, Scaling
from rotary._specs import Frequencies, RotarySpec, Rotations

if TYPE_CHECKING:
    from rotary import torch, transformers  # noqa: F401
    from rotary._attention import AttentionSequence, Bias, attend  # noqa: F401
    from rotary._axis_positions import (  # noqa: F401
        ImagePatches, MRopePositions, SlicedImage, TextTokenRun, VideoPatches, grid_positions,
        m_rope_conventions, m_rope_positions)
    from rotary._caches import KeyNorm, QuantizedHeads, append, shift  # noqa: F401
    from rotary._differences import Difference, diff  # noqa: F401
    from rotary._figures import Figure, Page, plot, report  # noqa: F401
    from rotary._live import LiveCheck, LiveFinding, check  # noqa: F401
    from rotary._position_ids import (  # noqa: F401
        PositionCheck, PositionFinding, check_positions, positions_of)
    from rotary._watch import Watched, WatchedCall, watch  # noqa: F401
    from rotary._identify import (  # noqa: F401
        Cause, Explanation, Identification, ReadPositions, identify, identify_frequencies,
        identify_tables)

__version__: str = _core.version

__all__ = [
    "AttentionSequence", "Bias", "Cause", "Difference", "Error", "Explanation", "Figure",
    "Frequencies", "Identification", "ImagePatches", "KeyNorm", "Layer", "LiveCheck", "LiveFinding",
    "MRopePositions", "Model", "ModelRotary", "ModelWarning", "Page", "Pairing", "Parameters",
    "PositionCheck", "PositionFinding", "QuantizedHeads", "ReadPositions", "RotarySpec",
    "Rotations", "Scaling", "SlicedImage", "Source", "TextTokenRun", "VideoPatches", "Watched",
    "WatchedCall",
    "append", "attend", "check", "check_positions", "diff", "grid_positions", "identify",
    "identify_frequencies", "identify_tables", "instruction_set", "m_rope_conventions",
    "m_rope_positions", "model_cards", "plot", "positions_of", "report", "resolve", "shift",
    "watch",
]


def instruction_set() -> str:
    """Returns Highway's name of the instruction set in use: "AVX3", "AVX2", "NEON" or another.

    The environment variable ROTARY_INSTRUCTION_SET chooses another.
    """
    return _core.instruction_set()


# Imported at first use: importing all of these would make `import rotary` 1.4 times as slow.
_LATER = {name: module for module, names in {
    "_attention": ("AttentionSequence", "Bias", "attend"),
    "_axis_positions": ("ImagePatches", "MRopePositions", "SlicedImage", "TextTokenRun",
                        "VideoPatches", "grid_positions", "m_rope_conventions",
                        "m_rope_positions"),
    "_caches": ("KeyNorm", "QuantizedHeads", "append", "shift"),
    "_differences": ("Difference", "diff"),
    "_figures": ("Figure", "Page", "plot", "report"),
    "_live": ("LiveCheck", "LiveFinding", "check"),
    "_position_ids": ("PositionCheck", "PositionFinding", "check_positions", "positions_of"),
    "_watch": ("Watched", "WatchedCall", "watch"),
    "_identify": ("Cause", "Explanation", "Identification", "ReadPositions", "identify",
                  "identify_frequencies", "identify_tables"),
}.items() for name in names}


_OF_FRAMEWORKS = ("torch", "transformers")


def __getattr__(name: str) -> Any:
    if name in _OF_FRAMEWORKS:
        try:
            return importlib.import_module(f"rotary.{name}")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(f"rotary.{name} needs {error.name}: pip install {error.name}",
                                      name=error.name) from None
    if name in _LATER:
        value = getattr(importlib.import_module(f"rotary.{_LATER[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'rotary' has no attribute '{name}'")


def __dir__() -> list[str]:
    # help(rotary) gets every name listed here, so a framework that is not installed is left out.
    usable = {name for name in _OF_FRAMEWORKS if importlib.util.find_spec(name)}
    return sorted({*__all__, "__all__", "__doc__", "__version__", *usable})
