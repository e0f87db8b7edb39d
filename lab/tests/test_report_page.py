# SPDX-License-Identifier: Apache-2.0
"""rotary-lab report's page as readers see it, in headless Chromium."""

import itertools

import made_runs
from browser import PageTest, contrast
from test_results import MadeRuns

CHARTS = """Object.fromEntries([...document.querySelectorAll("canvas")].map((canvas) => {
  const chart = Chart.getChart(canvas);
  return [canvas.closest("article").querySelector("h3").textContent, {
    y: chart.options.scales.y.title.text, marks: chart.$marks.length,
    bands: chart.data.datasets.filter((one) => one.fill).length,
    lines: Object.fromEntries(chart.data.datasets.filter((one) => one.label !== "").map((one) =>
      [one.label, [one.borderColor, one.data.length, one.data.at(-1).y]])) }];
}))"""


class ReportPage(PageTest, MadeRuns):
    page = None

    def open(self):
        """Opens the page of the default runs, which is written once."""
        path = self.path / "lab.html"
        if self.page is None:
            self.lab("report", made_runs.write_runs(self.path), "-o", path)
            ReportPage.page = path.read_text()
        path.write_text(self.page)
        self.browser.open(path)

    def charts(self):
        return self.browser.evaluate(CHARTS)

    def test_charts_show_the_numbers_of_the_runs(self):
        self.open()
        charts = self.charts()
        self.assertLessEqual({f"Validation loss, against {x}" for x in
                              ("steps", "tokens", "CPU seconds")}, charts.keys())
        curves = charts["Validation loss, against steps"]
        self.assertEqual(list(curves["lines"]), list(made_runs.ARMS))
        mean = sum(made_runs.loss_at("rope", seed, 200) for seed in (1, 2, 3)) / 3
        self.assertAlmostEqual(curves["lines"]["rope"][2], mean, places=6)
        self.assertEqual((curves["bands"], curves["marks"]), (3, 1))
        # Learned positions have no point beyond the trained length.
        lengths = charts["Longer sequences, the last quarter"]["lines"]
        self.assertEqual((lengths["learned"][1], lengths["rope"][1]), (1, 3))
        self.assertEqual(list(charts["rope, stretched by a rule"]["lines"]),
                         ["as trained", *made_runs.RULES])
        positions = charts["Where in the sequence"]["lines"]
        self.assertEqual(positions["rope"][1], 32)
        self.assertNotIn("learned", positions)
        self.assertIn("rope, by a rule, where in the sequence", charts)

    def test_elements_have_names_for_screen_readers(self):
        self.open()
        seen = set()
        for node in self.browser.send("Accessibility.getFullAXTree")["nodes"]:
            role = node.get("role", {}).get("value")
            if role in ("checkbox", "image", "table", "region"):
                seen.add(role)
                self.assertTrue(node.get("name", {}).get("value"), node)
        self.assertLessEqual({"image", "table"}, seen)
        headings = self.browser.evaluate(
            "[...document.querySelectorAll('h1,h2,h3')].map((one) => Number(one.tagName[1]))")
        for above, below in itertools.pairwise(headings):
            self.assertLessEqual(below, above + 1)

    def test_tables_show_the_numbers_of_the_runs(self):
        self.open()
        self.browser.evaluate(
            "document.querySelector('.panel details > summary').click()")
        self.browser.settle()
        heads = self.browser.evaluate(
            "[...document.querySelectorAll('.panel thead th')].map((one) => one.textContent)")
        self.assertEqual(heads[:4], ["steps", "rope", "rope, highest seed", "rope, lowest seed"])
        words = self.browser.evaluate("document.body.textContent")
        for some in ("speed of convergence, not final quality", "less learned", "1.13.0",
                     "4 confirmed, 1 contradicted", "over windows"):
            self.assertIn(some, words)

    def test_light_and_dark_schemes_differ(self):
        self.open()
        grounds = []
        for scheme in ("light", "dark"):
            self.browser.send("Emulation.setEmulatedMedia",
                              features=[{"name": "prefers-color-scheme", "value": scheme}])
            self.browser.settle()
            grounds.append(self.browser.evaluate("getComputedStyle(document.body).backgroundColor"))
            lines = self.charts()["Validation loss, against steps"]["lines"]
            for colour, _, _ in lines.values():
                self.assertGreaterEqual(contrast(grounds[-1], colour), 3, (scheme, colour))
        self.assertNotEqual(*grounds)
        self.browser.send("Emulation.setEmulatedMedia", features=[])

    def test_the_page_is_no_wider_than_the_window(self):
        self.open()
        for width in (1280, 400):
            self.browser.send("Emulation.setDeviceMetricsOverride", width=width, height=900,
                              deviceScaleFactor=1, mobile=False)
            self.browser.settle()
            self.assertLessEqual(
                self.browser.evaluate("document.documentElement.scrollWidth"), width)
        self.browser.send("Emulation.clearDeviceMetricsOverride")
