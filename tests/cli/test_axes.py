# SPDX-License-Identifier: Apache-2.0
"""Tests rotate, table and plot for positions on several axes. NumPy computes the expected values in
double from the axis and frequency of each pair."""

import json

import numpy as np

from tool import LLAMA, ToolTest

# Each is (value of --set axes, axis of each pair, frequency of each pair).
VISION = ({"pairs": [2, 2], "exponents": "own"}, [0, 0, 1, 1], [1, 0.01, 1, 0.01])
VIDEO = ({"pairs": [2, 1, 1], "exponents": "shared", "arrangement": "interleaved"},
         [0, 1, 2, 0], [1, 0.1, 0.01, 0.001])
SWAPPED = ({"pairs": [1, 3], "exponents": "own", "order": [1, 0], "scales": [0.5, -2]},
           [1, 1, 1, 0], [-2, -2 * 1e4 ** (-1 / 3), -2 * 1e4 ** (-2 / 3), 0.5])


def numbers(layout, head_dim=8):
    return ["--set", f"head_dim={head_dim}", "--set", "base=1e4", "--set", "pairing=half",
            "--set", f"axes={json.dumps(layout[0])}"]


def angles(layout, positions):
    """Maps positions [axes, ...] to angles [..., pairs]: coordinate on the pair's axis times ω."""
    _, axis, inv_freq = layout
    return np.moveaxis(np.asarray(positions, np.float64)[axis], 0, -1) * inv_freq


class RotateAxesTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(23)

    def arguments(self, layout, order="bthd"):
        return ["rotate", "--config", "rope", *numbers(layout), "--layout", order, "--q", "q.npy",
                "--out-q", "o.npy", "--force"]

    def assert_rotated(self, x, angle):
        a, b = np.split(x.astype(np.float64), 2, axis=-1)
        cos, sin = np.cos(angle)[..., None, :], np.sin(angle)[..., None, :]
        wanted = np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)
        np.testing.assert_allclose(np.load(self.path / "o.npy"), wanted, rtol=0, atol=2e-6)

    def test_each_pair_rotates_by_the_coordinate_of_its_axis(self):
        x = self.random.standard_normal((2, 5, 3, 8)).astype(np.float32)
        self.save("q.npy", x)
        for layout in (VISION, VIDEO, SWAPPED):
            axes = len(layout[0]["pairs"])
            integers = self.random.integers(-99, 99, (axes, 2, 5))
            for positions in (integers, integers.astype(np.int32), integers[:, :1],
                              self.random.uniform(-9, 9, (axes, 2, 5))):
                self.save("p.npy", positions)
                document = self.run_json("rotate", *self.arguments(layout), "--positions", "p.npy")
                self.assertEqual(document["axes"], axes)
                self.assert_rotated(x, angles(layout, positions))

    def test_positions_with_two_dimensions_are_axes_and_tokens(self):
        # x has as many batch rows as axes, so [axes, tokens] looks like [batch, tokens].
        for layout in (VISION, VIDEO):
            axes = len(layout[0]["pairs"])
            x = self.random.standard_normal((axes, 5, 3, 8)).astype(np.float32)
            positions = self.random.integers(-99, 99, (axes, 5))
            self.save("p.npy", positions)
            for order, held in (("bthd", x), ("thd", x[0])):
                self.save("q.npy", held)
                self.run_ok(*self.arguments(layout, order), "--positions", "p.npy")
                self.assert_rotated(held, angles(layout, positions))

    def test_one_position_for_each_token_applies_to_all_axes(self):
        x = self.random.standard_normal((1, 5, 3, 8)).astype(np.float32)
        self.save("q.npy", x)
        wanted = angles(VIDEO, [np.arange(5) + 7] * 3)
        for positions in (np.arange(5) + 7, np.tile(np.arange(5) + 7, (3, 1))):
            self.save("p.npy", positions)
            self.run_ok(*self.arguments(VIDEO), "--positions", "p.npy")
            self.assert_rotated(x, wanted)
        self.assertIn("first position 7, 3 axes,",
                      self.run_ok(*self.arguments(VIDEO), "--first-position", 7))
        self.assert_rotated(x, wanted)

    def test_positions_of_a_wrong_shape_are_refused(self):
        self.save("q.npy", np.zeros((2, 5, 1, 8), np.float32))
        wanted = ("[tokens] = [5], the same on all axes, or [axes, tokens] = [3, 5] or "
                  "[axes, batch, tokens] = [3, 2, 5], got ")
        for shape in ((2, 5), (4, 5), (3, 4), (3, 3, 5), (2, 2, 5), (3, 2, 6), (3, 1, 2, 5), (),
                      (6,)):
            self.save("p.npy", np.zeros(shape, np.int64))
            self.assert_fails(2, ["--positions must have the shape " + wanted],
                              *self.arguments(VIDEO), "--positions", "p.npy")
            self.assertFalse((self.path / "o.npy").exists())
        self.save("p.npy", np.zeros((3, 2, 5), np.int64))
        self.assert_fails(2, ["[batch, tokens] = [2, 5], got [3, 2, 5]"], "rotate", "--config",
                          "rope", *numbers(VIDEO)[:-2], *self.arguments(VIDEO)[-7:],
                          "--positions", "p.npy")
        self.assert_fails(2, ["rope takes its numbers by --set"], "rotate", "--config", "rope",
                          *self.arguments(VIDEO)[-7:])

    def test_a_config_with_mrope_sections_rotates_by_three_axes(self):
        sections = {"type": "mrope", "mrope_section": [4, 1, 3]}
        self.write_config(LLAMA | {"model_type": "qwen2_vl", "rope_scaling": sections})
        layout = ({}, [0, 0, 0, 0, 1, 2, 2, 2], 1e4 ** (-np.arange(8) / 8))
        x = self.random.standard_normal((2, 5, 3, 16)).astype(np.float32)
        positions = self.random.integers(0, 99, (3, 2, 5))
        self.save("q.npy", x)
        self.save("p.npy", positions)
        arguments = ["rotate", "--config", "config.json", *self.arguments(VIDEO)[-7:]]
        self.assertEqual(self.run_json("rotate", *arguments, "--positions", "p.npy")["axes"], 3)
        self.assert_rotated(x, angles(layout, positions))
        text = self.run_ok("table", "config.json", "--positions", "5/6/7")
        self.assertEqual(len(text.splitlines()), 9)
        self.assertIn("5/6/7        7 ", text)


class TableAxesTest(ToolTest):
    def table(self, layout, positions, *more):
        return ["table", "rope", *numbers(layout), "--positions", positions, *more]

    def test_slashes_separate_the_coordinates_of_axes(self):
        for layout, text, tokens in (
            (VISION, "3/-5", [[3, -5]]),
            (VISION, "0:2/7:10,100,-1/4", [[0, 7], [0, 8], [0, 9], [1, 7], [1, 8], [1, 9],
                                           [100, 100], [-1, 4]]),
            (VIDEO, "1/0:2/0:2, 5:7", [[1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1], [5, 5, 5],
                                       [6, 6, 6]]),
        ):
            document = self.run_json("table", *self.table(layout, text))
            self.assertEqual(document["positions"], tokens)
            angle = angles(layout, np.transpose(tokens))
            np.testing.assert_allclose(document["cos"], np.cos(angle), rtol=0, atol=1e-7)
            np.testing.assert_allclose(document["sin"], np.sin(angle), rtol=0, atol=1e-7)

    def test_a_position_without_slashes_applies_to_all_axes(self):
        document = self.run_json("table", *self.table(VIDEO, "3:5"))
        self.assertEqual(document["positions"], [3, 4])
        np.testing.assert_allclose(document["cos"], np.cos(angles(VIDEO, [[3, 4]] * 3)),
                                   rtol=0, atol=1e-7)

    def test_malformed_coordinates_are_refused(self):
        for text, part in (("1/2/3", "or 2 between slashes, got 3: '1/2/3'"), ("1/", "an integer"),
                           ("0:0/1", "START < STOP"), ("0:99999/0:99999", "at most"),
                           ("0:9223372036854775807/0:9223372036854775807", "at most")):
            self.assert_fails(2, [part], *self.table(VISION, text))
        self.assert_fails(2, ["one coordinate for each token, got 2"], "table", self.config,
                          "--positions", "1/2")


class PlotAxesTest(ToolTest):
    def panels(self, *arguments):
        return self.run_json("plot", "plot", "axes", *arguments)["figure"]["panels"]

    def assert_panels(self, layout, panels, grid_axes, last):
        """Checks the wavelengths of each axis. Then checks the maps of a fast pair, of a slow pair,
        of all pairs on the axis of rows, and of all pairs."""
        _, axis, inv_freq = (np.array(part) for part in layout)
        strip, *maps = panels
        self.assertEqual(len(strip["series"]), axis.max() + 1)
        for index, series in enumerate(strip["series"]):
            pairs = np.flatnonzero(axis == index)
            self.assertEqual(series["x"], pairs.tolist())
            np.testing.assert_allclose(series["y"], 2 * np.pi / np.abs(inv_freq[pairs]))
        position = np.zeros((axis.max() + 1, last + 1, last + 1))
        position[list(grid_axes)] = np.mgrid[:last + 1, :last + 1] - (last + 1) // 2
        score = np.cos(position[axis] * inv_freq[:, None, None])
        rows, columns = (np.flatnonzero(axis == a) for a in grid_axes)
        fast = rows[np.argmax(np.abs(inv_freq[rows]))]
        slow = [c for c in columns if 2 * np.pi / abs(inv_freq[c]) >= last + 1]
        slow = max(slow, key=lambda c: abs(inv_freq[c])) if slow else columns[-1]
        for panel, pairs in zip(maps, ([fast], [slow], rows, np.arange(len(axis))), strict=True):
            np.testing.assert_allclose(panel["map"]["values"], score[pairs].mean(0), atol=1e-12)
            self.assertLessEqual(panel["map"]["lowest"], np.min(panel["map"]["values"]))
        self.assertIn(f"pair {fast}: rows", maps[0]["title"])
        self.assertIn(f"pair {slow}: columns", maps[1]["title"])

    def test_the_maps_show_the_scores_of_a_grid(self):
        for layout, grid_axes in ((VISION, (0, 1)), (VIDEO, (1, 2)), (SWAPPED, (0, 1))):
            for last in (1, 6, 7):
                panels = self.panels("rope", *numbers(layout), "--last", last)
                self.assert_panels(layout, panels, grid_axes, last)

    def test_the_default_figure_has_20_pairs_for_each_of_two_axes(self):
        own = 1e4 ** (-np.arange(20) / 20)
        self.assert_panels(({}, [0] * 20 + [1] * 20, [*own, *own]), self.panels(), (0, 1), 20)

    def test_grids_span_minus_one_to_one_if_the_fastest_pair_turns_once_per_unit(self):
        """DINOv3's fastest pair does. Its coordinates are the centres of equal parts of [-1, 1]."""
        turn = 2 * np.pi
        layout = ({"pairs": [2, 2], "exponents": "own", "scales": [turn, turn]},
                  [0, 0, 1, 1], [turn, turn / 100, turn, turn / 100])
        _, *maps = self.panels("rope", *numbers(layout), "--last", 20)
        offset = (np.arange(21) - 10) * 2 / 21
        np.testing.assert_allclose(maps[0]["map"]["values"],
                                   np.tile(np.cos(turn * offset)[:, None], 21), atol=1e-12)
        self.assertIn("pair 0: rows, a turn in 10.5 patches", maps[0]["title"])
        self.assertIn("pair 3: columns, a turn in 1.05e+03 patches", maps[1]["title"])
        figure = self.run_json("plot", "plot", "axes", "rope", *numbers(layout))["figure"]
        self.assertIn("at equal distances between -1 and 1", figure["caption"])
        self.assertEqual(figure["panels"][0]["y"]["label"], "wavelength (the image is 2 wide)")
