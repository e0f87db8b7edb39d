# SPDX-License-Identifier: Apache-2.0
"""watch: the position ids that reach the rotary modules of a model while it runs, judged."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import numpy as np

from rotary._checks import checked
from rotary._errors import Error
from rotary._position_ids import PositionFinding, check_positions

_ROTARY = re.compile(r"Rotary|Rope|RoPE")


@dataclasses.dataclass(frozen=True, eq=False)
class WatchedCall:
    """One call of the model. ids: those of each rotary module, by its path, as they came; given:
    the caller's, or None; past: how many tokens its cache held. findings: what is wrong. judged:
    False where ids differ between axes, or nothing fits them."""

    ids: dict[str, np.ndarray]
    given: np.ndarray | None
    past: int | None
    sentence: str
    findings: tuple[PositionFinding, ...]
    judged: bool = True


class Watched:
    """What watch() saw; print() says it. calls: in order. verdict: "faults", "no_fault", or
    "unknown" where a call's ids could not be judged, or none reached a rotary module."""

    def __init__(self) -> None:
        self.calls: list[WatchedCall] = []

    @property
    def findings(self) -> tuple[tuple[int, PositionFinding], ...]:
        """(call, finding), in order."""
        return tuple((at, each) for at, call in enumerate(self.calls) for each in call.findings)

    @property
    def verdict(self) -> str:
        if self.findings:
            return "faults"
        all_judged = bool(self.calls) and all(call.judged for call in self.calls)
        return "no_fault" if all_judged else "unknown"

    def __str__(self) -> str:
        lines = [{"faults": f"wrong: positions of {len({at for at, _ in self.findings})} of "
                            f"{len(self.calls)} calls",
                  "no_fault": f"no fault in the positions of {len(self.calls)} calls",
                  "unknown": f"no verdict: positions of "
                             f"{sum(not call.judged for call in self.calls)} of "
                             f"{len(self.calls)} calls were not judged"}[self.verdict]]
        for at, call in enumerate(self.calls[:8]):
            lines.append(f"  call {at}: {call.sentence}")
        if len(self.calls) > 8:
            lines.append(f"  {len(self.calls) - 8} further calls")
        lines += [f"  call {at}, {each}" for at, each in self.findings[:8]]
        return "\n".join(lines)

    __repr__ = __str__

    def to_json(self) -> str:
        """One object by docs/schema/watch.schema.json."""
        return json.dumps({
            "schema_version": 1, "verdict": self.verdict,
            "calls": [{"sentence": call.sentence, "past": call.past, "judged": call.judged,
                       "modules": list(call.ids),
                       "findings": [dataclasses.asdict(each) for each in call.findings]}
                      for call in self.calls]})


def _array(x: Any) -> np.ndarray | None:
    """A copy on the CPU, in the tensor's own type where NumPy has it."""
    if x is None or not hasattr(x, "detach"):
        return None
    x = x.detach().cpu()
    return x.float().numpy() if "bfloat16" in str(x.dtype) else x.numpy()


class _Watcher:
    def __init__(self, model: Any) -> None:
        self._model = model
        self._seen = Watched()
        self._handles: list = []
        self._call: dict[str, Any] | None = None

    def __enter__(self) -> Watched:
        hook = self._model.register_forward_pre_hook(self._begin, with_kwargs=True)
        self._handles = [hook, self._model.register_forward_hook(self._end, always_call=True)]
        for path, module in self._model.named_modules():
            if _ROTARY.search(type(module).__name__) and not list(module.children()):
                self._handles.append(module.register_forward_pre_hook(
                    self._reached(path), with_kwargs=True))
        return self._seen

    def __exit__(self, *error: Any) -> None:
        for each in self._handles:
            each.remove()

    def _begin(self, module: Any, arguments: tuple, named: dict[str, Any]) -> None:
        cache = named.get("cache", named.get("past_key_values"))  # the name since 5.24
        length = getattr(cache, "get_seq_length", None)
        self._call = {"named": named, "ids": {}, "kinds": {},
                      "past": None if length is None else int(length())}

    def _reached(self, path: str) -> Any:
        def hook(module: Any, arguments: tuple, named: dict[str, Any]) -> None:
            ids = named.get("position_ids", arguments[1] if len(arguments) > 1 else None)
            found = _array(ids)
            if self._call is not None and found is not None:
                self._call["ids"].setdefault(path, found)
                self._call["kinds"][path] = str(ids.dtype).rpartition(".")[2]
        return hook

    def _end(self, module: Any, arguments: tuple, output: Any) -> None:
        call, self._call = self._call, None
        if call is not None:
            self._seen.calls.append(_judged(call))


def _judged(call: dict[str, Any]) -> WatchedCall:
    named, ids = call["named"], call["ids"]
    given = _array(named.get("position_ids"))
    if not ids:
        return WatchedCall(ids, given, call["past"], "no positions reached a rotary module", (),
                           judged=False)
    path, first = next(iter(ids.items()))
    findings: list[PositionFinding] = []
    known: dict[str, Any] = {}
    mask, bounds = named.get("attention_mask"), named.get("cu_seq_lens_q")
    if mask is not None and getattr(mask, "ndim", 0) == 2:
        known["attention_mask"] = _array(mask)
    elif bounds is not None:
        known["cu_seqlens"] = _array(bounds)
    elif call["past"]:
        known["past"] = call["past"]
    try:
        found = check_positions(first, dtype=call["kinds"][path], **known)
    except Error as error:
        return WatchedCall(ids, given, call["past"], f"not judged: {error}", (), judged=False)
    findings += found.findings
    findings += _disagreements(ids, given)
    return WatchedCall(ids, given, call["past"], found.sentence, tuple(findings), found.judged)


def _disagreements(ids: dict[str, np.ndarray], given: np.ndarray | None) -> list[PositionFinding]:
    (path, first), *others = ids.items()
    found = []
    for name, other in others:
        if other.shape == first.shape and not np.array_equal(other, first):
            row, token = np.unravel_index(np.argmax(np.any(
                np.atleast_2d(other != first).reshape(-1, *first.shape[-2:]), axis=0)),
                first.shape[-2:])
            found.append(PositionFinding("other", int(row), int(token),
                                         f"{path} and {name} have other ids"))
    # A model may take some of the axes that the caller gave.
    if given is not None and given.shape == first.shape[first.ndim - given.ndim:]:
        lost = np.any((given != first).reshape(-1, first.shape[-1]), axis=0)
        if np.any(lost):
            found.append(PositionFinding("other", 0, int(np.argmax(lost)),
                                         "the caller gave other ids than the module got"))
    return found


@checked
def watch(model: Any) -> _Watcher:
    """Records, in a with block, the position ids that reach each rotary module, and judges them.

    >>> with rotary.watch(model) as seen:
    ...     model.generate(**inputs)
    >>> print(seen)

    model: a torch.nn.Module whose rotary modules are called with (x, position_ids). Each call of it
    is judged beside its attention_mask [batch, tokens], cu_seq_lens_q or the length of its cache,
    and beside the ids that the caller gave. The ids of a call are copied to the CPU, which waits
    for the device; nothing else is changed.
    """
    if not hasattr(model, "register_forward_pre_hook"):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    return _Watcher(model)
