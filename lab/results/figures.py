# SPDX-License-Identifier: Apache-2.0
"""Draws panels as pictures with Matplotlib."""

import copy
import io
import math

import matplotlib
import panels as described
from matplotlib import pyplot

COLOURS = ("#0072B2", "#D55E00", "#007A59", "#000000", "#AA3377", "#7A6A00")
DASHES = ("-", "--", ":", "-.")
MOST_LINES = 6

matplotlib.use("svg")


def parts_of(panel):
    """Splits a panel with many lines into panels of at most six, with a common range of y."""
    lines = [] if isinstance(panel, described.Bars) else panel.lines
    count = math.ceil(len(lines) / MOST_LINES)
    if count < 2:
        return [panel]
    size = math.ceil(len(lines) / count)
    parts = [copy.copy(panel) for _ in range(count)]
    values = [y for line in lines for y in line.mean]
    margin = (max(values) - min(values)) / 20
    for n, part in enumerate(parts):
        part.lines = lines[n * size:(n + 1) * size]
        part.range_of_y = (min(values) - margin, max(values) + margin)
    return parts


def draw_lines(panel, axes):
    for line in panel.lines:
        axes.plot(line.x, line.mean, label=line.name, color=COLOURS[line.colour % len(COLOURS)],
                  linestyle=DASHES[line.dash % len(DASHES)])
    if panel.logarithmic:
        axes.set_xscale("log")
    if panel.range_of_y:
        axes.set_ylim(panel.range_of_y)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncol=3, frameon=False)
    axes.set(xlabel=panel.x, ylabel=panel.y, title=panel.title)


def draw_bars(panel, axes):
    for place, (_, summary, cells) in enumerate(panel.arms):
        for n, (value, interval) in enumerate(cells, 1):
            axes.plot(place + 0.1 * n, value, "o", color=COLOURS[0], markersize=4)
            if interval:
                axes.vlines(place + 0.1 * n, *interval, color=COLOURS[0])
        if summary["interval"]:
            axes.vlines(place - 0.1, *summary["interval"], color=COLOURS[1])
    axes.set_xticks(range(len(panel.arms)), [name for name, _, _ in panel.arms], rotation=20)
    axes.set(ylabel=panel.label, title="lines: 95 % of one seed, and of the seeds' mean")


def drawn(panels, title):
    """An SVG's bytes. Equal numbers give equal bytes."""
    matplotlib.rcParams.update({"svg.hashsalt": title, "svg.fonttype": "none"})
    parts = [parts_of(panel) for panel in panels]
    columns = max(min(2, len(panels)), max(map(len, parts)))
    panels = [part for each in parts for part in each]
    rows = math.ceil(len(panels) / columns)
    picture, axes = pyplot.subplots(rows, columns, figsize=(5.5 * columns, 4 * rows + 0.5),
                                    squeeze=False, layout="constrained")
    picture.suptitle(f"{title}. Means of the seeds.", parse_math=False, wrap=True)
    for place, panel in zip(axes.flat, panels):
        (draw_bars if isinstance(panel, described.Bars) else draw_lines)(panel, place)
    for place in axes.flat[len(panels):]:
        place.remove()
    buffer = io.BytesIO()
    picture.savefig(buffer, format="svg", metadata={"Date": None})
    pyplot.close(picture)
    return buffer.getvalue()


def figures_of(results):
    """(name, bytes) of each figure."""
    if main := described.main_panels(results):
        yield f"{results['name']}.svg", drawn(main, results["title"])
    if pairs := list(described.pair_panels(results)):
        yield f"{results['name']}-pairs.svg", drawn(
            pairs, "What each pair of a trained model does")
