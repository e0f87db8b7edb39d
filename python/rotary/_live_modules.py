# SPDX-License-Identifier: Apache-2.0
"""Finds the frequencies and tables of a PyTorch model, and reads their numbers. Only functions
import torch, so importing this module does not load it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rotary._specs import RotarySpec

FREQUENCIES = re.compile(
    r"^(?!long_)(?:(?P<type>(?!original_)\w+?)_)?(?:original_)?inv_freqs?$|^theta$")
TABLES = re.compile(
    r"^_?(?:.*_)?(?:cos|sin|freqs|cis)(?:_cis|_cos|_sin|_cached|_cache|_sin_cache)*$"
    r"|^(?:embed_positions|rope_cache|cache)$")
_WRAPPERS = re.compile(r"\b_(orig_mod|fsdp_wrapped_module|checkpoint_wrapped_module)(\.|$)")
ROTARY = re.compile(r"Rotary|Rope|RoPE|PosEmbed", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class Place:
    """A module that may hold frequencies or tables. config: its own or its nearest parent's."""

    path: str
    module: Any
    config: Any

    def tensors(self) -> Iterator[tuple[str, Any]]:
        import torch
        held = {**self.module._parameters, **self.module._buffers, **vars(self.module)}
        for name, value in held.items():
            if isinstance(value, torch.Tensor) and (FREQUENCIES.search(name)
                                                    or TABLES.search(name)):
                yield name, value

    def name_of(self, attribute: str) -> str:
        return f"{self.path}.{attribute}" if self.path else attribute


def places(model: Any) -> Iterator[Place]:
    configs: dict[str, Any] = {}
    for path, module in model.named_modules():
        above = path.rpartition(".")[0]
        configs[path] = _config_of_module(module) or configs.get(above)
        yield Place(_WRAPPERS.sub("", path).rstrip("."), module, configs[path])


def _config_of_module(module: Any) -> Mapping[str, Any] | None:
    own = getattr(module, "config", None)
    if hasattr(own, "to_dict"):
        return own.to_dict()
    if isinstance(own, Mapping):  # in models of Diffusers
        return {**own, "_class_name": type(module).__name__}
    return None


def numbers_of(tensor: Any) -> np.ndarray | str:
    """Returns a float64 or complex128 copy on the CPU, or the reason why there is none."""
    import torch
    if tensor.device.type == "meta":
        return "it is on the meta device, and has no numbers yet"
    if hasattr(tensor, "placements"):
        if not all(each.is_replicate() for each in tensor.placements):
            return "it is sharded over processes, and one of them sees a part"
        tensor = tensor.to_local()
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return f"its type is {tensor.dtype}, which holds no angles"
    kind = torch.complex128 if tensor.is_complex() else torch.float64
    return tensor.detach().to(device="cpu", dtype=kind).numpy()


def half_unit(tensor: Any) -> float:
    """Returns half a unit in the last place of numbers near 1, in the tensor's dtype."""
    import torch
    kind = tensor.dtype.to_real() if tensor.is_complex() else tensor.dtype
    return torch.finfo(kind).eps / 2


def tables_of(tables: dict[str, tuple]) -> dict[str, tuple]:
    """Returns (cos, sin, half_unit) by name; cos and sin are [positions, columns]."""
    found = {}
    for name, (x, error) in tables.items():
        x = x.squeeze()
        if np.iscomplexobj(x) and x.ndim == 2:
            found[name] = (x.real, x.imag, error)
        elif x.ndim == 3 and x.shape[-1] == 2:
            found[name] = (x[..., 0], x[..., 1], error)
        elif x.ndim == 2 and "cos" in name and name.replace("cos", "sin") in tables and (
                "sin" not in name):
            found[name] = (x, tables[name.replace("cos", "sin")][0].squeeze(), error)
        elif x.ndim == 2 and ("cos_sin" in name or name == "embed_positions"):
            first, second = np.split(x, 2, axis=-1)
            found[name] = (first, second, error) if "cos_sin" in name else (second, first, error)
    return found


def spec_of_attributes(module: Any) -> RotarySpec | None:
    """Returns a spec from the attributes of a module without a config (vision tower, torchtune)."""
    if getattr(module, "config", None) is not None:
        return None
    base = getattr(module, "theta", getattr(module, "base", None))
    dim = getattr(module, "dim", None)
    if not isinstance(base, (int, float)) or not isinstance(dim, int) or dim % 2 or dim < 2:
        return None
    return RotarySpec(head_dim=dim, base=float(base), pairing="half")


def called(module: Any, layer_type: str | None) -> tuple[np.ndarray, np.ndarray, float] | str:
    """Calls the module at positions 0 to 7. Returns (cos, sin, half_unit), or why it cannot."""
    import torch
    device = next((each.device for each in module.buffers()), torch.device("cpu"))
    if device.type == "meta":
        return "it is on the meta device, and computes nothing yet"
    ids = torch.arange(8, device=device)[None]
    x = torch.zeros(1, 8, 1, dtype=torch.float32, device=device)
    label = () if layer_type is None else (layer_type,)
    axes = len(getattr(module, "axes_dim", ()))
    calls = ((x, ids, *label), (x, ids.expand(3, 1, 8), *label))
    for arguments in ((ids[0, :, None].expand(8, axes),),) if axes else calls:
        try:
            with torch.no_grad():
                made = module(*arguments)
        except Exception as error:  # a foreign forward may raise anything
            reason = f"calling it at positions 0 to 7 failed: {type(error).__name__}: {error}"
            continue
        rows = _rows_of(made)
        if rows is None:
            return "what it returns is no table of cos and sin"
        cos, sin, error = rows
        return (sin, cos, error) if hasattr(module, "embed_positions") else rows  # GPT-J: sin first
    return reason


def _rows_of(made: Any) -> tuple[np.ndarray, np.ndarray, float] | None:
    import torch
    parts = made if isinstance(made, tuple) else (made,)
    if not all(isinstance(each, torch.Tensor) for each in parts):
        return None
    rows = [numbers_of(each) for each in parts]
    rows = [each.reshape(-1, *each.shape[-2:])[0] for each in rows if each.ndim >= 2]
    if len(rows) == 2:
        return rows[0], rows[1], half_unit(parts[0])
    if len(rows) == 1 and np.iscomplexobj(rows[0]):
        return rows[0].real, rows[0].imag, half_unit(parts[0])
    return None
