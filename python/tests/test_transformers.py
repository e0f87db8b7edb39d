# SPDX-License-Identifier: Apache-2.0
"""Patches tiny models of Transformers 5, of families with different rules and table layouts."""

import itertools

import numpy as np
import pytest
import rotary

torch = pytest.importorskip("torch", reason="torch is not installed: ./dev python --torch runs it")
transformers = pytest.importorskip(
    "transformers", minversion="5.0",
    reason="transformers 5 is not installed: ./dev python --torch runs it")

FAR = 100_000
SMALL = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
         "num_hidden_layers": 2, "intermediate_size": 64, "vocab_size": 64, "pad_token_id": 0,
         "max_position_embeddings": 131072}
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 32.0, "beta_fast": 32.0,
        "beta_slow": 1.0, "original_max_position_embeddings": 4096}
LATENT = {"q_lora_rank": 32, "kv_lora_rank": 32, "qk_rope_head_dim": 16, "qk_nope_head_dim": 16,
          "v_head_dim": 16, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 2,
          "topk_group": 1, "moe_intermediate_size": 32, "first_k_dense_replace": 1,
          "num_key_value_heads": 4}
MOE = {"num_local_experts": 4, "num_experts_per_tok": 2, "head_dim": 16, "sliding_window": 16}
FAMILIES = {
    "Llama": ({"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}, False),
    "Qwen3": ({"head_dim": 32, "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}},
              False),
    "Gemma3": ({"head_dim": 32, "layer_types": ["sliding_attention", "full_attention"]}, True),
    "Phi3": ({"original_max_position_embeddings": 4096, "rope_parameters": {
        "rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0 + i / 8 for i in range(8)],
        "long_factor": [2.0 + i for i in range(8)], "original_max_position_embeddings": 4096}},
        False),
    "DeepseekV3": ({**LATENT, "rope_parameters": {**YARN, "mscale": 1.0, "mscale_all_dim": 1.0}},
                   False),
    "GptOss": ({**MOE, "rope_parameters": {**YARN, "truncate": False, "rope_theta": 150000.0}},
               False),
    "Cohere": ({"rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}, False),
    "Glm": ({"head_dim": 16, "rope_parameters": {
        "rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}}, False),
}


def tiny(family):
    options, is_text = FAMILIES[family]
    config_class = getattr(transformers, f"{family}TextConfig" if is_text else f"{family}Config")
    torch.manual_seed(0)
    config = config_class(**{**SMALL, **options})
    model = getattr(transformers, f"{family}ForCausalLM")(config).eval().float()
    return model, model.model.rotary_emb


def logits(model, first):
    positions = torch.arange(first, first + 8)[None]
    with torch.no_grad():
        return model(torch.arange(1, 9)[None], position_ids=positions).logits


def wide_tables(module, ids, *layer_type):
    """Returns cos, sin and frequencies, in float64 from the float32 frequencies of the class."""
    prefix = f"{layer_type[0]}_" if layer_type else ""
    frequencies = getattr(module, f"{prefix}inv_freq").double()
    factor = getattr(module, f"{prefix}attention_scaling")
    angles = ids[..., None].double() * frequencies
    return factor * angles.cos(), factor * angles.sin(), frequencies


@pytest.mark.filterwarnings("ignore::rotary.ModelWarning")
@pytest.mark.parametrize("family", FAMILIES)
def test_patched_logits_differ_by_the_rounding_of_angles_at_most(family):
    model, module = tiny(family)
    before = {first: logits(model, first) for first in (0, FAR)}
    types = (("full_attention",), ("sliding_attention",)) if family == "Gemma3" else ((),)
    with rotary.transformers.patch(model) as undo:
        assert undo.patched == [module] and undo.skipped == []
        for layer_type in types:
            x, ids = torch.zeros(1, 8, 64), torch.arange(FAR, FAR + 8)[None]
            if family == "Phi3":  # the class now has long-context frequencies
                type(module).forward(module, x, ids)
            made = module(x, ids, *layer_type)
            cos, sin, frequencies = wide_tables(module, ids, *layer_type)
            pairs = cos.shape[-1]
            step = made[0].shape[-1] // pairs if family == "Cohere" else 1
            # The class's float32 frequency has a relative error below 2^-21. The error of an angle
            # grows with the position. cos and sin in float32 add 1e-6.
            bound = (FAR + 8) * frequencies * 2.0**-21 + 1e-6
            for row, expected in zip(made, (cos, sin)):
                assert bool(((row[..., ::step][..., :pairs] - expected).abs() <= bound).all())
        near, far = logits(model, 0), logits(model, FAR)
    size = before[0].abs().max()
    assert (near - before[0]).abs().max() < 1e-5 * size
    assert (far - before[FAR]).abs().max() < 0.05 * size
    assert not torch.equal(far, before[FAR]), "float32 angles are inexact at FAR"
    assert torch.equal(logits(model, FAR), before[FAR]), "undone"


def test_far_tables_are_exact_unlike_the_originals():
    model, module = tiny("Llama")
    ids = torch.arange(FAR, FAR + 8)[None]
    x = torch.zeros(1, 8, 64)
    original = module(x, ids)[0].double()
    rotary.transformers.patch(model)
    exact = module(x, ids)[0].double()
    angles = np.outer(np.arange(FAR, FAR + 8), 5e5 ** (-np.arange(0, 16, 2) / 16))
    expected = torch.from_numpy(np.cos(np.concatenate((angles, angles), -1)))[None]
    assert (exact - expected).abs().max() < 1e-7
    assert (original - expected).abs().max() > 1e-4
    assert module(x.bfloat16(), ids)[0].dtype == torch.bfloat16
    assert not exact.requires_grad


def test_three_axes_of_a_vision_language_model_are_patched():
    from transformers.models.qwen2_vl import modeling_qwen2_vl as source

    config = transformers.Qwen2VLConfig(text_config={
        **SMALL, "rope_parameters": {"rope_type": "default", "rope_theta": 1e6,
                                     "mrope_section": [2, 3, 3]}}).get_text_config()
    module = source.Qwen2VLRotaryEmbedding(config)
    ids = torch.stack([torch.arange(6)[None] * factor for factor in (1, 2, 3)])
    before = module(torch.zeros(1, 6, 64), ids)
    with rotary.transformers.patch(torch.nn.ModuleList([module])):
        for made, expected in zip(module(torch.zeros(1, 6, 64), ids), before):
            assert made.shape == expected.shape
            torch.testing.assert_close(made, expected, rtol=0, atol=3e-6)


def test_exact_class_and_mapping_patch_later_models():
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
    from transformers.monkey_patching import (
        apply_patches, clear_patch_mapping, register_patch_mapping)

    exact = tiny("Llama")[0]
    rotary.transformers.patch(exact)
    expected, original = logits(exact, FAR), logits(tiny("Llama")[0], FAR)
    undo = rotary.transformers.patch(LlamaRotaryEmbedding)
    assert torch.equal(logits(tiny("Llama")[0], FAR), expected)
    undo()
    undo()
    assert torch.equal(logits(tiny("Llama")[0], FAR), original)
    register_patch_mapping(rotary.transformers.mapping(LlamaRotaryEmbedding))
    with apply_patches():
        model, module = tiny("Llama")
    clear_patch_mapping()
    assert type(module).__name__ == "ExactLlamaRotaryEmbedding"
    assert torch.equal(logits(model, FAR), expected)


def test_a_config_changed_after_construction_is_refused():
    model, module = tiny("Llama")
    module.config.rope_parameters["rope_theta"] = 1e4
    with pytest.raises(rotary.Error, match="LlamaRotaryEmbedding must return, at positions 0 to 3"):
        rotary.transformers.patch(model)
    assert "forward" not in vars(module)
    with pytest.raises(rotary.Error, match="target must have a rotary module with a config"):
        rotary.transformers.patch(torch.nn.Linear(2, 2))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_class_whose_tables_are_nan_or_infinite_anywhere_is_refused(value, monkeypatch):
    model, module = tiny("Llama")
    original = type(module).forward
    elements = original(module, torch.zeros(1, 4, 1), torch.arange(4)[None])[0].numel()
    for table, place in itertools.product(range(2), range(elements)):
        def spoiled(self, x, ids):
            tables = original(self, x, ids)
            tables[table].view(-1)[place] = value
            return tables

        monkeypatch.setattr(type(module), "forward", spoiled)
        with pytest.raises(rotary.Error, match="LlamaRotaryEmbedding must return, at positions"):
            rotary.transformers.patch(model)
        assert "forward" not in vars(module)


def test_a_pretrained_config_resolves_like_its_file():
    config = transformers.LlamaConfig(**SMALL, rope_parameters={
        "rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})
    spec = rotary.resolve(config).rotary[0].spec
    assert spec == rotary.resolve(config.to_json_string()).rotary[0].spec
    assert spec.scaling["rope_type"] == "llama3" and spec.head_dim == 16


def test_a_patched_model_trains_like_the_original():
    def losses(patched):
        model, _ = tiny("Llama")
        if patched:
            rotary.transformers.patch(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        ids = torch.arange(1, 33)[None]
        seen = []
        for _ in range(10):
            loss = model(ids, labels=ids).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen.append(loss.item())
        return seen

    np.testing.assert_allclose(losses(True), losses(False), rtol=1e-5)


@pytest.mark.parametrize("family", ["Llama", "GptOss", "Phi3"])
def test_a_model_with_cast_buffers_gets_tables_of_its_spec(family):
    model, _ = tiny(family)
    model = model.to(torch.bfloat16)
    undo = rotary.transformers.patch(model)
    [module] = undo.patched
    spec = rotary.resolve(model.config).rotary[0].spec
    f = spec.frequencies(1 if spec.depends_on_context else None)
    cos, _ = module(torch.zeros(1, 8, 1), torch.arange(3000, 3008)[None])
    wanted = f.attention_factor * np.cos(np.arange(3000, 3008)[:, None] * f.inv_freq)
    np.testing.assert_allclose(cos[0, :, :f.inv_freq.size], wanted, atol=1e-6)
    undo()
    for buffer in module.buffers():
        buffer.mul_(2)  # doubling does not round
    with pytest.raises(rotary.Error, match="the nearest is"):
        rotary.transformers.patch(model)


@pytest.mark.parametrize("family", ["GPTJ", "CodeGen"])
def test_classes_without_a_config_use_the_config_of_the_model(family):
    config = getattr(transformers, f"{family}Config")(
        n_embd=64, n_head=4, n_layer=2, vocab_size=64, rotary_dim=8, n_positions=256,
        bos_token_id=1, eos_token_id=2)
    torch.manual_seed(0)
    model = transformers.AutoModel.from_config(config).eval()
    with torch.no_grad():
        before = model(torch.arange(9)[None]).last_hidden_state
        with rotary.transformers.patch(model) as undo:
            assert len(undo.patched) == 1 and not undo.skipped
            after = model(torch.arange(9)[None]).last_hidden_state
        far = torch.full((1, 1), 200)
        module = undo.patched[0]
        theirs = module(torch.zeros(1, 1, 1), far)
        rotary.transformers.patch(model)
        ours = module(torch.zeros(1, 1, 1), far)
    torch.testing.assert_close(after, before, rtol=0, atol=1e-5)
    for one, other in zip(ours, theirs):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-4)
