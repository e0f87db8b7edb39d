# SPDX-License-Identifier: Apache-2.0
"""Small configs of a family, in each form and rule that a config.json may have."""

THETA = 50000.0
SMALL = {"vocab_size": 512, "hidden_size": 256, "intermediate_size": 128, "num_hidden_layers": 6,
         "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 64, "pad_token_id": 0,
         "bos_token_id": 1, "eos_token_id": 2, "moe_intermediate_size": 64, "num_experts": 4,
         "num_local_experts": 4, "n_routed_experts": 4, "num_experts_per_tok": 2,
         "n_shared_experts": 1, "n_group": 1, "topk_group": 1, "moe_topk": 1,
         "shared_expert_intermediate_size": 64, "q_lora_rank": 48, "kv_lora_rank": 32,
         "qk_rope_head_dim": 16, "qk_nope_head_dim": 32, "v_head_dim": 32, "index_topk": 4,
         "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
         "sliding_window": 512, "num_nextn_predict_layers": 0}
# Sizes with another meaning here: shrunk, they contradict each other.
KEPT = {"zamba2": ("head_dim",), "recurrent_gemma": ("head_dim",)}
# Keys that a family needs besides, to rotate or to be built this small.
MORE = {"esm": {"position_embedding_type": "rotary", "mask_token_id": 3},
        "granitemoehybrid": {"position_embedding_type": "rope", "layer_types": ["attention"] * 6},
        "falcon": {"alibi": False}, "zamba2": {"use_mem_rope": True},
        "bamba": {"attn_layer_indices": [0, 2, 4]}, "gptj": {"rotary_dim": 32},
        "codegen": {"rotary_dim": 32}, "jetmoe": {"kv_channels": 64},
        "longcat_flash": {"head_dim": 16},
        "mimi": {"upsample_groups": 256}, "chameleon": {"vocabulary_map": {"<image>": 4}},
        "dbrx": {"attn_config": {"clip_qkv": 8.0, "kv_n_heads": 4, "rope_theta": THETA},
                 "ffn_config": {"ffn_hidden_size": 64, "moe_num_experts": 4, "moe_top_k": 2}}}
# Their rope dictionary must say how many pairs each axis has.
SECTIONS = {"mrope_section": [8, 12, 12]}
WITH_SECTIONS = ("qwen2_vl_text", "qwen2_5_vl_text", "qwen2_5_omni_text", "qwen2_5_omni_talker",
                 "qwen3_vl_text", "qwen3_vl_moe_text", "qwen3_omni_moe_text", "paddleocr_vl_text",
                 "qwen3_omni_moe_talker_text", "cosmos3_edge_text")


def base_of(family, config_class):
    """The family's smallest config.json, by the names of the release's own class."""
    default = config_class()
    names = getattr(config_class, "attribute_map", None) or {}
    base = {"model_type": family, "pad_token_id": 0}
    for key, value in SMALL.items():
        is_computed = isinstance(getattr(config_class, key, None), property)
        if hasattr(default, key) and not is_computed and key not in KEPT.get(family, ()):
            base[names.get(key, key)] = value
    if "qk_rope_head_dim" in base:
        base.pop("head_dim", None)
    return base | MORE.get(family, {})


def labels_of(config_class, base):
    """The layer types that nested rope parameters are given by; none where layers are alike."""
    default = config_class(**base)
    rope = getattr(default, "rope_parameters", None) or {}
    nested = [label for label, each in rope.items() if isinstance(each, dict)]
    types = set(getattr(default, "layer_types", None) or ())
    if hasattr(default, "sliding_window_pattern") or hasattr(default, "global_attn_every_n_layers"):
        types |= {"full_attention", "sliding_attention"}
    return nested or sorted(each for each in types if isinstance(each, str))


def rules(family, pairs):
    """rule -> its keys, and those beside the dictionary."""
    axes = SECTIONS if family in WITH_SECTIONS else {}
    return {rule: (keys | axes, beside)
            for rule, (keys, beside) in rules_of_one_axis(pairs).items()}


def rules_of_one_axis(pairs):
    short = [1 + 0.01 * i for i in range(pairs)]
    trained = {"max_position_embeddings": 2048}
    return {
        "default": ({}, trained),
        "linear": ({"factor": 4.0}, trained),
        "dynamic": ({"factor": 2.0}, {"max_position_embeddings": 64}),
        "yarn": ({"factor": 8.0, "original_max_position_embeddings": 512}, trained),
        "llama3": ({"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                    "original_max_position_embeddings": 512}, trained),
        "longrope": ({"factor": 8.0, "short_factor": short,
                      "long_factor": [3 * each for each in short],
                      "original_max_position_embeddings": 64}, {"max_position_embeddings": 128}),
    }


def calls_of(rule):
    """Tokens of the calls, one after the other."""
    return {"dynamic": [23, 149, 101, 23], "longrope": [23, 149]}.get(rule, [7])


def first_case(base):
    """Tells how many pairs turn."""
    return "plain:default", "", base | {"rope_theta": THETA, "max_position_embeddings": 2048}


def cases(base, labels, pairs):
    """(cell, what is tried of it, config); a cell holds if each of its configs does."""
    plain = first_case(base)[2]
    without_base = {key: value for key, value in plain.items() if key != "rope_theta"}
    yield "plain:default", "no base", without_base
    yield "plain:default", "rope_scaling null", plain | {"rope_scaling": None}
    yield "plain:default", "another head_dim", plain | {"head_dim": 48}
    for rule, (keys, beside) in rules(base["model_type"], pairs).items():
        body = {"rope_type": rule} | keys
        inner = body | {"rope_theta": THETA}
        yield f"scaling_type:{rule}", "", plain | beside | {"rope_scaling": {"type": rule} | keys}
        yield f"scaling_rope_type:{rule}", "", plain | beside | {"rope_scaling": body}
        yield f"parameters_flat:{rule}", "", without_base | beside | {"rope_parameters": inner}
        other = body | {"rope_theta": 20000.0}
        yield f"both:{rule}", "", plain | beside | {"rope_scaling": body, "rope_parameters": other}
        if labels:
            nested = {label: inner | {"rope_theta": THETA / (i + 1)}
                      for i, label in enumerate(labels)}
            yield (f"parameters_nested:{rule}", "",
                   without_base | beside | {"rope_parameters": nested})
        if rule == "longrope":
            lists = {"type": rule} | {key: keys[key] for key in ("short_factor", "long_factor")}
            outside = beside | {"original_max_position_embeddings": 64}
            yield f"scaling_type:{rule}", "lists alone", plain | outside | {"rope_scaling": lists}
    if base["model_type"] in WITH_SECTIONS:
        yield "scaling_type:other", "", plain | {"rope_scaling": {"type": "mrope"} | SECTIONS}
    yield from variants(plain, without_base)


def variants(plain, without_base):
    half = {"partial_rotary_factor": 0.5}
    axes = SECTIONS if plain["model_type"] in WITH_SECTIONS else {}
    for rule in ({"rope_type": "default"}, {"rope_type": "linear", "factor": 4.0}):
        rule = rule | axes
        scaled = {} if rule["rope_type"] == "default" else {"rope_scaling": rule}
        name = rule["rope_type"]
        inner = rule | {"rope_theta": THETA}
        yield "partial_outer", f"{name} beside rope_scaling", plain | half | scaled
        yield "partial_outer", f"{name} beside rope_parameters", (
            without_base | half | {"rope_parameters": inner})
        yield "partial_inner", f"{name} in rope_scaling", plain | {"rope_scaling": rule | half}
        yield "partial_inner", f"{name} in rope_parameters", (
            without_base | {"rope_parameters": inner | half})
        yield "two_thetas", f"{name} in rope_scaling", plain | {
            "rope_scaling": rule | {"rope_theta": 20000.0}}
        yield "two_thetas", f"{name} in rope_parameters", plain | {
            "rope_parameters": rule | {"rope_theta": 20000.0}}
