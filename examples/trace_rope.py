#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Saves q and k before and after rotary embedding in any Transformers model, for `rotary identify`.

    from trace_rope import trace
    with trace(model, "trace.safetensors"):
        model(input_ids)

Or run trace_rope.py CHECKPOINT_OR_CONFIG trace.safetensors [bfloat16]. It makes one layer with
random weights, because rotary embedding has none. A module's hook never sees rotated q, so this
wraps the function that the modeling code calls.
"""

import contextlib
import re
import sys

import torch
from safetensors.torch import save_file

ROTATES = re.compile(r"apply_.*(rotary|rope).*")


@contextlib.contextmanager
def trace(model, path, calls=2):
    """Saves the first `calls` calls as "0.q.before", "0.q.after", "0.positions". If known, also the
    layer "0.layer", the caller's ids "0.given" and the cached length "0.past".
    """
    saved, state = {}, {"calls": 0}

    def keep(name, tensor):
        saved[f"{state['calls']}.{name}"] = tensor.detach().cpu().contiguous().clone()

    def note_positions(_, arguments, keywords):
        for value in (*arguments, *keywords.values()):
            if isinstance(value, torch.Tensor) and value.dtype in (torch.int32, torch.int64):
                state["positions"] = value

    def note_call(_, arguments, keywords):
        cache = keywords.get("cache", keywords.get("past_key_values"))
        state["given"] = keywords.get("position_ids")
        state["past"] = torch.tensor([cache.get_seq_length() if cache is not None else 0])

    def note_layer(module, _):
        state["layer"] = torch.tensor([module.layer_idx])

    def wrapped(function):
        def call(*arguments, **keywords):
            results = function(*arguments, **keywords)
            after = results if isinstance(results, tuple) else (results,)
            before = [each for each in (*arguments, *keywords.values()) if torch.is_tensor(each)]
            if state["calls"] < calls:
                for name, one, other in zip("qk", before, after):
                    keep(f"{name}.before", one)
                    keep(f"{name}.after", other)
                for name in ("positions", "given", "past", "layer"):
                    if state.get(name) is not None:
                        keep(name, state[name])
                state["calls"] += 1
            return results
        return call

    modules = {sys.modules[type(each).__module__] for each in model.modules()}
    found = [(module, name, function) for module in modules
             for name, function in vars(module).items()
             if ROTATES.fullmatch(name) and callable(function)]
    hooks = [each.register_forward_pre_hook(note_positions, with_kwargs=True)
             for each in model.modules() if "Rotary" in type(each).__name__]
    hooks += [each.register_forward_pre_hook(note_layer) for each in model.modules()
              if isinstance(getattr(each, "layer_idx", None), int)]
    hooks.append(model.register_forward_pre_hook(note_call, with_kwargs=True))
    for module, name, function in found:
        setattr(module, name, wrapped(function))
    try:
        yield
    finally:
        for module, name, function in found:
            setattr(module, name, function)
        for hook in hooks:
            hook.remove()
        save_file(saved, path)


if __name__ == "__main__":
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.from_pretrained(sys.argv[1])
    config.num_hidden_layers, config.vocab_size, config.intermediate_size = 1, 64, 64
    config.layer_types = getattr(config, "layer_types", None) and config.layer_types[:1]
    dtype = getattr(torch, sys.argv[3] if len(sys.argv) > 3 else "float32")
    model = AutoModelForCausalLM.from_config(config, dtype=dtype).eval()
    places = torch.tensor([[0, *range(1000, 1008)]])
    with trace(model, sys.argv[2]), torch.no_grad():
        model(torch.arange(9)[None], position_ids=places, use_cache=False)
