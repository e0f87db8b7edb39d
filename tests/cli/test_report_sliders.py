# SPDX-License-Identifier: Apache-2.0
"""Tests the sliders of base and factor on the pages of rotary report, in headless Chromium."""

import numpy as np
from test_report import DYNAMIC
from test_report_page import ReportPage
from tool import LLAMA, YARN

YARN_RULE = YARN["rope_scaling"]
LLAMA3_RULE = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
               "high_freq_factor": 4.0, "original_max_position_embeddings": 512}
WIDE = LLAMA | {"head_dim": 128, "rope_theta": 500000.0}
CONFIGS = [WIDE] + [WIDE | {"rope_scaling": rule} for rule in (
    {"rope_type": "linear", "factor": 4.0}, YARN_RULE, YARN_RULE | {"truncate": False},
    LLAMA3_RULE)] + [
        WIDE | {"model_type": "hunyuan_v1_dense",
                "rope_scaling": {"type": "dynamic", "alpha": 1000.0}}]


class ReportSlidersTest(ReportPage):
    def assert_tried_as_by_the_tool(self, config):
        tried, drawn = self.browser.evaluate("""[frequenciesOf(tried), Chart.getChart(
          document.querySelector("#try canvas")).data.datasets[0].data.map((point) => point.y)]""")
        inspected = self.run_json("inspect", "inspect", self.write_config(config))["rotary"][0]
        np.testing.assert_allclose(tried, inspected["inv_freq"], rtol=1e-12)
        np.testing.assert_allclose(drawn, inspected["wavelength_tokens"], rtol=1e-12)

    def test_sliders_compute_the_frequencies_of_inspect(self):
        for config in CONFIGS:
            rule = config.get("rope_scaling", {})
            with self.subTest(rule=rule):
                self.open(self.write_config(config))
                self.assert_tried_as_by_the_tool(config)
                self.set_input("try-base", 91)
                changed = config | {"rope_theta": self.browser.evaluate("tried.base")}
                self.assertNotEqual(changed, config)
                for name in rule.keys() & {"factor", "alpha"}:
                    self.set_input("try-factor", 50)
                    value = self.browser.evaluate(f"tried.parameters.{name}")
                    changed["rope_scaling"] = rule | {name: value}
                self.assert_tried_as_by_the_tool(changed)
                self.browser.evaluate("document.getElementById('try-reset').click()")
                self.assert_tried_as_by_the_tool(config)

    def test_a_rule_without_slider_is_named(self):
        self.open(self.write_config(DYNAMIC))
        self.assertIn("without the rule dynamic", self.texts("#try")[0])
        self.assertEqual(self.texts("#try-factor"), [])
