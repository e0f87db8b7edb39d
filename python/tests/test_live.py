# SPDX-License-Identifier: Apache-2.0
"""check() and watch() name faults planted in live models, and find none in healthy ones."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import rotary

torch = pytest.importorskip("torch", reason="torch is not installed: ./dev python --torch runs it")
transformers = pytest.importorskip(
    "transformers", minversion="5.0",
    reason="transformers 5 is not installed: ./dev python --torch runs it")

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests/support"))

SMALL = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
         "num_hidden_layers": 6, "intermediate_size": 64, "vocab_size": 64, "pad_token_id": 0,
         "bos_token_id": 1, "eos_token_id": 2, "max_position_embeddings": 256}
LATENT = {"q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 16, "qk_nope_head_dim": 8,
          "v_head_dim": 8, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1,
          "topk_group": 1, "moe_intermediate_size": 16}
VISION = {"depth": 1, "hidden_size": 64, "num_heads": 2, "intermediate_size": 32,
          "out_hidden_size": 64}
FAMILIES = {
    "llama": SMALL,
    "gemma3_text": {**SMALL, "head_dim": 16},
    "qwen3": {**SMALL, "head_dim": 16},
    "phi3": SMALL,
    "deepseek_v3": {**SMALL, **LATENT},
    "gpt_oss": {**SMALL, "num_local_experts": 2, "head_dim": 16},
    "qwen2_5_vl": {"text_config": {**SMALL, "rope_parameters": {
        "rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 3, 3]}},
        "vision_config": VISION},
    "modernbert": {**SMALL, "cls_token_id": 1, "sep_token_id": 2},
}


def tiny(family, **options):
    torch.manual_seed(0)
    return transformers.AutoModel.from_config(
        transformers.AutoConfig.for_model(family, **FAMILIES[family]), **options)


def frequencies(model):
    for module in model.modules():
        for name, tensor in module._buffers.items():
            if name.endswith("inv_freq") and "original" not in name:
                yield tensor


def zero(tensor):
    tensor.zero_()


def uninitialised(tensor):
    bits = torch.randint(2**30, 2**31 - 1, tensor.shape, dtype=torch.int32)
    tensor.copy_(bits.view(torch.float32))


def of_base(tensor):
    tensor.copy_(777.0 ** (-torch.arange(tensor.numel()) / tensor.numel()))


def halves(tensor):
    tensor.copy_(tensor.roll(tensor.numel() // 2))


def narrow(tensor):
    tensor.copy_(tensor.bfloat16())


FAULTS = {"zero": (zero, "zero", "all zero"),
          "uninitialised": (uninitialised, "uninitialised", "uninitialised memory"),
          "base": (of_base, "other_numbers", "those of base 777, where the config has"),
          "halves": (halves, "other_numbers", "with their halves swapped"),
          "bfloat16": (narrow, "rounded", "rounded to bfloat16")}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_healthy_model_has_no_finding(family, dtype):
    found = rotary.check(tiny(family, dtype=dtype))
    assert found.verdict == "no_fault", found
    assert not found.not_judged


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_named_and_nothing_changes(family, fault):
    plant, kind, words = FAULTS[fault]
    model = tiny(family)
    for tensor in frequencies(model):
        plant(tensor)
    before = [tensor.clone() for tensor in frequencies(model)]
    found = rotary.check(model)
    assert found.verdict == "faults"
    assert {each.kind for each in found.findings} == {kind}, found
    assert all(words in each.sentence for each in found.findings)
    named = {name for each in found.findings for name in each.names}
    assert len(named) == len(before)
    for one, other in zip(before, frequencies(model)):
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)


def test_rounding_by_a_cast_is_named_and_its_advice_repairs_it():
    model = tiny("llama").to(torch.bfloat16)
    [finding] = rotary.check(model).findings
    assert finding.kind == "rounded"
    statement = finding.advice.partition(": ")[2]
    exec(statement, {"model": model})
    assert rotary.check(model).verdict == "no_fault"


def test_frequencies_of_another_layer_type_are_named():
    model = tiny("gemma3_text")
    buffers = model.rotary_emb._buffers
    buffers["full_attention_inv_freq"].copy_(buffers["sliding_attention_inv_freq"])
    [finding] = rotary.check(model).findings
    assert (finding.kind, finding.names) == ("other_layer_type",
                                             ("rotary_emb.full_attention_inv_freq",))
    assert "sliding_attention" in finding.sentence


def test_a_wrong_attention_factor_and_sin_before_cos_are_named():
    model = tiny("gpt_oss")
    model.rotary_emb.attention_scaling = 1.0
    [finding] = rotary.check(model).findings
    assert finding.kind == "attention_factor" and "1, where the config gives 1.346" in str(finding)
    model = tiny("qwen3")
    forward = model.rotary_emb.forward
    model.rotary_emb.forward = lambda *arguments: forward(*arguments)[::-1]
    [finding] = rotary.check(model).findings
    assert finding.names == ("rotary_emb.forward",) and "sin, cos" in finding.sentence


@pytest.mark.parametrize("rule", [
    {"rope_type": "dynamic", "factor": 2.0},
    {"rope_type": "longrope", "short_factor": [1.0 + i / 8 for i in range(8)],
     "long_factor": [2.0 + i for i in range(8)], "original_max_position_embeddings": 64}])
def test_frequencies_left_by_a_longer_call_are_stale(rule):
    config = transformers.AutoConfig.for_model("phi3" if "long_factor" in rule else "llama", **{
        **SMALL, "max_position_embeddings": 64, "original_max_position_embeddings": 64,
        "rope_parameters": {"rope_theta": 1e4, **rule}})
    model = transformers.AutoModel.from_config(config)
    assert rotary.check(model).verdict == "no_fault"
    with torch.no_grad():
        model(torch.zeros(1, 200, dtype=torch.long))
    found = rotary.check(model)
    assert [each.kind for each in found.findings] == ["stale"], found
    assert ("beyond 64" if "long_factor" in rule else "of 200") in found.findings[0].sentence


class Layers(torch.nn.Module):
    """A model with tables in each layer, as in Llama's original code."""

    def __init__(self, make):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Module() for _ in range(5))
        for at, layer in enumerate(self.layers):
            angle = torch.outer(torch.arange(600.0), 1e4 ** (-torch.arange(8) / 8))
            make(layer, angle, at)


def complex_tables(layer, angle, at):
    layer.register_buffer("freqs_cis", torch.polar(torch.ones_like(angle), angle))


def litgpt_tables(layer, angle, at):
    for name, function in (("cos", torch.cos), ("sin", torch.sin)):
        layer.register_buffer(name, function(torch.cat((angle, angle), -1)).bfloat16())


def torchtune_cache(layer, angle, at):
    layer.register_buffer("cache", torch.stack((angle.cos(), angle.sin()), -1))


def vllm_cache(layer, angle, at):
    layer.register_buffer("cos_sin_cache", torch.cat((angle.cos(), angle.sin()), -1))


@pytest.mark.parametrize("make", [complex_tables, litgpt_tables, torchtune_cache, vllm_cache])
def test_wrong_tables_of_plain_modules_are_found(make):
    spec = rotary.RotarySpec(head_dim=16, base=1e4, pairing="half")
    model = Layers(make)
    assert rotary.check(model, spec=spec).verdict == "no_fault"
    assert rotary.check(model, config={**SMALL, "model_type": "llama"}).verdict == "no_fault"
    unknown = rotary.check(model)
    assert unknown.verdict == "unknown" and "give spec=" in str(unknown)
    broken = Layers(lambda layer, angle, at: make(
        layer, angle if at != 3 else (torch.arange(600.0).bfloat16().float()[:, None]
                                      * 1e4 ** (-torch.arange(8) / 8)), at))
    [finding] = rotary.check(broken, spec=spec).findings
    assert finding.kind == "rounded" and "from position 257 on" in finding.sentence
    assert all(name.startswith("layers.3.") for name in finding.names)


def test_tables_of_an_unknown_layout_are_listed_and_not_judged():
    spec = rotary.RotarySpec(head_dim=16, base=1e4, pairing="half")
    model = Layers(lambda layer, angle, at: layer.register_buffer("cos_cached", angle[None].cos()))
    found = rotary.check(model, spec=spec)
    assert found.verdict == "unknown"
    assert "layers.0-4.cos_cached: no layout of tables is known for [1, 600, 8]" in str(found)


def test_tensors_without_numbers_are_not_judged():
    with torch.device("meta"):
        model = tiny("llama")
    found = rotary.check(model)
    assert found.verdict == "unknown" and "meta device" in str(found)
    found = rotary.check(torch.nn.Linear(2, 2))
    assert found.verdict == "unknown" and not found.not_judged
    with pytest.raises(TypeError, match="must be a torch.nn.Module"):
        rotary.check(3)
    compiled = torch.compile(tiny("llama"))
    assert rotary.check(compiled).judged == rotary.check(tiny("llama")).judged


SHARDED = """
import sys, torch, transformers, rotary
from torch import distributed
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor, init_device_mesh
rank, store, small = int(sys.argv[1]), sys.argv[2], eval(sys.argv[3])
distributed.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)
mesh = init_device_mesh("cpu", (2,))
config = transformers.AutoConfig.for_model("llama", **small)
for factor in (1, 0):
    for placement in (None, Replicate(), Shard(0)):
        model = transformers.AutoModel.from_config(config)
        held = model.rotary_emb._buffers
        held["inv_freq"] *= factor
        if placement is None:
            fully_shard(model, mesh=mesh)
        else:
            held["inv_freq"] = distribute_tensor(held["inv_freq"], mesh, [placement])
        found = rotary.check(model)
        print(found.verdict, found.not_judged.get("rotary_emb.inv_freq"))
distributed.destroy_process_group()
"""


def test_sharded_models_are_judged_in_each_process(tmp_path):
    programs = [subprocess.Popen(
        [sys.executable, "-c", SHARDED, str(rank), str(tmp_path / "store"), repr(SMALL)],
        stdout=subprocess.PIPE, text=True) for rank in range(2)]
    part = "it is sharded over processes, and one of them sees a part"
    for program in programs:
        lines = program.communicate(timeout=300)[0].splitlines()
        assert program.returncode == 0
        assert lines == ["no_fault None", "no_fault None", f"no_fault {part}",
                         "faults None", "faults None", f"no_fault {part}"]


def test_wrapped_modules_keep_their_paths():
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
    model = tiny("llama")
    model.rotary_emb = checkpoint_wrapper(model.rotary_emb)
    assert rotary.check(model).judged == rotary.check(tiny("llama")).judged


def test_tables_of_a_diffusion_transformer_are_judged():
    diffusers = pytest.importorskip("diffusers")
    model = diffusers.WanTransformer3DModel(
        num_attention_heads=2, attention_head_dim=24, in_channels=4, out_channels=4, text_dim=16,
        freq_dim=16, ffn_dim=32, num_layers=1)
    assert rotary.check(model).verdict == "no_fault"
    model.rope.freqs_cos.mul_(-1)
    assert rotary.check(model).verdict == "faults"


def test_answers_fit_their_schemas():
    pytest.importorskip("jsonschema")
    from schemas import validate
    model = tiny("llama").to(torch.bfloat16)
    validate(json.loads(rotary.check(model).to_json()), "live-check")
    seen = watched(model, lambda: model(torch.ones(1, 4, dtype=torch.long),
                                        position_ids=torch.tensor([[0, 1, 1, 2]])))
    assert seen.findings
    validate(json.loads(seen.to_json()), "watch")


@pytest.fixture(scope="module")
def llama():
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(
        transformers.AutoConfig.for_model("llama", **SMALL)).eval()


TOKENS = torch.arange(14).reshape(2, 7) + 3
PADDED = torch.tensor([[0, 0, 1, 1, 1, 1, 1], [1] * 7])


def watched(model, *calls):
    with rotary.watch(model) as seen, torch.no_grad():
        for call in calls:
            call()
    return seen


def test_watch_sees_each_call_of_generate(llama):
    seen = watched(llama, lambda: llama.generate(
        TOKENS, attention_mask=PADDED, max_new_tokens=4, do_sample=False))
    assert seen.verdict == "no_fault" and len(seen.calls) == 4
    [ids] = seen.calls[3].ids.values()
    np.testing.assert_array_equal(ids, [[7], [9]])
    assert [call.past for call in seen.calls] == [0, 7, 8, 9]


def test_watch_names_counted_padding(llama):
    seen = watched(llama, lambda: llama(TOKENS, attention_mask=PADDED))
    [(call, finding)] = seen.findings
    assert (call, finding.kind, finding.row, finding.token) == (0, "padding_counted", 0, 2)


@pytest.mark.parametrize("ids, kind", [
    ([0, 1, 2, 0, 1, 2, 3], None), (list(range(7)), "no_restart"),
    ([0, 1, 2, 1, 2, 3, 4], "other")])
def test_watch_judges_a_packed_step(llama, ids, kind):
    seen = watched(llama, lambda: llama(TOKENS[:1], position_ids=torch.tensor([ids]),
                                        cu_seq_lens_q=torch.tensor([0, 3, 7])))
    assert [each.kind for _, each in seen.findings] == ([kind] if kind else [])


@pytest.mark.parametrize("off", [0, 1, -1])
def test_watch_judges_a_chunked_prefill(llama, off):
    cache = transformers.DynamicCache()
    seen = watched(
        llama, lambda: llama(TOKENS[:1, :4], cache=cache, use_cache=True),
        lambda: llama(TOKENS[:1, 4:], cache=cache, use_cache=True,
                      position_ids=torch.arange(4, 7)[None] + off))
    wanted = [(1, "offset")] if off else []
    assert [(call, each.kind) for call, each in seen.findings] == wanted
    assert len(seen.calls) == 2


def test_watch_names_rounded_and_lost_ids(llama):
    ids = torch.arange(200, 300, dtype=torch.bfloat16)[None]
    seen = watched(llama, lambda: llama(torch.ones_like(ids, dtype=torch.long), position_ids=ids))
    assert "rounded" in [each.kind for _, each in seen.findings]
    inner = llama.model.rotary_emb.forward
    handle = llama.model.register_forward_pre_hook(
        lambda module, arguments, named: (arguments, {**named, "position_ids": None}),
        with_kwargs=True)
    try:
        seen = watched(llama, lambda: llama(
            TOKENS[:1], position_ids=torch.arange(7)[None] + 5))
    finally:
        handle.remove()
    assert "the caller gave other ids than the module got" in str(seen)
    assert llama.model.rotary_emb.forward == inner


IMAGE = 9  # the image token of these prompts


def image_model(**options):
    torch.manual_seed(0)
    return transformers.AutoModelForImageTextToText.from_config(transformers.AutoConfig.for_model(
        "qwen2_5_vl", **FAMILIES["qwen2_5_vl"], image_token_id=IMAGE, video_token_id=10,
        tie_word_embeddings=False)).eval()


@pytest.mark.parametrize("has_kinds", [True, False])
def test_watch_judges_prompts_with_images(has_kinds):
    model = image_model()
    tokens = torch.tensor([[3, 4, *[IMAGE] * 6, 5, 6], [7, *[IMAGE] * 6, 3, 4, 5]])
    kinds = {"mm_token_type_ids": (tokens == IMAGE).int()} if has_kinds else {}
    size = 3 * 2 * 14 * 14
    seen = watched(model, lambda: model.generate(
        tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=3, do_sample=False,
        pixel_values=torch.zeros(48, size), image_grid_thw=torch.tensor([[1, 4, 6]] * 2), **kinds))
    assert seen.calls[0].sentence.startswith("2 prompts with images, beside qwen2.5-vl")
    if has_kinds:
        assert seen.verdict == "no_fault" and len(seen.calls) == 3, seen
    else:  # Transformers counts images as text if kinds are missing
        assert seen.findings[0][1].sentence == "(3, 3, 3), where qwen2.5-vl counts (2, 2, 3)"


def test_watch_does_not_judge_ids_of_images_without_grids():
    model = tiny("qwen2_5_vl").eval()
    ids = torch.tensor([[0, 1, 1, 1, 1, 3, 4], [0, 1, 1, 2, 2, 3, 4], [0, 1, 2, 1, 2, 3, 4]])
    seen = watched(model, lambda: model(input_ids=TOKENS[:1], position_ids=ids[:, None]))
    assert seen.verdict == "unknown" and "1 of 1 calls were not judged" in str(seen)
    seen = watched(model, lambda: model(input_ids=TOKENS, attention_mask=PADDED))
    assert [each.kind for _, each in seen.findings] == ["padding_counted"]


def test_watch_judges_nothing_without_rotary_modules():
    model = torch.nn.Linear(2, 2)
    seen = watched(model, lambda: model(torch.ones(1, 2)))
    assert seen.verdict == "unknown"
    with pytest.raises(TypeError, match="must be a torch.nn.Module"):
        rotary.watch(3)
