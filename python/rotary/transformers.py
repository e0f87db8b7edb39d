# SPDX-License-Identifier: Apache-2.0
"""rotary.transformers: exact cos and sin in models of Transformers.

>>> undo = rotary.transformers.patch(model)  # every <Family>RotaryEmbedding of a live model
>>> undo()

Only the results of rotary modules change; a model keeps its modules, buffers and weights. patch()
learns the layout of a module's tables (halves, neighbours, complex numbers, three axes) from the
first positions, where float32 angles are accurate. It refuses a module if no layout of the config's
spec reproduces these tables.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch

from rotary import torch as operators
from rotary._checks import shown
from rotary._errors import Error, invalid
from rotary._models import Model, ModelRotary, resolve
from rotary._specs import RotarySpec

__all__ = ["exact_class", "mapping", "patch"]


def __dir__() -> list[str]:
    return __all__

_NAME = re.compile(r"Rotary(?:Positional?)?Embedding$")
_FIRST = 4  # how many first positions show the layout of a class
_TOLERANCE = 1e-5  # above float32 errors at these positions; a wrong layout errs far more
_ROUNDED = 2.0**-5  # for frequencies or tables cast to 16 bits; a wrong layout differs by 1


@dataclasses.dataclass(frozen=True)
class _Layout:
    """The form of the tables that a rotary module returns."""

    spec: str
    arrange: str  # "half", "neighbours", "pairs" or "complex"
    by_axis: bool  # tables [axes, batch, tokens, …], which attention combines
    sign: int  # the sign of sin
    casts: bool  # tables have the dtype of x; otherwise float32
    order: tuple[int, int] = (0, 1)  # (1, 0): sin before cos, as in GPT-J


_ARRANGE: dict[str, Callable] = {
    "half": lambda row: torch.cat((row, row), -1),
    "neighbours": lambda row: row.repeat_interleave(2, -1),
    "pairs": lambda row: row,
}


def _tables(layout: _Layout, positions: torch.Tensor) -> Any:
    """Returns exact float32 tables in the given layout."""
    flat = positions.reshape(-1, positions.shape[-1]) if layout.by_axis else positions
    cos, sin = torch.ops.rotary.rows(flat, layout.spec, 0, False)
    if layout.by_axis:
        cos, sin = (row.reshape(*positions.shape, row.shape[-1]) for row in (cos, sin))
    sin = layout.sign * sin
    if layout.arrange == "complex":
        return torch.complex(cos, sin)
    rows = _ARRANGE[layout.arrange](cos), _ARRANGE[layout.arrange](sin)
    return rows[layout.order[0]], rows[layout.order[1]]


def _distance(made: Any, theirs: Any) -> float:
    """Returns the largest difference of two results; inf if shapes differ or one has a NaN."""
    pairs = zip(made, theirs) if isinstance(theirs, tuple) and isinstance(made, tuple) else (
        (made, theirs),)
    most = 0.0
    for one, other in pairs:
        if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
            return float("inf")
        other = other.cpu()
        if one.is_complex() != other.is_complex() or _squeezed(one) != _squeezed(other):
            return float("inf")
        apart = float((one.reshape(other.shape) - other).abs().max())
        most = max(most, float("inf") if math.isnan(apart) else apart)
    return most


def _squeezed(x: torch.Tensor) -> list[int]:
    return [size for size in x.shape if size != 1]


def _candidates(specs: tuple[RotarySpec, ...], axes: int) -> Iterator[_Layout]:
    for spec, arrange, sign in itertools.product(specs, (*_ARRANGE, "complex"), (1, -1)):
        text = spec.to_json()
        plain = spec.replace(axes=None).to_json() if spec.axes is not None else text
        yield _Layout(text, arrange, False, sign, True)
        if axes > 1:
            yield _Layout(plain, arrange, True, sign, True)
        elif plain != text:
            yield _Layout(plain, arrange, False, sign, True)
        if arrange == "pairs":
            yield _Layout(text, arrange, False, sign, True, (1, 0))


class _ExactTables:
    """Replaces the forward of one rotary module. original: that forward."""

    def __init__(self, module: torch.nn.Module, original: Callable, model: Model | None) -> None:
        self._name = type(module).__name__
        self._module = module
        self._original = original
        self._model = model
        self._layouts: dict[Any, _Layout] = {}

    def _specs(self, layer_type: str | None) -> tuple[RotarySpec, ...]:
        if self._model is None:
            self._model = _model_of(self._module, self._name)
        found: tuple[ModelRotary, ...] = self._model.rotary
        named = tuple(each for each in found if layer_type and each.layer_type == layer_type)
        specs = tuple(each.spec for each in named or found)
        if not specs:
            raise Error("unsupported", f"{self._name}: no layer of this config rotates")
        return specs

    def _learn(self, axes: int, layer_type: str | None) -> _Layout:
        device = next((b.device for b in self._module.buffers()), torch.device("cpu"))
        ids = torch.arange(_FIRST, device=device)[None]
        if axes > 1:
            ids = torch.stack([ids * (axis + 1) for axis in range(axes)])
        theirs, narrow = (
            self._call(torch.zeros(1, _FIRST, 1, dtype=dtype, device=device), ids, layer_type)
            for dtype in (torch.float32, torch.bfloat16))
        best = min(_candidates(self._specs(layer_type), axes),
                   key=lambda layout: _distance(_tables(layout, ids.cpu()), theirs))
        apart = _distance(_tables(best, ids.cpu()), theirs)
        if apart > (_ROUNDED if _is_rounded(self._module) else _TOLERANCE):
            raise Error("unsupported", f"{self._name} must return, at positions 0 to {_FIRST - 1}, "
                        f"tables of the resolved spec in a known layout; the nearest is {apart:g} "
                        "apart")
        first = narrow[0] if isinstance(narrow, tuple) else narrow
        return dataclasses.replace(best, casts=first.dtype == torch.bfloat16)

    def _call(self, x, ids, layer_type):
        return self._original(x, ids) if layer_type is None else self._original(x, ids, layer_type)

    @torch.no_grad()
    def __call__(self, x: torch.Tensor, position_ids: torch.Tensor,
                 layer_type: str | None = None) -> Any:
        axes = position_ids.shape[0] if position_ids.ndim == 3 else 1
        layout = self._layouts.get((axes, layer_type))
        if layout is None:
            layout = self._layouts[axes, layer_type] = self._learn(axes, layer_type)
        made = _tables(layout, position_ids)
        if isinstance(made, torch.Tensor):
            return made.to(x.device)
        dtype = x.dtype if layout.casts else torch.float32
        return tuple(row.to(device=x.device, dtype=dtype) for row in made)

    def learn(self) -> None:
        """Learns the layouts. Runs before any module changes, so that a refusal changes none."""
        types = getattr(self._module, "layer_types", None)
        for layer_type in types if isinstance(types, (list, tuple, set)) else (None,):
            if layer_type is None or hasattr(self._module, f"{layer_type}_inv_freq"):
                self._layouts[1, layer_type] = self._learn(1, layer_type)


def _is_rounded(module: torch.nn.Module) -> bool:
    return any(each.dtype in (torch.bfloat16, torch.float16) for each in module.buffers())


def _model_of(module: torch.nn.Module, name: str) -> Model:
    config = getattr(module, "config", None)
    if config is None:
        raise Error("unsupported", f"{name} has no config that says what it computes")
    return _resolved(_text_of(config))


def _text_of(config: Any) -> str:
    return json.dumps(config.to_dict(), default=str, sort_keys=True)


@functools.lru_cache(maxsize=16)
def _resolved(text: str) -> Model:
    return resolve(text)


class _Undo:
    """Undoes patch(), when called or at the end of a with block.

    patched: modules or classes that return exact tables. skipped: names of rotary modules that no
    config describes.
    """

    def __init__(self, patched: list, skipped: list[str], restore: Callable[[], None]) -> None:
        self.patched = patched
        self.skipped = skipped
        self._restore = restore

    def __call__(self) -> None:
        restore, self._restore = self._restore, lambda: None
        restore()

    def __enter__(self) -> _Undo:
        return self

    def __exit__(self, *error: Any) -> None:
        self()

    def __repr__(self) -> str:
        return f"<rotary.transformers undo of {len(self.patched)}, skipped {self.skipped}>"


def _rotary_modules(model: torch.nn.Module) -> tuple[list, list[str]]:
    """Returns (module, model) for each rotary module, and the names of skipped modules. model: from
    the nearest parent's config; None if the module has its own config."""
    found, skipped = [], []
    configs: dict[str, Any] = {}
    for name, module in model.named_modules():
        around = configs.get(name.rpartition(".")[0])
        own = getattr(module, "config", None)
        configs[name] = around if own is None else own
        if not _NAME.search(type(module).__name__):
            continue
        if configs[name] is None or (own is None and hasattr(module, "inv_freq")):
            skipped.append(name)  # in a tower, which the parent's config does not describe
        elif "forward" not in vars(module):
            found.append((module, None if own is not None else _resolved(_text_of(around))))
    return found, skipped


def _check_class(target: Any, name: str) -> None:
    if not isinstance(target, type) or not issubclass(target, torch.nn.Module):
        raise TypeError(f"{name} must be a class of rotary modules, got {shown(target)}")


def patch(target: Any) -> _Undo:
    """Makes rotary modules return exact cos and sin. Returns an object that undoes this.

    target: a model, for all its rotary modules; or a class of rotary modules, for all its present
    and future instances.

    Refuses a model before any change if the tables of one rotary module cannot be reproduced. A
    class is checked at the first call of each instance.
    """
    if isinstance(target, type):
        return _patch_class(target)
    if not isinstance(target, torch.nn.Module):
        raise TypeError(f"target must be a model or a class of rotary modules, got {shown(target)}")
    found, skipped = _rotary_modules(target)
    if not found:
        raise invalid(f"target must have a rotary module with a config, got "
                      f"{type(target).__name__} with none" + (f" but {skipped}" if skipped else ""))
    exact = [_ExactTables(module, module.forward, known) for module, known in found]
    for tables in exact:
        tables.learn()
    modules = [module for module, _ in found]
    for module, tables in zip(modules, exact):
        module.forward = tables

    def restore() -> None:
        for module in modules:
            del module.forward

    return _Undo(modules, skipped, restore)


def _forward_of(original: Callable) -> Callable:
    def forward(self, x, position_ids, layer_type=None):
        tables = vars(self).get("_rotary_exact_tables")
        if tables is None:
            tables = _ExactTables(self, functools.partial(original, self), None)
            object.__setattr__(self, "_rotary_exact_tables", tables)
        return tables(x, position_ids, layer_type)

    return forward


def _patch_class(target: Any) -> _Undo:
    _check_class(target, "target")
    original = target.forward
    target.forward = _forward_of(original)

    def restore() -> None:
        target.forward = original

    return _Undo([target], [], restore)


def exact_class(target: Any) -> type:
    """Returns a subclass of a class of rotary modules that returns exact cos and sin."""
    _check_class(target, "target")
    return type(f"Exact{target.__name__}", (target,), {
        "forward": _forward_of(target.forward), "__module__": target.__module__,
        "__doc__": f"{target.__name__} with exact cos and sin, by rotary."})


def mapping(*classes: type) -> dict[str, type]:
    """Returns the argument of transformers.monkey_patching.register_patch_mapping() for classes of
    rotary modules. Models made under apply_patches() then have exact cos and sin."""
    for each in classes:
        _check_class(each, "classes")
    return {each.__name__: exact_class(each) for each in classes}
