# SPDX-License-Identifier: Apache-2.0
"""Computes frequencies and factor from configs as an engine's source does (second_route.py)."""

import math

import numpy as np


def of_formula(engine, case):
    """Returns [frequencies, factor] by call and rope, or an exception's name; None if unknown."""
    text = case["config"].get("text_config", case["config"])
    rope = text.get("rope_parameters") or text.get("rope_scaling") or {}
    theta = rope.get("rope_theta", text.get("rope_theta"))
    formula = FORMULAS.get((engine, rope.get("rope_type", rope.get("type", "default"))))
    # Defaults of conversion/glm.py, and of Qwen 3.5's configuration class.
    whole = next((part for family, part in (("glm", 0.5), ("qwen3_5", 0.25))
                  if text["model_type"].startswith(family)), 1)
    if engine == "vllm" and case["cell"].startswith("both"):
        return None  # the model decides which one it reads
    if engine == "onnxruntime" and text["model_type"] in ("llama", "smollm3"):
        formula = {linear: plain}.get(formula, formula)  # llama.py
    if formula is None or not text.get("head_dim") or theta is None:
        return None
    factors = {"partial_rotary_factor": whole} | text | rope
    size = int(text["head_dim"] * factors["partial_rotary_factor"])
    if isinstance(formula, str):
        return formula
    inv_freq, factor = formula(theta ** (-np.arange(0, size, 2) / size), theta, rope, text)
    return [[[inv_freq.tolist(), factor]]] * len(case["calls"])


def llama3(inv_freq, _, rope, __):
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    turns = rope["original_max_position_embeddings"] * inv_freq / (2 * math.pi)
    kept = np.clip((turns - low) / (high - low), 0, 1)
    return inv_freq * (kept + (1 - kept) / rope["factor"]), 1.0


def yarn_of_ggml(inv_freq, theta, rope, _):
    """ggml_rope_yarn_corr_dims, rope_yarn, and the factor of llama-context.cpp."""
    size, original = 2 * len(inv_freq), rope["original_max_position_embeddings"]
    low, high = (size * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(theta))
                 for turns in (32, 1))
    low, high = max(0, math.floor(low)), min(size - 1, math.ceil(high))
    slowed = np.clip((np.arange(size // 2) - low) / max(0.001, high - low), 0, 1)
    return inv_freq * (slowed / rope["factor"] + 1 - slowed), 1 + 0.1 * math.log(rope["factor"])


def long_list(inv_freq, _, rope, text):
    """phi3_long_rope_scaled_rope.py. A length outside the dictionary replaces the one inside."""
    original = (rope | text)["original_max_position_embeddings"]
    ratio = text["max_position_embeddings"] / original
    factors = rope["long_factor" if ratio > 1 else "short_factor"]
    return (inv_freq / np.array(factors),
            math.sqrt(1 + math.log(max(ratio, 1)) / math.log(original)))


def yarn_of_vllm(inv_freq, theta, rope, _):
    """yarn_scaling_rope.py; without attention_factor, the ratio of both mscales."""
    size, original = 2 * len(inv_freq), rope["original_max_position_embeddings"]
    low, high = (size * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(theta))
                 for turns in (rope.get("beta_fast", 32), rope.get("beta_slow", 1)))
    if rope.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, size - 1)
    slowed = np.clip((np.arange(size // 2) - low) / ((high - low) or 0.001), 0, 1)
    grown = 0.1 * math.log(rope["factor"])
    one, other = rope.get("mscale"), rope.get("mscale_all_dim")
    factor = (grown * one + 1) / (grown * other + 1) if one and other else grown + 1
    return (inv_freq * (slowed / rope["factor"] + 1 - slowed),
            rope.get("attention_factor") or factor)


def plain(inv_freq, *_):
    return inv_freq, 1.0


def linear(inv_freq, _, rope, __):
    return inv_freq / rope["factor"], 1.0


# Sources. llama.cpp: conversion/base.py. vLLM: get_rope beyond the original context; its dynamic
# rule keeps the base, because it gets the trained context. onnxruntime-genai: make_rope_init of
# base.py, and of llama.py, which reads only llama3.
FORMULAS = {
    ("llama_cpp", "default"): plain, ("llama_cpp", "linear"): linear,
    ("llama_cpp", "yarn"): yarn_of_ggml,
    ("vllm", "default"): plain, ("vllm", "linear"): linear, ("vllm", "dynamic"): plain,
    ("vllm", "yarn"): yarn_of_vllm, ("vllm", "llama3"): llama3, ("vllm", "longrope"): long_list,
    ("onnxruntime", "default"): plain, ("onnxruntime", "linear"): linear,
    ("onnxruntime", "llama3"): llama3, ("onnxruntime", "dynamic"): "NotImplementedError"}
