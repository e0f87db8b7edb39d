# SPDX-License-Identifier: Apache-2.0
import shutil

import numpy as np
import pytest
import rotary
from rotary.__main__ import find_tool

pytestmark = pytest.mark.skipif(find_tool() is None, reason="this build has no tool")

CONFIG = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4,
          "num_hidden_layers": 1, "rope_theta": 10000.0, "max_position_embeddings": 128}


def test_a_wavelengths_figure_has_the_wavelengths_of_the_model():
    figure = rotary.plot("wavelengths", "llama-3.1-8b", context=131072)
    series = figure.panels[0]["series"][0]
    f = rotary.resolve("llama-3.1-8b").frequencies()
    np.testing.assert_allclose(series["y"], 2 * np.pi / f.inv_freq, rtol=1e-6)
    assert repr(figure) == "<rotary.Figure wavelengths: Tokens for one turn of each pair>"
    if shutil.which("gnuplot"):
        assert figure._repr_html_().startswith("<svg")


def test_notebooks_show_a_table_without_gnuplot(monkeypatch):
    monkeypatch.setenv("PATH", "")
    html = rotary.plot("wavelengths", "llama-3.1-8b")._repr_html_()
    assert html.startswith("<b>Tokens for one turn of each pair</b><table>")


def test_plot_accepts_a_dict_as_config():
    one = rotary.plot("wavelengths", CONFIG).panels[0]["series"][0]
    np.testing.assert_allclose(one["y"], 2 * np.pi * 10000 ** (np.arange(0, 16, 2) / 16), rtol=1e-6)
    assert one["name"] == "configs[0]"
    with pytest.raises(TypeError, match=r"^configs\[1\] must be a path"):
        rotary.plot("wavelengths", CONFIG, 7)


def test_refusals_of_the_tool_raise_errors():
    with pytest.raises(rotary.Error, match="wavelengths") as caught:
        rotary.plot("wavelenghts")
    assert caught.value.status == "invalid_argument"
    for call, key, message in (
            (lambda: rotary.report(), "CONFIG", "report: CONFIG is required"),
            (lambda: rotary.plot("alibi", "gpt2"), None, "plot: alibi takes no CONFIG, got 1"),
            (lambda: rotary.plot("wavelengths", context=0), "context",
             "plot: --context must be at least 1, got 0"),
            (lambda: rotary.plot("decay", "llama-3.1-8b", layer_type="x"), "layer_type",
             "plot: --layer-type must be one that the config names (none), got 'x'"),
            (lambda: rotary.report("gpt2", {**CONFIG, "rope_theta": 0.5}), "rope_theta",
             "report: configs[1]: config: base (rope_theta) must be finite and > 1, got 0.5")):
        with pytest.raises(rotary.Error) as caught:
            call()
        assert (caught.value.key, caught.value.message) == (key, f"rotary {message}")


def test_an_output_beside_a_dict_is_where_the_caller_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rotary.plot("decay", CONFIG, out="decay.svg")
    assert (tmp_path / "decay.svg").read_text().startswith("<?xml")


def test_a_report_saves_a_page(tmp_path):
    page = rotary.report("llama-3.1-8b", "qwen2.5-7b")
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().lower().startswith("<!doctype html>")
    assert page._repr_html_().startswith('<iframe srcdoc="&lt;!')
