# SPDX-License-Identifier: Apache-2.0
"""The pages of rotary report as a reader meets them, in headless Chromium."""

import itertools
import unittest

from browser import CHROMIUM, Browser
from test_report import DYNAMIC, HOSTILE
from test_text import NAME, is_obeyed
from tool import LLAMA, TWO_TYPES, ToolTest

SECTIONS = ("context", "scaling", "position", "distance", "accuracy")

# The content of a chart: its axes, its marks, and the points of each line.
SHOWN = """(() => {
  const charts = {};
  for (const section of document.querySelectorAll("#charts section")) {
    charts[section.id.replace("-charts", "")] = [...section.querySelectorAll("canvas")]
      .filter((canvas) => !canvas.closest("article").hidden)
      .map((canvas) => {
        const chart = Chart.getChart(canvas);
        return JSON.stringify({
          x: [chart.scales.x.type, chart.scales.x.min, chart.scales.x.max],
          marks: chart.$marks.map((mark) => mark.at),
          lines: chart.data.datasets.map((dataset) => [dataset.label, dataset.borderColor,
            dataset.data.map((point) => [point.x, point.y])]),
        });
      });
  }
  return charts;
})()"""


def luminance(colour):
    """Relative luminance of WCAG 2.1, of rgb(r, g, b) or #rrggbb."""
    if colour.startswith("#"):
        parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    else:
        parts = [float(part) for part in colour[4:-1].split(",")]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
              for c in (part / 255 for part in parts)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@unittest.skipUnless(CHROMIUM, "needs chromium")
class ReportPageTest(ToolTest):
    @classmethod
    def setUpClass(cls):
        try:
            cls.browser = Browser()
        except (OSError, RuntimeError) as error:
            raise unittest.SkipTest(f"chromium does not start here: {error}") from error
        cls.addClassCleanup(cls.browser.close)

    def open(self, *arguments):
        self.run_ok("report", *arguments, "-o", "page.html", "--force")
        self.browser.open(self.path / "page.html")

    def open_two(self):
        self.open(self.write_config(DYNAMIC), "gemma-3-4b")

    def tearDown(self):
        self.assertEqual(self.browser.complaints(), [])
        self.assertEqual({url.split(":")[0] for url in self.browser.requests()}, {"file"})
        self.assertEqual(len(self.browser.requests()), 1)

    def set_input(self, name, value):
        self.browser.evaluate(
            f"""(() => {{
              const input = document.getElementById("{name}");
              if (["checkbox", "radio"].includes(input.type)) input.checked = {value};
              else input.value = "{value}";
              input.dispatchEvent(new Event("input", {{ bubbles: true }}));
            }})()""")

    def changed_by(self, name, value):
        """The sections whose charts the control changes."""
        before = self.browser.evaluate(SHOWN)
        self.set_input(name, value)
        after = self.browser.evaluate(SHOWN)
        return {section for section in SECTIONS if before[section] != after[section]}

    def test_controls_change_the_charts(self):
        self.open_two()
        self.assertEqual(tuple(self.browser.evaluate(SHOWN)), SECTIONS)
        # With a dynamic rule everything follows the context, beyond the original one.
        last = self.browser.evaluate("report.stops.length - 1")
        self.assertEqual(self.changed_by("context", last), set(SECTIONS))
        self.assertEqual(self.changed_by("position", 100), {"position"})
        self.assertEqual(self.changed_by("position-number", 70000), {"position"})
        self.assertEqual(self.changed_by("distance", 1), {"distance"})
        self.assertEqual(self.changed_by("distance-logarithmic", "true"), {"distance"})
        self.assertEqual(self.changed_by("shown-1", "false"), set(SECTIONS))
        axes = self.browser.evaluate("Chart.getChart(document.querySelector("
                                     "'#distance-charts canvas')).scales.x.type")
        self.assertEqual(axes, "logarithmic")

    def test_the_context_in_words(self):
        self.open("llama-3.1-8b")
        words = "document.querySelector('#context-charts .status').textContent"
        self.assertIn("39 of 64 pairs complete a turn within 131,072 tokens",
                      self.browser.evaluate(words))
        stops = self.browser.evaluate("report.stops")
        self.set_input("context", stops.index(524288))
        self.assertIn("That is 4 times the context that it states, 131,072 tokens",
                      self.browser.evaluate(words))

    def test_a_line_can_be_hidden(self):
        self.open("llama-3.1-8b")
        before = self.browser.evaluate(SHOWN)["accuracy"]
        self.browser.evaluate("document.querySelector('#accuracy-charts .legend input').focus()")
        self.browser.press(" ")
        after = self.browser.evaluate(SHOWN)["accuracy"]
        self.assertNotEqual(before, after)
        self.assertNotIn("exact, float32", after[0])

    def test_by_keyboard(self):
        self.open_two()
        self.browser.evaluate("document.querySelector('#charts input[type=range]').focus()")
        before = self.browser.evaluate("state.context")
        self.browser.press("ArrowRight")
        self.assertGreater(self.browser.evaluate("state.context"), before)
        self.browser.press("Tab")
        focused = self.browser.evaluate("document.activeElement.tagName")
        self.assertIn(focused, ("INPUT", "SUMMARY"))
        unreachable = self.browser.evaluate(
            "[...document.querySelectorAll('input, summary, [tabindex]')]"
            ".filter((one) => one.tabIndex < 0 && one.id !== 'charts').length")
        self.assertEqual(unreachable, 0)

    def test_names_for_a_screen_reader(self):
        self.open_two()
        tree = self.browser.send("Accessibility.getFullAXTree")["nodes"]
        seen = set()
        for node in tree:
            role = node.get("role", {}).get("value")
            if role in ("slider", "checkbox", "radio", "spinbutton", "image", "table", "region"):
                seen.add(role)
                self.assertTrue(node.get("name", {}).get("value"), node)
        self.assertLessEqual({"slider", "checkbox", "radio", "spinbutton", "image", "table"}, seen)
        headings = self.browser.evaluate(
            "[...document.querySelectorAll('h1,h2,h3')].map((one) => Number(one.tagName[1]))")
        self.assertEqual(headings[0], 1)
        for above, below in itertools.pairwise(headings):
            self.assertLessEqual(below, above + 1)

    def test_the_numbers_as_a_table(self):
        self.open("llama-3.1-8b")
        self.browser.evaluate("document.querySelector('#context-charts summary').click()")
        rows = ("[...document.querySelectorAll('#context-charts tbody tr')]"
                ".map((row) => row.textContent)")
        self.browser.settle()
        found = self.browser.evaluate(rows)
        self.assertEqual(len(found), 33)
        self.assertEqual(found[0], "06.28319")
        self.assertTrue(found[-1].startswith("63"), found[-1])

    def test_fields_side_by_side(self):
        self.open("llama-3.1-8b", "llama-3.1-70b")
        differing = ("[...document.querySelectorAll('#fields tr.differs')]"
                     ".filter((row) => !row.hidden).map((row) => row.cells[0].firstChild.data)")
        self.assertEqual(self.browser.evaluate(differing), ["layers"])
        visible = "[...document.querySelectorAll('#fields tbody tr')].filter((row) => !row.hidden)"
        self.assertGreater(self.browser.evaluate(f"{visible}.length"), 10)
        self.set_input("differences-only", "true")
        self.assertEqual(self.browser.evaluate(f"{visible}.length"), 1)

    def test_keys_in_a_table_of_their_own(self):
        self.open("llama-3.1-8b")
        rows = self.browser.evaluate("[...document.querySelectorAll('#keys tbody tr')]"
                                     ".map((row) => row.textContent)")
        [theta] = [row for row in rows if row.startswith("rope_theta")]
        self.assertIn("base 500000 -> 10000", theta)

    def test_hostile_names_stay_text(self):
        config = LLAMA | {"model_type": HOSTILE}
        name = self.write_config(config, 'a<b onclick="hurt=1">&.json')
        self.open(name, "--pairing", "half")
        self.assertIsNone(self.browser.evaluate("window.hurt"))
        self.assertEqual(self.browser.evaluate("document.querySelector('h1').textContent"), name)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('img').length"), 0)
        self.assertIn(HOSTILE, self.browser.evaluate("document.body.innerText"))

    def test_names_that_a_browser_would_obey(self):
        """Text that turns round, hides or breaks lines is shown as escapes, in charts too."""
        rope = {"full_attention": {"rope_type": "default", "rope_theta": 1e6},
                NAME: {"rope_type": "default", "rope_theta": 1e4}}
        config = {key: value for key, value in LLAMA.items() if key != "rope_theta"} | {
            "layer_types": ["full_attention", NAME, NAME], "rope_parameters": rope}
        name = self.write_config(config, f"{NAME}.json")
        self.open(name, self.write_config(LLAMA))
        labels = self.browser.evaluate(
            "[...document.querySelectorAll('canvas')].flatMap((canvas) => "
            "Chart.getChart(canvas).data.datasets.map((set) => set.label)).join()")
        for shown in (self.browser.evaluate("document.body.textContent"), labels):
            self.assertIn("a\\u000aINJECTED\\u001b[31m\\u009b31m\\u0007", shown)
            self.assertIn("\\u202e\\u2066\\u2028\\u2029\\ufeff\\u00ad\\ufffe\\U000e0041'", shown)
            self.assertEqual({each for each in shown if is_obeyed(each)} - {"\n"}, set())

    def test_light_and_dark(self):
        self.open(self.write_config(TWO_TYPES), "bloom-3b")
        colours = {}
        for scheme in ("light", "dark"):
            self.browser.send("Emulation.setEmulatedMedia",
                              features=[{"name": "prefers-color-scheme", "value": scheme}])
            self.browser.settle()
            style = "getComputedStyle(document.body)"
            ground = self.browser.evaluate(f"{style}.backgroundColor")
            self.assertGreaterEqual(contrast(ground, self.browser.evaluate(f"{style}.color")), 7)
            for name in ("quiet", "accent"):
                colour = self.browser.evaluate(f"themeColour('{name}')")
                self.assertGreaterEqual(contrast(ground, colour), 7, name)
            lines = self.browser.evaluate("[0, 1, 2, 3].map(paletteColour)")
            for colour in lines:
                self.assertGreaterEqual(contrast(ground, colour), 3, (scheme, colour))
            colours[scheme] = ground, self.browser.evaluate(SHOWN)["context"]
        self.assertNotEqual(colours["light"][0], colours["dark"][0])
        self.assertNotEqual(colours["light"][1], colours["dark"][1])
        self.browser.send("Emulation.setEmulatedMedia", features=[])

    def test_no_wider_than_the_window(self):
        self.open_two()
        for width in (1280, 400):
            self.browser.send("Emulation.setDeviceMetricsOverride", width=width, height=900,
                              deviceScaleFactor=1, mobile=False)
            self.browser.settle()
            self.assertLessEqual(
                self.browser.evaluate("document.documentElement.scrollWidth"), width)
        self.browser.send("Emulation.clearDeviceMetricsOverride")
