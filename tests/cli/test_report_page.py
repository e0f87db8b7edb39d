# SPDX-License-Identifier: Apache-2.0
"""Tests the pages of rotary report in headless Chromium."""

import itertools

from browser import PageTest, contrast
from test_report import DYNAMIC, HOSTILE
from test_text import NAME, is_obeyed
from tool import LLAMA, TWO_TYPES, ToolTest

SECTIONS = ("context", "scaling", "position", "distance", "accuracy")

# Returns the axis, the marks and the lines of each chart, by section.
SHOWN = """(() => {
  const charts = {};
  for (const section of document.querySelectorAll("#charts section")) {
    charts[section.id.replace("-charts", "")] = [...section.querySelectorAll("canvas")]
      .filter((canvas) => Chart.getChart(canvas) && !canvas.closest("article").hidden)
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


class ReportPage(PageTest, ToolTest):
    def open(self, *arguments):
        self.run_ok("report", *arguments, "-o", "page.html", "--force")
        self.browser.open(self.path / "page.html")

    def texts(self, selector):
        return self.browser.evaluate(f"[...document.querySelectorAll(`{selector}`)]"
                                     ".map((each) => each.textContent)")

    def set_input(self, name, value):
        self.browser.evaluate(
            f"""(() => {{
              const input = document.getElementById("{name}");
              if (["checkbox", "radio"].includes(input.type)) input.checked = "{value}" === "true";
              else input.value = "{value}";
              input.dispatchEvent(new Event("input", {{ bubbles: true }}));
            }})()""")


class ReportPageTest(ReportPage):
    def open_two(self):
        self.open(self.write_config(DYNAMIC), "gemma-3-4b")

    def tearDown(self):
        super().tearDown()
        self.assertEqual(len(self.browser.requests()), 1)
        self.browser.send("Emulation.clearDeviceMetricsOverride")

    def resize(self, width, height=900):
        self.browser.send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                          deviceScaleFactor=1, mobile=False)
        self.browser.settle()

    def changed_by(self, name, value):
        """Sets the control. Returns the sections whose charts change."""
        before = self.browser.evaluate(SHOWN)
        self.set_input(name, value)
        after = self.browser.evaluate(SHOWN)
        return {section for section in SECTIONS if before[section] != after[section]}

    def test_controls_change_the_charts(self):
        self.open_two()
        self.assertEqual(tuple(self.browser.evaluate(SHOWN)), SECTIONS)
        # With a dynamic rule, a context beyond the original one changes every chart.
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

    def test_the_status_counts_pairs_within_the_context(self):
        self.open("llama-3.1-8b")
        self.assertIn("39 of 64 pairs complete a turn within 131,072 tokens",
                      self.texts("#context-charts .status")[0])
        stops = self.browser.evaluate("report.stops")
        self.set_input("context", stops.index(524288))
        self.assertIn("That is 4 times the context that it states, 131,072 tokens",
                      self.texts("#context-charts .status")[0])

    def test_a_vision_tower_has_maps_of_its_pairs(self):
        self.open("qwen2-vl-2b", "--part", "vision")
        self.assertEqual(list(self.browser.evaluate(SHOWN)), ["axes", "accuracy"])
        self.assertEqual(self.texts(".maps figcaption"), [
            "pair 0: rows, a turn in 6.28 patches", "pair 23: columns, a turn in 25 patches",
            "all 20 pairs of the rows", "all 40 pairs"])
        # All columns of this map are equal. Row 10 has the query, row 7 the score nearest to -1.
        colours = self.browser.evaluate(
            "[...document.querySelector('.maps canvas').getContext('2d')"
            ".getImageData(4, 0, 1, 21).data]")
        self.assertEqual(colours[4 * 10:4 * 11], [253, 231, 37, 255])
        self.assertLess(max(colours[4 * 7:4 * 7 + 2]), 75)
        self.browser.evaluate("document.querySelector('.maps details').open = true")
        self.browser.settle()
        self.assertEqual(len(self.texts(".maps details[open] tbody tr")), 21)

    def test_maps_follow_the_shown_encodings(self):
        self.open("qwen3-vl-4b", "qwen2.5-7b")
        captions = self.texts(".maps figcaption")
        self.assertEqual(len(captions), 4)
        self.assertTrue(captions[0].startswith("qwen3-vl-4b: pair "))
        self.set_input("shown-0", "false")
        self.assertEqual(self.texts(".maps figcaption"), [])

    def test_a_line_can_be_hidden(self):
        self.resize(1280)
        self.open("llama-3.1-8b")
        before = self.browser.evaluate(SHOWN)["accuracy"]
        self.browser.evaluate("document.querySelector('#accuracy-charts .legend input').focus()")
        self.browser.press(" ")
        after = self.browser.evaluate(SHOWN)["accuracy"]
        self.assertNotEqual(before, after)
        self.assertNotIn("exact, float32", after[0])

    def test_a_chart_shows_at_most_six_lines_at_first(self):
        self.open("llama-3.1-8b", "bloom-3b")
        shown = self.browser.evaluate(
            "[...document.querySelectorAll('#charts article')].map((chart) => "
            "chart.querySelectorAll('.legend input:checked').length)")
        self.assertGreaterEqual(max(shown), 5)
        self.assertLessEqual(max(shown), 6)

    def test_no_name_is_broken_inside_a_word(self):
        """A narrow page may break names of fields and keys only after a dot or underscore."""
        self.resize(390)
        self.open("llama-3.1-8b", "llama-2-7b-chat")
        self.browser.evaluate("document.querySelectorAll('details').forEach((one) => {"
                              " one.open = true; })")
        self.browser.settle()
        names, broken = self.browser.evaluate("""(() => {
          const broken = [];
          let names = 0;
          for (const name of document.querySelectorAll("th[scope=row]")) {
            ++names;
            const texts = document.createTreeWalker(name, NodeFilter.SHOW_TEXT);
            while (texts.nextNode()) {
              for (const word of texts.currentNode.data.matchAll(/[\\w.]+/g)) {
                const range = document.createRange();
                range.setStart(texts.currentNode, word.index);
                range.setEnd(texts.currentNode, word.index + word[0].length);
                if (range.getClientRects().length > 1) broken.push(word[0]);
              }
            }
          }
          return [names, broken];
        })()""")
        self.assertGreater(names, 20)
        self.assertEqual(broken, [])

    def test_charts_have_no_text_over_lines_and_fit_the_window(self):
        """Text in a chart would hide lines, so the meanings of marks are listed below it. No chart
        makes the page wider than the window."""
        spy = """(() => {
          const written = [];
          const original = CanvasRenderingContext2D.prototype.fillText;
          CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
            const at = this.getTransform().transformPoint(new DOMPoint(x, y));
            written.push([this.canvas, String(text), at.x, at.y]);
            return original.call(this, text, x, y, ...rest);
          };
          redrawAll();
          CanvasRenderingContext2D.prototype.fillText = original;
          return { all: written.length, inside: written.filter(([canvas, , x, y]) => {
            const area = Chart.getChart(canvas).chartArea;
            return x > area.left && x < area.right && y > area.top && y < area.bottom;
          }).map(([, text]) => text) };
        })()"""
        self.open("llama-3.1-8b", "llama-2-7b-chat")
        for width in (390, 1280):
            self.resize(width)
            written = self.browser.evaluate(spy)
            self.assertGreater(written["all"], 50)
            self.assertEqual(written["inside"], [])
            self.assertLessEqual(
                self.browser.evaluate("document.documentElement.scrollWidth"), width)
        self.assertEqual(self.texts("#context-charts .marks li"),
                         ["131072 tokens: llama-3.1-8b", "4096 tokens: llama-2-7b-chat",
                          "chosen context: 131,072"])

    def test_the_chart_of_scores_shows_the_described_lines_at_first(self):
        for configs in (["llama-3.1-8b"], ["llama-3.1-8b", "llama-2-7b-chat"]):
            self.open(*configs)
            sets = self.browser.evaluate(
                "(() => { const chart = Chart.getChart(document.querySelector('#distance-charts "
                "canvas')); return chart.data.datasets.map((set) => [set.label, Boolean(set.fill), "
                "set.data.reduce((best, one) => one.y > best.y ? one : best)]); })()")
            for part in ("q = k, head_dim", "k chosen to peak at 300", "random q and k: mean"):
                self.assertEqual(sum(part in label for label, _, _ in sets), len(configs), part)
            self.assertEqual(sum(fill for _, fill, _ in sets), len(configs))
            for label, _, best in sets:
                if "peak" in label:
                    self.assertEqual(best["x"], 300)

    def test_a_note_explains_a_position_out_of_range(self):
        self.open("llama-3.1-8b")
        for value, position, note in (
            ("500", 500, ""),
            ("70000", 70000, "The slider ends at 512."),
            ("3000000000", 2**31, "from 0 to 2,147,483,648: shown is 2,147,483,648."),
            ("-3", 0, "from 0 to 2,147,483,648: shown is 0."),
            ("2.4", 2, "Positions are whole"),
            ("", 2, "Not a number: still shown is 2."),
        ):
            self.set_input("position-number", value)
            self.assertEqual(self.browser.evaluate("state.position"), position)
            [said] = self.texts("#position-note")
            self.assertIn(note, said)
            self.assertEqual(said == "", note == "", value)
        self.set_input("position", 5)
        self.assertEqual(self.texts("#position-note"), [""])

    def test_the_contents_link_every_heading(self):
        """The heading Warnings exists only if there is a warning."""
        for arguments, first, warnings in ((["llama-3.1-8b"], "In words", 0),
                                           (["gpt2", self.config], "Field by field", 0),
                                           ([self.config, "--context", "100000"], "In words", 1)):
            self.open(*arguments)
            links = self.browser.evaluate("[...document.querySelectorAll('#contents a')].map((link)"
                                          " => [link.textContent, link.getAttribute('href')])")
            headings = self.browser.evaluate(
                "[...document.querySelectorAll('main section:not([hidden]) > h2')].map((heading) =>"
                " [heading.textContent, `#${heading.parentElement.id}`])")
            self.assertEqual(links, headings)
            self.assertGreater(len(links), 5)
            self.assertEqual(["Warnings", "#warnings"] in links, warnings == 1)
            self.assertEqual(next(text for text, _ in links if text != "Warnings"), first)
            self.assertEqual(len(self.texts("#warnings .warning")), warnings)

    def test_the_bar_never_hides_the_focused_element(self):
        self.resize(1280, 700)
        self.open("llama-3.1-8b", "llama-2-7b-chat")
        self.browser.settle()
        hidden = """(() => {
          const bar = document.querySelector(".chosen");
          const reachable = [...document.querySelectorAll("a, input, summary, [tabindex='0']")]
            .filter((one) => one.checkVisibility() && !bar.contains(one));
          const hidden = [];
          let stuck = 0;
          window.scrollTo(0, document.documentElement.scrollHeight);
          for (const one of reachable.reverse()) {
            one.focus();
            const { bottom } = bar.getBoundingClientRect();
            if (bar.getBoundingClientRect().top !== 0) continue;
            ++stuck;
            if (one.getBoundingClientRect().top < bottom) hidden.push(one.outerHTML);
          }
          document.querySelector("#contents a[href='#accuracy-charts']").click();
          const heading = document.getElementById("accuracy-heading").getBoundingClientRect();
          if (heading.top < bar.getBoundingClientRect().bottom) hidden.push("heading");
          return [stuck, hidden];
        })()"""
        stuck, under = self.browser.evaluate(hidden)
        self.assertGreater(stuck, 20)
        self.assertEqual(under, [])

    def test_the_keyboard_reaches_every_control(self):
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

    def test_elements_have_names_for_screen_readers(self):
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

    def test_tables_list_the_numbers_of_a_chart_and_the_effects_of_keys(self):
        self.open("llama-3.1-8b")
        self.browser.evaluate("document.querySelector('"
                              "#context-charts .marks + details > summary').click()")
        self.browser.settle()
        found = self.texts("#context-charts tbody tr")
        self.assertEqual(len(found), 33)
        self.assertEqual(found[0], "06.28319")
        self.assertTrue(found[-1].startswith("63"), found[-1])
        [theta] = [row for row in self.texts("#keys tbody tr") if row.startswith("rope_theta")]
        self.assertIn("base 500000 -> 10000", theta)

    def test_only_differing_fields_are_shown_at_first(self):
        self.open("llama-3.1-8b", "llama-3.1-70b")
        differing = ("[...document.querySelectorAll('#fields tr.differs')]"
                     ".filter((row) => !row.hidden).map((row) => row.cells[0].firstChild.data)")
        self.assertEqual(self.browser.evaluate(differing), ["layers"])
        visible = "[...document.querySelectorAll('#fields tbody tr')].filter((row) => !row.hidden)"
        self.assertEqual(self.browser.evaluate(f"{visible}.length"), 1)
        self.set_input("differences-only", "false")
        self.assertGreater(self.browser.evaluate(f"{visible}.length"), 10)
        self.assertEqual(self.browser.evaluate(f"{visible}[0].className"), "differs")

    def test_hostile_names_stay_text(self):
        config = LLAMA | {"model_type": HOSTILE}
        name = self.write_config(config, 'a<b onclick="hurt=1">&.json')
        self.open(name, "--pairing", "half")
        self.assertIsNone(self.browser.evaluate("window.hurt"))
        self.assertEqual(self.texts("h1"), [name])
        self.assertEqual(self.texts("img"), [])
        self.assertIn(HOSTILE, self.browser.evaluate("document.body.innerText"))

    def test_control_characters_are_shown_as_escapes(self):
        """The page and its charts also escape characters that reverse, hide or break text."""
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

    def test_light_and_dark_schemes_have_enough_contrast(self):
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
