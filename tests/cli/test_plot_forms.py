# SPDX-License-Identifier: Apache-2.0
"""Tests figures as JSON, CSV and pictures, and refusals. Pictures need gnuplot, and no test judges
how they look."""

import collections
import csv
import html
import io
import os
import re
import shlex
import shutil
import struct
import unittest

import numpy as np

from test_plot import PlotTest, rope
from tool import LLAMA, SCHEMAS, TWO_TYPES

HAS_GNUPLOT = shutil.which("gnuplot") is not None
NAMES = ["rotation", "corkscrew", "fast_slow", "axes", "wavelengths", "scaling", "tables", "shaw",
         "t5", "alibi", "sinusoidal", "decay", "similarity", "reach", "clipped", "base", "numerics",
         "attention"]


class FormsTest(PlotTest):
    def test_list_names_every_figure(self):
        self.assertEqual([line.split()[0] for line in
                          self.run_ok("plot", "--list").splitlines()], NAMES)
        document = self.run_json("plot", "plot", "--list")
        self.assertEqual([f["name"] for f in document["figures"]], NAMES)

    def test_csv_has_the_numbers_of_json(self):
        for arguments in (["decay", "--last", 8], ["attention"], ["corkscrew"], ["similarity"]):
            rows = list(csv.DictReader(io.StringIO(self.run_ok("plot", *arguments, "--csv"))))
            wanted = []
            for panel in self.panels(*arguments):
                for series in panel["series"]:
                    absent = [None] * len(series["x"])
                    wanted += zip(series["x"], series["y"], series.get("z", absent),
                                  series.get("lower", absent))
                for y, row in enumerate(panel.get("map", {}).get("values", [])):
                    wanted += [(x, y, value, None) for x, value in enumerate(row)]
            got = [tuple(float(row[key]) if row[key] else None
                         for key in ("x", "y", "z", "lower")) for row in rows]
            self.assertTrue(got == wanted, arguments)

    def test_each_embedding_of_a_config_is_a_series(self):
        config = self.write_config(TWO_TYPES)
        (panel,) = self.panels("decay", config)
        self.assertEqual([s["name"] for s in panel["series"]],
                         [f"{config} (full_attention)", f"{config} (sliding_attention)"])
        (panel,) = self.panels("decay", config, "--layer-type", "full_attention")
        self.assertEqual(len(panel["series"]), 1)

    def test_wrong_arguments_are_refused(self):
        two = self.write_config(TWO_TYPES, "two.json")
        xpos = [*rope(64), "--set", "xpos={}"]
        for code, parts, arguments in (
            (2, ["NAME is required", "decay"], []),
            (2, ["--words is for attention"], ["decay", "--words", "a b"]),
            (2, ["--dim is for"], ["decay", "--dim", "8"]),
            (2, ["--last is for"], ["scaling", "--last", "8"]),
            (2, ["--context is for a CONFIG, or wavelengths"], ["decay", "--context", "8"]),
            (2, ["--last must be at least 1, got 0"], ["decay", "--last", "0"]),
            (2, ["its heads, must be at most 32, got 33"], ["alibi", "--dim", "33"]),
            (2, ["--dim times --last"], ["sinusoidal", "--dim", "65536", "--last", "9999"]),
            (2, ["--last must be in [1, 262144]"], ["base", "--last", "262145"]),
            (2, ["t5 takes no CONFIG"], ["t5", self.config]),
            (2, ["clipped takes one CONFIG, got 2"], ["clipped", self.config, self.config]),
            (2, ["at most 6"], ["decay", *[self.config] * 7]),
            (2, ["--layer-type (full_attention, sliding_attention)"], ["clipped", two]),
            (2, ["--set is for a CONFIG"], ["decay", "--set", "head_dim=64"]),
            (2, ["2 to 24 words, got 1"], ["attention", "--words", "one"]),
            (2, ["several axes, and those of config.json have one"], ["axes", self.config]),
            (2, ["--last must be in [1, 127]"], ["axes", "--last", "128"]),
            (5, ["xPos"], ["decay", *xpos]),
            (5, ["gpt2: the model has no rotary embedding"], ["decay", self.config, "gpt2"]),
        ):
            self.assert_fails(code, parts, "plot", *arguments)
        self.assertEqual(self.run_tool("plot", "decay", "--csv", "--json").returncode, 2)

    def test_unusable_tables_are_refused(self):
        np.save(self.path / "flat.npy", np.zeros(4, np.float32))
        np.save(self.path / "half.npy", np.zeros((2, 2), np.float16))
        self.assert_fails(2, ["--table must be [positions, features]"], "plot", "tables",
                          "--table", "flat.npy")
        self.assert_fails(2, ["--table must be of f32 or f64"], "plot", "tables", "--table",
                          "half.npy")

    def test_a_missing_gnuplot_exits_with_5(self):
        self.assert_fails(5, ["apt-get install gnuplot-nox"], "plot", "decay", "-o", "d.svg",
                          environment={"PATH": str(self.path)})


class EveryFigureTest(PlotTest):
    """docs/figures.md has a command for each figure, and docs/figures/ has the pictures."""

    def test_each_documented_command_draws_its_figure(self):
        page = (SCHEMAS.parent / "figures.md").read_text()
        commands = re.findall(r"^rotary plot (.*) -o docs/figures/(\w+).svg$", page, re.MULTILINE)
        self.assertEqual({shlex.split(command)[0] for command, _ in commands}, set(NAMES))
        for command, name in commands:
            draw = ["-o", f"{name}.svg"] if HAS_GNUPLOT else []
            document = self.run_json("plot", "plot", *shlex.split(command), *draw)
            figure = document["figure"]
            title = f"<title>{html.escape(figure['title'], quote=False)}</title>"
            self.assertTrue(figure["caption"].endswith("."))
            for panel in figure["panels"]:
                self.assertTrue(panel["x"]["label"] or panel["x"].get("ticks"))
                named = [series for series in panel["series"] if series["name"]]
                self.assertLessEqual(len(named), 6, name)
                for series in panel["series"]:
                    self.assertEqual(len(series["x"]), len(series["y"]))
            shown = SCHEMAS.parent / "figures" / f"{name}.svg"
            self.assertLess(shown.stat().st_size, 60000)
            self.assertTrue(title in shown.read_text(), name)
            if HAS_GNUPLOT:
                self.assertEqual(document["output"], f"{name}.svg")
                self.assertTrue(title in (self.path / f"{name}.svg").read_text(), name)


@unittest.skipUnless(HAS_GNUPLOT, "gnuplot is not installed (gnuplot-nox)")
class PictureTest(PlotTest):
    def test_a_picture_has_the_name_of_its_figure(self):
        self.assertIn("decay.svg: ", self.run_ok("plot", "decay"))
        self.assertTrue((self.path / "decay.svg").exists())

    def test_png_has_twice_the_pixels_of_svg_in_each_theme(self):
        for theme in ("light", "dark"):
            self.run_ok("plot", "t5", "-o", f"{theme}.png", "--theme", theme)
            picture = (self.path / f"{theme}.png").read_bytes()
            self.assertTrue(picture.startswith(b"\x89PNG"))
            self.run_ok("plot", "t5", "-o", "t5.svg", "--force")
            size = re.search(r'width="(\d+)" height="(\d+)"', (self.path / "t5.svg").read_text())
            self.assertEqual(struct.unpack(">II", picture[16:24]),
                             tuple(2 * int(pixels) for pixels in size.groups()))

    def test_lines_differ_by_dashes_and_point_shapes(self):
        self.run_ok("plot", "rotation", "-o", "lines.svg")
        picture = (self.path / "lines.svg").read_text()
        dashes = set(re.findall(r"stroke-dasharray='([^']*)'", picture))
        self.assertEqual(len(dashes), 6)  # 5 lines that are not solid, and the circle
        self.run_ok("plot", "wavelengths", self.config, "llama-3.1-8b", "-o", "points.svg")
        uses = re.findall(r"href='#(gpPt\d+)'", (self.path / "points.svg").read_text())
        # Each shape is used for 8 or 64 pairs, and once in the legend.
        self.assertLessEqual({9, 65}, set(collections.Counter(uses).values()))

    def test_words_reach_the_picture_as_plain_text(self):
        # Quotes and gnuplot's markup must stay plain text.
        words = "it's \"it\" `id` $(id) \\n x_y {/Bold x} <b> & 'a'"
        self.run_ok("plot", "attention", "--words", words, "-o", "words.svg")
        picture = (self.path / "words.svg").read_text()
        for word in words.replace("'", "\u2019").split():
            self.assertTrue(f"<text>{word}</text>" in html.unescape(picture), word)

    def test_bytes_outside_utf8_are_escaped_in_pictures(self):
        name = self.write_config(LLAMA, os.fsdecode(b"a\xff\nb.json"))
        self.run_ok("plot", "decay", name, "-o", "d.svg")
        self.assertTrue("<text>a\\xff\\u000ab.json</text>" in (self.path / "d.svg").read_text())
