# SPDX-License-Identifier: Apache-2.0
"""An experiment's panels: figures.py draws the main ones with Matplotlib, page.py all."""

import statistics
import typing

MULTIPLES = "length, in multiples of the trained one"
CURVES = {"overhead": "processor time of a step beyond one without positions (share)",
          "accuracy": "symbols that are right (share)", "exact": "answers that are exact (share)",
          "loss": "loss of the answers (nats)", "ms": "milliseconds of processor time of a step"}
CELLS = {"bleu": "BLEU", "accuracy": "share that is right", "spearman": "Spearman's correlation"}
PAIRS = (("energy of q and k", lambda pair: pair["q_energy"] + pair["k_energy"]),
         ("loss if it does not turn (nats more)", lambda pair: pair["loss_unturned"]),
         ("loss without it (nats more)", lambda pair: pair["loss_removed"]),
         ("attended distance without it (tokens more)", lambda pair: pair["distance_removed"]))


class Line(typing.NamedTuple):
    """Means over seeds at each x, with a band from the least to the largest value."""

    name: str
    colour: int
    dash: int
    x: list
    mean: list
    least: list
    most: list


class Panel:
    def __init__(self, title, x, y, caption="", logarithmic=False):
        self.title, self.x, self.y = title, x, y
        self.caption, self.logarithmic = caption, logarithmic
        self.lines = []
        self.mark = None  # (a value of y, its name)
        self.range_of_y = None  # None: the lines' range

    def add(self, name, look, points):
        """look: (colour number, dash number). points: (x, y); drops those whose y is None."""
        groups = {}
        for x, y in points:
            if y is not None:
                groups.setdefault(x, []).append(y)
        if groups:
            columns = zip(*((x, statistics.fmean(ys), min(ys), max(ys))
                            for x, ys in sorted(groups.items())))
            self.lines.append(Line(name, *look, *map(list, columns)))

    def has_contours(self):
        """Whether a line has several points, and not all values are equal."""
        return any(len(line.x) > 1 for line in self.lines) and len(
            {y for line in self.lines for y in line.mean}) > 1


class Bars:
    """A metric by arm: each seed's value and interval, and their mean with its interval."""

    def __init__(self, results, metric, label):
        self.label = label
        self.arms = [(arm["name"], arm["metrics"][metric], [
            (cell["metrics"][metric], interval_of(cell["metrics"], metric))
            for cell in arm["cells"] if metric in cell["metrics"]])
            for arm in results["arms"] if arm["metrics"].get(metric)]


def interval_of(metrics, metric):
    low, high = metrics.get(metric + "_low"), metrics.get(metric + "_high")
    half = metrics.get(metric + "_half_width")
    if None not in (low, high):
        return low, high
    return (metrics[metric] - half, metrics[metric] + half) if half is not None else None


def looks_of(results):
    """A colour for each family or arm without a family, and a dash for each arm of a family."""
    families = {}
    for arm in results["arms"]:
        families.setdefault(arm["family"] or arm["name"], []).append(arm["name"])
    return {name: (n, n // 6 + ordinal) for n, names in enumerate(families.values())
            for ordinal, name in enumerate(names)}


def of_arms(results, panel, points):
    """Adds a line for each arm. points(cell) gives the points of one cell."""
    looks = looks_of(results)
    for arm in results["arms"]:
        panel.add(arm["name"], looks[arm["name"]],
                  [point for cell in arm["cells"] for point in points(cell)])
    return panel


def curve_panel(results, key, label, loss="validation"):
    """Losses during training. A point is a log row; its x is the mean of `key` over the seeds."""
    panel = Panel(f"{loss.capitalize()} loss, against {label.split(' of ')[0]}", label,
                  f"{loss} loss (nats)")
    looks = looks_of(results)
    for arm in results["arms"]:
        curves = [cell["curve"] for cell in arm["cells"]]
        xs = [statistics.fmean(row) for row in zip(*(curve[key] for curve in curves))]
        panel.add(arm["name"], looks[arm["name"]],
                  [point for curve in curves for point in zip(xs, curve[loss])])
    target = next((arm for arm in results["arms"] if arm["name"] == results["target"]), None)
    if target and loss == "validation":
        panel.mark = (target["loss"]["mean"], f"where {target['name']} ends")
    return panel


def length_panel(results, key, label):
    return of_arms(results, Panel(f"Longer sequences, {label}", MULTIPLES, "loss (nats)",
                                  "Finished models on the same text, cut into longer sequences."),
                   lambda cell: [(one["multiple"], one[key]) for one in cell["lengths"]
                                 if one["rule"] == ""])


def unit_of(arm):
    """The tokens of a sequence at multiple 1."""
    return arm["training"].get("evaluate_unit") or arm["model"]["tokens"]


def positions(arm, cell, multiple, rule):
    width = unit_of(arm) / 8
    return [((n + 0.5) * width, loss) for one in cell["lengths"]
            if (one["multiple"], one["rule"]) == (multiple, rule)
            for n, loss in enumerate(one["by_position"] or ())]


def position_panel(results, multiple):
    return of_arms(results, Panel(
        "Where in the sequence", f"position of the byte in a sequence of {multiple} lengths",
        "loss (nats)", "All lines rise and fall with the text: compare their distances."),
        lambda cell: positions(results["arms"][0], cell, multiple, ""))


def rule_panels(arm, multiple):
    """An arm stretched by each rule, without training."""
    rules = list(dict.fromkeys(one["rule"] for one in arm["cells"][0]["lengths"]))
    if len(rules) < 2:
        return
    by_length = Panel(f"{arm['name']}, stretched by a rule", MULTIPLES, "loss (nats)")
    by_position = Panel(f"{arm['name']}, by a rule, where in the sequence",
                        f"position of the byte in a sequence of {multiple} lengths", "loss (nats)")
    for n, rule in enumerate(rules):
        name = rule or "as trained"
        by_length.add(name, (n, n // 6), [
            (one["multiple"], one["loss"] if one["last_quarter"] is None else one["last_quarter"])
            for cell in arm["cells"] for one in cell["lengths"]
            if one["rule"] == rule or one["multiple"] == 1])
        by_position.add(name, (n, n // 6), [point for cell in arm["cells"]
                                            for point in positions(arm, cell, multiple, rule)])
    yield by_length
    yield by_position


def rate_panels(results):
    """A line per family over its learning rates."""
    def rate_of(arm):
        return arm["training"]["learning_rate"]
    rates = list(map(rate_of, results["arms"]))
    for label, value in (
            ("validation loss at the end (nats)", lambda cell: cell["loss"]),
            ("largest norm of the gradients",
             lambda cell: cell["metrics"].get("largest_gradient_norm")),
            ("share of steps with a spike of the loss",
             lambda cell: cell["metrics"].get("loss_spikes"))):
        panel = Panel("", "learning rate", label, logarithmic=max(rates) > 20 * min(rates))
        for n, family in enumerate(dict.fromkeys(arm["family"] for arm in results["arms"])):
            panel.add(family, (n, n // 6),
                      [(rate_of(arm), value(cell)) for arm in results["arms"]
                       if arm["family"] == family for cell in arm["cells"]])
        if panel.has_contours():
            yield panel


def metric_panels(results, *names):
    """Metrics with a value per length, name@512 or name@2x: a panel per task."""
    for name in names:
        panels = {}
        for arm in results["arms"]:
            points = [(key.partition("@")[2], value) for cell in arm["cells"]
                      for key, value in cell["metrics"].items() if key.startswith(name + "@")]
            task = (arm["model"] or {}).get("task", "")
            if points:
                tokens = not points[0][0].endswith("x")
                panel = panels.setdefault(task, Panel(
                    task, "length (tokens)" if tokens else MULTIPLES, CURVES[name],
                    logarithmic=tokens))
                n = len(panel.lines)
                panel.add(arm["name"].removeprefix(task + "-"), (n, n // 6),
                          [(float(x.rstrip("x")), y) for x, y in points])
        yield from (panel for panel in panels.values() if panel.has_contours())


def has_metric(results, metric):
    return any(metric in cell["metrics"] for arm in results["arms"] for cell in arm["cells"])


def pair_panels(results):
    """Panels of the examined pairs of each arm, with a line per layer."""
    for arm in results["arms"]:
        pairs = [pair for cell in arm["cells"] for pair in cell["pairs"]]
        for label, value in PAIRS if pairs else ():
            panel = Panel(arm["name"], "pair, the fastest first", label)
            for layer in sorted({pair["layer"] for pair in pairs}):
                panel.add(f"layer {layer}", (layer, 0), [(pair["pair"], value(pair))
                                                         for pair in pairs
                                                         if pair["layer"] == layer])
            yield panel


def main_panels(results):
    if not results["arms"]:
        return []
    if results["arms"][0]["family"]:
        return list(rate_panels(results))
    panels = list(metric_panels(results, "overhead", "accuracy"))
    panels += [Bars(results, *metric) for metric in CELLS.items() if has_metric(results, metric[0])]
    is_bare = not panels
    if is_bare or has_metric(results, "bleu"):
        panels.append(curve_panel(results, "step", "steps"))
    if is_bare:
        panels.append(length_panel(results, "last_quarter", "the last quarter"))
    return [panel for panel in panels if isinstance(panel, Bars) or panel.has_contours()]


def all_panels(results):
    if not results["arms"]:
        return []
    multiple = max((one["multiple"] for arm in results["arms"]
                    for one in arm["cells"][0]["lengths"]), default=1)
    panels = [*(rate_panels(results) if results["arms"][0]["family"] else ()),
              curve_panel(results, "step", "steps"), curve_panel(results, "tokens", "tokens"),
              curve_panel(results, "cpu_s", "CPU seconds of training"),
              curve_panel(results, "step", "steps", "training"),
              *metric_panels(results, *CURVES),
              length_panel(results, "last_quarter", "the last quarter"),
              length_panel(results, "loss", "all of the text"),
              position_panel(results, multiple),
              *(panel for arm in results["arms"] for panel in rule_panels(arm, multiple)),
              *pair_panels(results)]
    return [panel for panel in panels if panel.has_contours()]
