# SPDX-License-Identifier: Apache-2.0
"""torch for Transformers' definitions: Debian's, plus newer names that it lacks."""

import contextlib

import numpy as np
import torch


class Buffer:
    """torch.nn.Buffer of newer releases: a tensor that becomes a buffer when it is assigned."""

    def __init__(self, tensor, persistent=True):
        self.tensor = tensor
        self.persistent = persistent


class Module(torch.nn.Module):
    def __setattr__(self, name, value):
        if isinstance(value, Buffer):
            self.register_buffer(name, value.tensor, persistent=value.persistent)
        else:
            super().__setattr__(name, value)


class Embedding(torch.nn.Embedding):
    def __init__(self, *arguments, _freeze=False, **named):
        super().__init__(*arguments, **named)
        self.weight.requires_grad_(not _freeze)


class Networks:
    """torch.nn with names of newer releases."""

    Buffer = Buffer
    Embedding = Embedding
    Module = Module

    def __getattr__(self, name):
        return getattr(torch.nn, name)


def maybe_autocast(*arguments, **named):
    """Leaves autocast off, as it is on a CPU by default."""
    return contextlib.nullcontext()


GIVEN = {"torch": torch, "nn": Networks(), "F": torch.nn.functional, "np": np,
         "maybe_autocast": maybe_autocast, "torch_int": int}
