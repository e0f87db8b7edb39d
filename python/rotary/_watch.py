# SPDX-License-Identifier: Apache-2.0
"""watch(): records and judges the position ids that reach the rotary modules of a model."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import json
import re
from typing import Any

import numpy as np

from rotary._axis_positions import (ImagePatches, TextTokenRun, VideoPatches, m_rope_conventions,
                                    m_rope_positions)
from rotary._checks import checked
from rotary._errors import Error, invalid
from rotary._position_ids import PositionFinding, check_positions

_ROTARY = re.compile(r"Rotary|Rope|RoPE")


@dataclasses.dataclass(frozen=True, eq=False)
class WatchedCall:
    """One call of the model.

    ids: the position ids that reached each rotary module, by its path. given: the caller's ids, or
    None. past: how many tokens the cache held, or None. findings: mistakes. judged: False if the
    ids could not be judged; sentence then says why.
    """

    ids: dict[str, np.ndarray]
    given: np.ndarray | None
    past: int | None
    sentence: str
    findings: tuple[PositionFinding, ...]
    judged: bool = True


class Watched:
    """The record of watch(); print() shows it. calls: a WatchedCall for each call, in order.

    verdict: "faults"; "no_fault"; or "unknown" if there was no call, or if the ids of a call could
    not be judged.
    """

    def __init__(self) -> None:
        self.calls: list[WatchedCall] = []

    @property
    def findings(self) -> tuple[tuple[int, PositionFinding], ...]:
        """(index of the call, finding), in order."""
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
        """Returns JSON text that follows docs/schema/watch.schema.json."""
        return json.dumps({
            "schema_version": 1, "verdict": self.verdict,
            "calls": [{"sentence": call.sentence, "past": call.past, "judged": call.judged,
                       "modules": list(call.ids),
                       "findings": [dataclasses.asdict(each) for each in call.findings]}
                      for call in self.calls]})


def _array(x: Any) -> np.ndarray | None:
    """Returns a copy of a tensor on the CPU, bfloat16 as float32; None for other objects."""
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
        self._deltas: np.ndarray | None = None  # of the cached prompts with images
        self._grids: list[list] = []  # arguments of vision towers, since the last call

    def __enter__(self) -> Watched:
        hook = self._model.register_forward_pre_hook(self._begin, with_kwargs=True)
        self._handles = [hook, self._model.register_forward_hook(self._end, always_call=True)]
        for path, module in self._model.named_modules():
            if _takes_grids(module):
                self._handles.append(module.register_forward_pre_hook(
                    self._tower, with_kwargs=True))
            if _ROTARY.search(type(module).__name__) and not list(module.children()):
                self._handles.append(module.register_forward_pre_hook(
                    self._reached(path), with_kwargs=True))
        return self._seen

    def __exit__(self, *error: Any) -> None:
        for each in self._handles:
            each.remove()

    def _begin(self, module: Any, arguments: tuple, named: dict[str, Any]) -> None:
        cache = named.get("cache", named.get("past_key_values"))  # Transformers 5.24 renamed it
        length = getattr(cache, "get_seq_length", None)
        past = None if length is None else int(length())
        tokens = named.get("input_ids", arguments[0] if arguments else named.get("inputs_embeds"))
        self._call = {"named": named, "ids": {}, "kinds": {}, "past": past, "tokens": tokens,
                      "config": getattr(module, "config", None),
                      "grids": self._grids, "deltas": self._deltas if past else None}

    def _tower(self, module: Any, arguments: tuple, named: dict[str, Any]) -> None:
        self._grids += [each.tolist() for each in map(_array, (*named.values(), *arguments))
                        if each is not None and each.ndim == 2 and each.shape[1] == 3
                        and each.dtype.kind == "i"]

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
            self._deltas, self._grids = call["deltas"], []


def _takes_grids(module: Any) -> bool:
    try:
        return "grid_thw" in inspect.signature(module.forward).parameters
    except (TypeError, ValueError):  # a compiled forward
        return False


def _judged(call: dict[str, Any]) -> WatchedCall:
    named, count = call["named"], np.shape(call["tokens"])[1:2]
    ids = {path: each for path, each in call["ids"].items()  # drops the ids of a vision tower
           if not count or each.shape[-1:] == count}
    given = _array(named.get("position_ids"))
    if not ids:
        return WatchedCall(ids, given, call["past"], "no positions reached a rotary module", (),
                           judged=False)
    path, first = next(iter(ids.items()))
    findings: list[PositionFinding] = []
    known: dict[str, Any] = {}
    mask, bounds = named.get("attention_mask"), named.get("cu_seq_lens_q")
    mask = _array(mask) if getattr(mask, "ndim", 0) == 2 else None
    if call["deltas"] is not None:  # a later call, after a prompt with images
        held = call["past"] if mask is None else (mask[:, :-first.shape[-1]] != 0).sum(axis=1)
        known["past"] = held + call["deltas"]
    elif mask is not None:
        known["attention_mask"] = mask
    elif bounds is not None:
        known["cu_seqlens"] = _array(bounds)
    elif call["past"]:
        known["past"] = call["past"]
    try:
        prompt = _prompt_ids(call, first, mask)
        if prompt is not None:
            sentence, wrong = prompt
            return WatchedCall(ids, given, call["past"], sentence,
                               tuple(wrong + _disagreements(ids, given)))
        found = check_positions(first, dtype=call["kinds"][path], **known)
    except Error as error:
        return WatchedCall(ids, given, call["past"], f"not judged: {error}", (), judged=False)
    findings += found.findings
    findings += _disagreements(ids, given)
    return WatchedCall(ids, given, call["past"], found.sentence, tuple(findings), found.judged)


def _prompt_ids(call: dict[str, Any], seen: np.ndarray, mask: np.ndarray | None
                ) -> tuple[str, list[PositionFinding]] | None:
    """Compares the ids of prompts with images and videos with the model's convention, and keeps the
    deltas in `call`. Returns None for other prompts, and if no convention is known."""
    named, config = call["named"], call["config"]
    plain = str(getattr(config, "model_type", "")).replace("_", "")
    name = next((each for each in m_rope_conventions() if re.sub(r"\W", "", each) == plain), None)
    kinds, tokens = _array(named.get("mm_token_type_ids")), _array(call["tokens"])
    if kinds is None and tokens is not None and hasattr(config, "image_token_id"):
        kinds = (tokens == config.image_token_id) + 2 * (tokens == config.video_token_id)
    if not call["grids"] or name is None or kinds is None or call["past"] or (
            kinds.shape != seen.shape[1:]):
        return None
    grids = dict(zip(np.unique(kinds[kinds != 0]).tolist(), call["grids"]))  # 1: images, 2: videos
    real = np.ones(kinds.shape, bool) if mask is None else mask != 0
    merge = config.vision_config.spatial_merge_size
    seconds = iter(np.ravel(named.get("second_per_grid_ts", 1.0)).tolist() or [1.0])
    deltas, wrong = [], []
    for row, use in enumerate(real):
        groups = [group for kind, run in itertools.groupby(kinds[row, use].tolist())
                  for group in _groups(kind, len(list(run)), grids, merge, seconds)]
        made = m_rope_positions(groups, name, merge=merge)
        deltas.append(made.delta)
        wanted = made.positions[:, 0]
        apart = np.flatnonzero(np.any(seen[:, row, use] != wanted, axis=0))
        if apart.size:
            at, token = apart[0], int(np.flatnonzero(use)[apart[0]])
            wrong.append(PositionFinding(
                "other", row, token, f"{tuple(seen[:, row, token].tolist())}, where {name} counts "
                f"{tuple(wanted[:, at].tolist())}"))
    call["deltas"] = np.array(deltas)
    return f"{len(real)} prompts with images, beside {name} of m_rope_positions()", wrong


def _groups(kind: int, tokens: int, grids: dict[int, list], merge: int, seconds: Any) -> list:
    if not kind:
        return [TextTokenRun(tokens)]
    groups = []
    while tokens > 0:
        if not grids.get(kind):
            raise invalid("more tokens of images than their grids have")
        frames, rows, columns = grids[kind].pop(0)
        each = rows * columns // merge**2
        if kind == 1:
            groups.append(ImagePatches(rows, columns))
            frames = 1
        elif tokens < frames * each:  # the tokens of one frame, between two timestamps
            grids[kind].insert(0, [frames - 1, rows, columns])
            groups.append(VideoPatches(1, rows, columns))
            frames = 1
        else:
            groups.append(VideoPatches(frames, rows, columns,
                                       seconds_per_frame=next(seconds, 1.0)))
        tokens -= frames * each
    return groups


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
    # A model may use only some of the caller's axes.
    if given is not None and given.shape == first.shape[first.ndim - given.ndim:]:
        lost = np.any((given != first).reshape(-1, first.shape[-1]), axis=0)
        if np.any(lost):
            found.append(PositionFinding("other", 0, int(np.argmax(lost)),
                                         "the caller gave other ids than the module got"))
    return found


@checked
def watch(model: Any) -> _Watcher:
    """Records and judges the position ids that reach each rotary module inside a with block.

    >>> with rotary.watch(model) as seen:
    ...     model.generate(**inputs)
    >>> print(seen)

    model: a torch.nn.Module whose rotary modules are called with (x, position_ids).

    The ids of each call are compared with its attention_mask [batch, tokens], its cu_seq_lens_q or
    the length of its cache, and with the ids that the caller gave. Ids of a prompt with images or
    videos are compared with m_rope_positions(). watch() copies ids to the CPU, which waits for the
    device. It changes no result of the model.
    """
    if not hasattr(model, "register_forward_pre_hook"):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    return _Watcher(model)
