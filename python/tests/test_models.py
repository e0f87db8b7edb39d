# SPDX-License-Identifier: Apache-2.0
import json
import re

import gguf_files
import numpy as np
import pytest
import rotary

LLAMA = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
         "num_hidden_layers": 2, "rope_theta": 10000.0, "max_position_embeddings": 4096}


def test_a_dict_a_text_a_path_and_a_folder_give_equal_specs(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    given = (LLAMA, json.dumps(LLAMA), json.dumps(LLAMA).encode(), tmp_path / "config.json",
             str(tmp_path / "config.json"), tmp_path)
    specs = {rotary.resolve(config).rotary[0].spec for config in given}
    assert specs == {rotary.RotarySpec(head_dim=128, base=1e4, pairing="half", rotary_dim=128)}


def test_a_card_is_found_by_its_name_and_by_a_hub_id():
    model = rotary.resolve("llama-3.1-8b")
    assert (model.model_type, len(model.layers), len(model.rotary)) == ("llama", 32, 1)
    spec = model.rotary[0].spec
    assert spec.scaling == {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                            "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
    assert spec.base == 500000.0 and spec.pairing is rotary.Pairing.HALF
    assert rotary.resolve("meta-llama/Llama-3.1-8B").rotary[0].spec == spec
    assert "llama-3.1-8b" in rotary.model_cards() and len(rotary.model_cards()) > 100


@pytest.mark.filterwarnings("ignore::rotary.ModelWarning")
def test_every_card_resolves_or_is_refused_as_unsupported_or_malformed():
    for name in rotary.model_cards():
        try:
            rotary.resolve(name)
        except rotary.Error as error:
            assert error.status in ("unsupported", "malformed_input"), name


def test_layers_have_their_own_embeddings():
    model = rotary.resolve("gemma-3-4b")
    assert model.config_part == "text_config"
    assert set(model.layer_types) == {"full_attention", "sliding_attention"}
    assert model.layers[5].rotary.layer_type == "full_attention"
    assert model.layers[0].rotary.spec.base == 10000.0
    assert model.frequencies(5).inv_freq[0] == 0.125
    assert model.frequencies(layer_type="sliding_attention").inv_freq[0] == 1
    with pytest.raises(TypeError, match="layer must be .*; .* layer_type='full_attention'$"):
        model.frequencies("full_attention")
    with pytest.raises(rotary.Error, match="layer or layer_type must be given, since this model "
                       "has 2: full_attention, sliding_attention"):
        model.frequencies()
    with pytest.raises(rotary.Error, match="layer must be below 34, got 34"):
        model.frequencies(34)


def test_frequencies_of_an_unrotated_model_are_refused():
    model = rotary.resolve("gpt2")
    assert model.rotary == () and model.layers[0].encoding == "learned"
    with pytest.raises(rotary.Error, match=r"no layer of this model \(gpt2\) rotates"):
        model.frequencies()


def test_errors_have_a_status_a_key_and_a_message(tmp_path):
    with pytest.raises(rotary.Error) as caught:
        rotary.resolve({**LLAMA, "rope_theta": 0.5})
    error = caught.value
    assert isinstance(error, ValueError) and error.status == "malformed_input"
    assert error.key == "rope_theta" and error.message == str(error)
    assert error.message == "config: base (rope_theta) must be finite and > 1, got 0.5"
    for changed, key in (
            ({"rope_scaling": {"rope_type": "linear"}}, "rope_scaling.factor"),
            ({"rope_scaling": {"rope_type": "linear", "factor": 2, "factr": 3}},
             "rope_scaling.factr"),
            ({"rope_scaling": {"rope_type": "linear", "factor": -2}}, "rope_scaling.factor"),
            ({"num_attention_heads": None}, None)):  # the message names three keys
        with pytest.raises(rotary.Error) as caught:
            rotary.resolve({**LLAMA, **changed})
        assert caught.value.key == key, caught.value.message
    with pytest.raises(rotary.Error) as caught:
        rotary.resolve({"model_type": "nobody"})
    assert caught.value.status == "unsupported"
    with pytest.raises(rotary.Error) as caught:
        rotary.resolve('{"a": ')
    assert caught.value.status == "malformed_input"
    with pytest.raises(rotary.Error, match="got 'lama-3.1-8b'; the nearest names: llama-3.1-8b"):
        rotary.resolve("lama-3.1-8b")
    with pytest.raises(rotary.Error, match="got 'lama'; the nearest names: llama-3"):
        rotary.resolve("lama")
    missing = tmp_path / "config.json"
    with pytest.raises(rotary.Error, match=f"'{missing}'; there is no file {missing}$"):
        rotary.resolve(str(missing))
    missing.write_bytes(b"\x93NUMPY")
    for no_text in (missing, b"{\x93", '{"\ud800"'):
        with pytest.raises(rotary.Error, match="config must be text that UTF-8 can encode, got"):
            rotary.resolve(no_text)
    with pytest.raises(TypeError, match="config must be a path, a dict, .* got int"):
        rotary.resolve(7)


def test_suspicious_configs_raise_python_warnings():
    with pytest.warns(rotary.ModelWarning) as caught:
        model = rotary.resolve(LLAMA, context=100000)
    assert model.warnings and caught[0].filename == __file__


def test_resolve_passes_options_to_the_library():
    model = rotary.resolve(LLAMA, overrides={"rope_theta": 5e5}, numerics="transformers")
    assert model.rotary[0].spec.base == 5e5
    assert model.rotary[0].spec.numerics == "transformers"
    unknown = {**LLAMA, "model_type": "nobody"}
    spec = rotary.resolve(unknown, pairing=rotary.Pairing.INTERLEAVED).rotary[0].spec
    assert spec.pairing == "interleaved"
    with pytest.raises(rotary.Error, match="pairing must be one of half, interleaved"):
        rotary.resolve(unknown, pairing="neox")
    with pytest.raises(rotary.Error, match="part must be one of text, vision, audio"):
        rotary.resolve(LLAMA, part="smell")


@pytest.mark.filterwarnings("ignore::rotary.ModelWarning")
def test_read_as_reads_a_config_as_an_engine_does():
    yarn = {**LLAMA, "rope_scaling": {"rope_type": "yarn", "factor": 3.0,
                                      "original_max_position_embeddings": 4096},
            "max_position_embeddings": 16384}
    ours = rotary.resolve(yarn).rotary[0].spec
    theirs = rotary.resolve(yarn, read_as="transformers@4.51")
    assert ours.scaling["factor"] == 3 and theirs.rotary[0].spec.scaling["factor"] == 4
    assert any(text.startswith("transformers@4.51: ") for text in theirs.warnings)
    assert theirs.evidence.kind == "run"
    between = rotary.resolve(LLAMA, read_as="transformers@4.46")
    assert between.evidence.kind == "none" and between.evidence.sentence in between.warnings
    found = rotary.diff(LLAMA, between)
    assert (found.verdict, found.differs, bool(found)) == ("unknown", False, True)
    assert rotary.diff(LLAMA, LLAMA).verdict == "same"
    assert rotary.resolve(LLAMA).evidence is None


def test_any_object_with_to_dict_resolves():
    class Config:
        def to_dict(self):
            return dict(LLAMA, torch_dtype=np.dtype("float32"))

    model = rotary.resolve(Config())
    assert model.rotary[0].spec.base == 1e4 and "defaults of its class" in model.source


def test_gguf_files_resolve_and_take_overrides(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf_files.encoded(gguf_files.llama(rope__freq_base=250000.0)))
    model = rotary.resolve(path)
    spec = model.rotary[0].spec
    assert (spec.base, spec.pairing, spec.head_dim) == (250000.0, "interleaved", 128)
    assert model.gguf["checkpoint_pairing"] == "half"
    run = rotary.resolve(path, overrides={"rope_scaling": "yarn", "rope_scale": 4,
                                          "yarn_orig_ctx": 32768, "--rope-freq-base": 1e6})
    assert run.rotary[0].spec.scaling["factor"] == 4 and run.rotary[0].spec.base == 1e6
    assert run.rotary[0].trained_context_tokens == 131072
    keys = rotary.resolve(path, overrides={"rope.freq_base": 5e5, "llama.rope.scaling.factor": 2})
    assert keys.rotary[0].spec.base == 5e5
    assert keys.rotary[0].spec.scaling == {"rope_type": "linear", "factor": 2}
    with pytest.raises(rotary.Error, match="did you mean llama.rope.freq_base"):
        rotary.resolve(path, overrides={"rope.freq_bas": 1e6})
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(rotary.Error) as caught:
        rotary.resolve(path)
    assert caught.value.status == "malformed_input"


def test_print_and_notebooks_show_the_model():
    model = rotary.resolve("llama-3.1-8b")
    text = str(model)
    assert text.startswith("llama, 32 layers, one rotary embedding\n")
    assert "pairing" in text and "half  [family]" in text and "llama3" in text
    assert repr(model) == "<rotary.Model llama, 32 layers, one rotary embedding>"
    html = model._repr_html_()
    assert html.startswith("<b>llama, 32 layers") and html.count("<table>") == html.count(
        "</table>") == 1
    assert "&lt;" in rotary._html.table("a < b", [])


def test_diff_names_fields_and_the_first_different_position():
    difference = rotary.diff("llama-3.1-8b", "llama-3-8b.params")
    assert difference and difference.context_tokens == 131072
    assert ("rope_type", "llama3", "default") in [
        (f.field, f.one, f.other) for f in difference.rotary[0].fields]
    rows = difference.rotary[0].rows
    assert rows.first_position == 1 and not rows.same_features
    assert "first difference at position 1: 0.8415 apart" in str(difference)
    assert re.search("field +llama-3.1-8b +llama-3-8b.params\n", str(difference))
    assert "<th style=\"text-align:left\">llama-3-8b.params</th>" in difference._repr_html_()
    assert rotary.diff(LLAMA, {**LLAMA, "rope_theta": 5e5}).names == ("one", "other")
    assert not rotary.diff("llama-3.1-8b", rotary.resolve("llama-3.1-8b"))


def test_equal_specs_compare_equal():
    spec = rotary.RotarySpec(head_dim=64, base=1e4, pairing="half")
    assert spec == rotary.RotarySpec(head_dim=64, base=10000, pairing=rotary.Pairing.HALF)
    assert hash(spec) == hash(spec.replace()) and spec.replace(base=5e5) != spec
    assert eval(repr(spec), {"RotarySpec": rotary.RotarySpec}) == spec
    scaled = spec.replace(scaling=rotary.Scaling(rope_type="linear", factor=8))
    assert rotary.RotarySpec.from_json(scaled.to_json()) == scaled
    assert scaled.scaling.rope_type == "linear" and not scaled.depends_on_context
    assert "factor" in scaled._repr_html_()
    with pytest.raises(TypeError, match="scaling must be of type Scaling or dict, got 'yarn'"):
        spec.replace(scaling="yarn")
    with pytest.raises(TypeError, match="pairing"):
        rotary.RotarySpec(head_dim=64, base=1e4)
    with pytest.raises(rotary.Error, match="pairing"):
        rotary.RotarySpec(head_dim=64, base=1e4, pairing="neox")
    with pytest.raises(rotary.Error):
        spec.replace(scaling={"rope_type": "lenear", "factor": 8})


def test_a_rule_that_depends_on_the_context_requires_one():
    dynamic = {**LLAMA, "rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}
    model = rotary.resolve(dynamic)
    assert model.rotary[0].spec.depends_on_context
    with pytest.raises(rotary.Error, match="context"):
        model.frequencies()
    short, long = model.frequencies(context=100), model.frequencies(context=8192)
    assert not short.rotate_alike(long) and short.contexts[1] == 4096
    assert long.inv_freq[-1] < short.inv_freq[-1]
