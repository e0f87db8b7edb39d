# SPDX-License-Identifier: Apache-2.0
import shutil

import numpy as np
import pytest
import rotary
from rotary.__main__ import find_tool

pytestmark = pytest.mark.skipif(find_tool() is None, reason="this build has no tool")


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
    config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4,
              "num_hidden_layers": 1, "rope_theta": 10000.0, "max_position_embeddings": 128}
    y = rotary.plot("wavelengths", config).panels[0]["series"][0]["y"]
    np.testing.assert_allclose(y, 2 * np.pi * 10000 ** (np.arange(0, 16, 2) / 16), rtol=1e-6)


def test_refusals_of_the_tool_raise_errors():
    with pytest.raises(rotary.Error, match="wavelengths") as caught:
        rotary.plot("wavelenghts")
    assert caught.value.status == "invalid_argument"
    for call, message in ((lambda: rotary.report(), "config is required"),
                          (lambda: rotary.plot("alibi", "gpt2"), "alibi takes no config, got 1"),
                          (lambda: rotary.report("gpt2", layer_type="a"),
                           "takes no option 'layer_type'"),
                          (lambda: rotary.plot("wavelengths", context=0),
                           "context must be at least 1, got 0")):
        with pytest.raises(rotary.Error) as caught:
            call()
        assert caught.value.message == message


def test_a_report_saves_a_page(tmp_path):
    page = rotary.report("llama-3.1-8b", "qwen2.5-7b")
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().lower().startswith("<!doctype html>")
    assert page._repr_html_().startswith('<iframe srcdoc="&lt;!')
