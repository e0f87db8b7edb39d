# SPDX-License-Identifier: Apache-2.0
"""The page of rotary-lab report as a reader meets it, in headless Chromium."""

import itertools
import unittest

import made_runs
from browser import PageTest, contrast
from test_results import HOSTILE, MadeRuns

CHARTS = """[...document.querySelectorAll("canvas")].map((canvas) => {
  const chart = Chart.getChart(canvas);
  return { title: canvas.closest("article").querySelector("h3").textContent,
    x: [chart.scales.x.type, chart.scales.x.max, chart.options.scales.x.title.text],
    y: [chart.scales.y.type, chart.options.scales.y.title.text],
    lines: chart.data.datasets.filter((one) => one.label !== "").map((one) =>
      [one.label, one.borderColor, one.data.length, one.data.at(-1).y]),
    bands: chart.data.datasets.filter((one) => one.fill).length };
})"""
TITLES = ["Loss while training", "CPU time beyond that without positions, %", "Longer sequences",
          "Where in the sequence", "Stretched by a rule", "By a rule, where in the sequence"]


class ReportPage(PageTest, MadeRuns):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page = None

    def open(self, made=None):
        """The page of the runs as they are made usually is written once."""
        path = self.path / "lab.html"
        if self.page is None or made is not None:
            self.lab("report", made_runs.write_runs(self.path, made=made), "-o", path)
        else:
            path.write_text(self.page)
        if made is None:
            type(self).page = path.read_text()
        self.browser.open(path)

    def charts(self):
        return {chart["title"]: chart for chart in self.browser.evaluate(CHARTS)}

    def click(self, selector):
        self.browser.evaluate(f"document.querySelector({selector!r}).click()")

    def changed_by(self, selector):
        before = self.charts()
        self.click(selector)
        after = self.charts()
        return {title for title in before if before[title] != after[title]}

    def test_charts_show_the_numbers(self):
        self.open()
        charts = self.charts()
        self.assertEqual(list(charts), TITLES)
        curves = {line[0]: line for line in charts["Loss while training"]["lines"]}
        self.assertEqual(list(curves), list(made_runs.ARMS))
        mean = sum(made_runs.loss_at("rope", seed, 200) for seed in (1, 2, 3)) / 3
        self.assertAlmostEqual(curves["rope"][3], mean, places=6)
        self.assertEqual(charts["Loss while training"]["bands"], 3)
        # Learned positions have no point beyond the trained length.
        lengths = {line[0]: line[2] for line in charts["Longer sequences"]["lines"]}
        self.assertEqual((lengths["learned"], lengths["rope"]), (1, 3))
        rules = [line[0] for line in charts["Stretched by a rule"]["lines"]]
        self.assertEqual(rules, ["as trained", *made_runs.RULES])
        positions = {line[0]: line[2] for line in charts["Where in the sequence"]["lines"]}
        self.assertEqual(positions["rope"], 32)
        self.assertNotIn("learned", positions)

    def test_controls_change_the_charts(self):
        self.open()
        curves = {"Loss while training"}
        lengths = {"Longer sequences", "Stretched by a rule"}
        positions = {"Where in the sequence", "By a rule, where in the sequence"}
        self.assertEqual(self.changed_by("#e1-made-x-1"), curves)
        self.assertEqual(self.changed_by("#e1-made-x-2"), curves)
        self.assertEqual(self.charts()["Loss while training"]["x"][2], "CPU seconds of training")
        self.assertEqual(self.changed_by("#e1-made-loss-1"), curves)
        self.assertEqual(self.changed_by("#e1-made-log-x"), curves)
        self.assertEqual(self.changed_by("#e1-made-log-y"), curves)
        self.assertEqual(self.charts()["Loss while training"]["y"][0], "logarithmic")
        self.assertEqual(self.changed_by("#e1-made-bytes-1"), lengths)
        self.assertEqual(self.changed_by("#e1-made-multiple-1"), positions)
        # sinusoidal is in every chart of encodings, and in none of rules.
        self.assertEqual(self.changed_by("#e1-made-shown-2"), set(TITLES[:4]))
        ruled = """(() => { const select = document.getElementById("e1-made-ruled");
          select.value = "clipped"; select.dispatchEvent(new Event("input")); })()"""
        before = self.charts()
        self.browser.evaluate(ruled)
        after = self.charts()
        self.assertEqual({title for title in TITLES if before[title] != after[title]},
                         set(TITLES[4:]))

    def test_the_list_of_encodings_by_keyboard(self):
        self.open()
        self.browser.evaluate("document.getElementById('e1-made-shown-0').focus()")
        self.browser.press(" ")
        self.assertNotIn("rope", [line[0] for line in
                                  self.charts()["Loss while training"]["lines"]])
        self.browser.press("Tab")
        self.assertEqual(self.browser.evaluate("document.activeElement.id"), "e1-made-shown-1")
        unreachable = self.browser.evaluate(
            "[...document.querySelectorAll('input, summary, select, button, [tabindex]')]"
            ".filter((one) => one.tabIndex < 0 && one.id !== 'experiments').length")
        self.assertEqual(unreachable, 0)

    def test_names_for_a_screen_reader(self):
        self.open()
        seen = set()
        for node in self.browser.send("Accessibility.getFullAXTree")["nodes"]:
            role = node.get("role", {}).get("value")
            if role in ("checkbox", "radio", "image", "table", "region", "button", "combobox"):
                seen.add(role)
                self.assertTrue(node.get("name", {}).get("value"), node)
        self.assertLessEqual({"checkbox", "radio", "image", "table", "button"}, seen)
        headings = self.browser.evaluate(
            "[...document.querySelectorAll('h1,h2,h3')].map((one) => Number(one.tagName[1]))")
        for above, below in itertools.pairwise(headings):
            self.assertLessEqual(below, above + 1)

    def test_the_numbers_as_tables(self):
        self.open()
        self.browser.evaluate(
            "document.querySelector('.panel details > summary').click()")
        self.browser.settle()
        heads = self.browser.evaluate(
            "[...document.querySelectorAll('.panel thead th')].map((one) => one.textContent)")
        self.assertEqual(heads[:4], ["steps", "rope", "rope, highest seed", "rope, lowest seed"])
        rows = self.browser.evaluate("[...document.querySelectorAll('#e1-made-quick tbody tr')]"
                                     ".map((row) => row.textContent)")
        self.assertTrue(any(row.startswith("confirmed") for row in rows), rows[:3])
        text = self.browser.evaluate("document.body.innerText")
        for words in ("speed of convergence, not final quality", "less learned", "1.13.0",
                      "4 confirmed, 1 contradicted"):
            self.assertIn(words, text.replace("\u00a0", " ") + self.setup())

    def setup(self):
        return self.browser.evaluate("document.querySelector('dl.facts').textContent")

    def test_hostile_names_stay_text(self):
        made = made_runs.experiment()
        made["title"] = made["mirrors"] = made["claims"][0]["statement"] = HOSTILE
        self.open(made=made)
        self.assertIsNone(self.browser.evaluate("window.hurt"))
        self.assertEqual(self.browser.evaluate("document.querySelector('h1').textContent"), HOSTILE)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('img').length"), 0)

    def test_light_and_dark(self):
        self.open()
        grounds = []
        for scheme in ("light", "dark"):
            self.browser.send("Emulation.setEmulatedMedia",
                              features=[{"name": "prefers-color-scheme", "value": scheme}])
            self.browser.settle()
            style = "getComputedStyle(document.body)"
            grounds.append(self.browser.evaluate(f"{style}.backgroundColor"))
            looks = self.browser.evaluate(
                "report.experiments[0].arms.map((arm) => lookOfArm(arm))")
            for look in looks:
                self.assertGreaterEqual(contrast(grounds[-1], look["colour"]), 3, (scheme, look))
            self.assertEqual(len({str(look) for look in looks}), len(made_runs.ARMS))
            drawn = [line[1] for line in self.charts()["Loss while training"]["lines"]]
            self.assertEqual(drawn, [look["colour"] for look in looks])
        self.assertNotEqual(*grounds)
        self.browser.send("Emulation.setEmulatedMedia", features=[])

    def test_no_wider_than_the_window(self):
        self.open()
        for width in (1280, 400):
            self.browser.send("Emulation.setDeviceMetricsOverride", width=width, height=900,
                              deviceScaleFactor=1, mobile=False)
            self.browser.settle()
            self.assertLessEqual(
                self.browser.evaluate("document.documentElement.scrollWidth"), width)
        self.browser.send("Emulation.clearDeviceMetricsOverride")
