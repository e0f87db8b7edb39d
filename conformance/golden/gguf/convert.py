#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the pairs of tests/golden/gguf/pairs: tiny random checkpoints, and reduced GGUF files that
llama.cpp's own converter makes from them. Needs torch and transformers; ./dev golden --gguf shows
the call.

    convert.py LLAMA_CPP OUTPUT [NAME...]
"""

import importlib.machinery
import json
import pathlib
import sys
import tempfile
import types

import reduce

SMALL = {"hidden_size": 128, "intermediate_size": 128, "num_attention_heads": 4,
         "num_key_value_heads": 2, "num_hidden_layers": 4, "vocab_size": 64,
         "max_position_embeddings": 8192, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 1024}
MOE = {"num_local_experts": 2, "num_experts_per_tok": 1}


def rope(theta, **keys):
    return {"rope_parameters": {"rope_type": "default", "rope_theta": theta} | keys}


# Name: configuration class, differences from SMALL.
MODELS = {
    "llama": ("LlamaConfig", rope(1e4)),
    "llama-linear": ("LlamaConfig", rope(1e4, rope_type="linear", factor=2.0)),
    "llama-3.1": ("LlamaConfig", {"rope_parameters": LLAMA3}),
    "mistral": ("MistralConfig", {"head_dim": 32} | rope(1e6)),
    "qwen2": ("Qwen2Config", rope(1e6)),
    "qwen2-yarn": ("Qwen2Config", rope(1e6, **YARN)),
    "qwen3": ("Qwen3Config", {"head_dim": 64} | rope(1e6)),
    "gemma3": ("Gemma3TextConfig", {
        "head_dim": 32, "num_hidden_layers": 6, "sliding_window": 512,
        "rope_parameters": {
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}}),
    "phi3": ("Phi3Config", {
        "original_max_position_embeddings": 2048,
        "rope_parameters": {"rope_type": "longrope", "rope_theta": 1e4,
                            "original_max_position_embeddings": 2048,
                            "short_factor": [1.0 + i / 16 for i in range(16)],
                            "long_factor": [1.0 + i / 2 for i in range(16)]}}),
    "gpt-oss": ("GptOssConfig", {
        **MOE, "head_dim": 32, "sliding_window": 128,
        "rope_parameters": {**YARN, "factor": 32.0, "original_max_position_embeddings": 4096,
                            "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
                            "rope_theta": 150000.0}, "max_position_embeddings": 131072}),
    "smollm3": ("SmolLM3Config", {"num_hidden_layers": 8} | rope(5e6)),
    "cohere2": ("Cohere2Config", {"num_hidden_layers": 8, "sliding_window": 512, "logit_scale": 1.0,
                                  "rotary_pct": 1.0} | rope(50000.0)),
    "deepseek-v2": ("DeepseekV2Config", {
        "num_key_value_heads": 4, "first_k_dense_replace": 1, "kv_lora_rank": 32,
        "q_lora_rank": None,
        "qk_rope_head_dim": 16, "qk_nope_head_dim": 16, "v_head_dim": 16, "head_dim": 16,
        "n_routed_experts": 2,
        "num_experts_per_tok": 1, "n_shared_experts": 1, "moe_intermediate_size": 64,
        "topk_method": "greedy", "n_group": 1, "topk_group": 1,
        "rope_parameters": {**YARN, "factor": 40.0, "rope_theta": 1e4, "mscale": 0.707,
                            "mscale_all_dim": 0.707, "beta_fast": 32, "beta_slow": 1}}),
    "glm4": ("Glm4Config", {"head_dim": 32} | rope(1e4, partial_rotary_factor=0.5)),
    "granite": ("GraniteConfig", rope(1e7)),
    "olmo2": ("Olmo2Config", rope(5e5)),
}


def checkpoint(name, folder):
    """Writes the model; returns its config as a dictionary."""
    import torch
    import transformers
    kind, members = MODELS[name]
    config = getattr(transformers, kind)(**{**SMALL, **members})
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    model.save_pretrained(folder)
    # Some converter classes read tokenizer.json even without a vocabulary.
    tokenizer = {"added_tokens": [], "normalizer": None, "model": {"type": "BPE", "vocab": {}}}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))


def converted(llama_cpp, folder, output):
    """Runs the converter's own class for the checkpoint, without a vocabulary."""
    sys.path[:0] = [str(llama_cpp), str(llama_cpp / "gguf-py")]
    # Stands in for a tokenizer library, which the conversion does not need.
    stub = types.ModuleType("sentencepiece")
    stub.__spec__ = importlib.machinery.ModuleSpec("sentencepiece", None)
    stub.SentencePieceProcessor = object
    sys.modules.setdefault("sentencepiece", stub)
    import gguf
    import conversion
    from conversion.base import ModelBase, ModelType
    hparams = ModelBase.load_hparams(folder, False)
    kind = conversion.get_model_class(conversion.get_model_architecture(hparams, ModelType.TEXT))
    kind.set_vocab = lambda self: None
    instance = kind(folder, gguf.LlamaFileType.ALL_F32, output)
    instance.write()


def main():
    llama_cpp, output = (pathlib.Path(each).resolve() for each in sys.argv[1:3])
    for name in sys.argv[3:] or MODELS:
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            config = checkpoint(name, folder)
            converted(llama_cpp, folder, folder / "model.gguf")
            made = reduce.reduced(folder / "model.gguf")
        (output / f"{name}.gguf").write_bytes(made)
        text = json.dumps(config, indent=1, sort_keys=True) + "\n"
        (output / f"{name}.json").write_text(text, encoding="utf-8")
        print(name, len(made), flush=True)


if __name__ == "__main__":
    main()
