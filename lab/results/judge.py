# SPDX-License-Identifier: Apache-2.0
"""Measures of finished cells, intervals of differences, and verdicts on claims."""

import math
import pathlib
import statistics
import sys
import typing

from cells import MALFORMED, Failure

sys.path.append(str(pathlib.Path(__file__).parents[1] / "data"))
from grammar import split_mix  # pylint: disable=wrong-import-position

# Quantile 0.975 of Student's t for 1, 2, ... degrees of freedom. Beyond the table the last value
# makes intervals slightly too wide.
T_QUANTILES = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423)
LEAST_WINDOWS = 8  # fewer windows give no interval
ENOUGH_TO_RESAMPLE = 32  # the bootstrap of fewer values gives too narrow an interval
RESAMPLES = 10_000
BOOTSTRAP_SEED = 1979
BYTES = 256  # a model that knows nothing has a loss of ln 256
UNITS = ("nats", "perplexity", "points", "percent")


class Measure(typing.NamedTuple):
    """Names a number of a finished cell: its loss at a multiple of the length, or a metric."""

    encoding: str  # the name of an arm, or of a family for its best arm
    multiple: int = 1
    rule: str = ""
    tokens: str = ""  # or "last_quarter"
    metric: str = ""

    def __str__(self):
        parts = [self.encoding, self.metric, self.rule,
                 f"{self.multiple}x" if self.multiple != 1 else ""]
        return " ".join(filter(None, parts)) + (", last quarter" if self.tokens else "")


class Claim(typing.NamedTuple):
    """Claims that `lower` is below `higher` by at least the margin."""

    statement: str
    lower: Measure
    higher: Measure
    margin: float


def read_measure(value, where):
    try:
        measure = Measure(value) if isinstance(value, str) else Measure(**value)
    except TypeError as error:
        raise Failure(MALFORMED, f"{where} must be a measure: {error}") from error
    if measure.tokens not in ("", "last_quarter"):
        raise Failure(MALFORMED, f"{where}: tokens must be last_quarter, got '{measure.tokens}'")
    return measure


def read_claim(value, where):
    try:
        claim = Claim(**value)
        return claim._replace(lower=read_measure(claim.lower, where),
                              higher=read_measure(claim.higher, where),
                              margin=float(claim.margin))
    except (TypeError, ValueError) as error:
        raise Failure(MALFORMED, f"{where}: {error}") from error


def t_interval(values):
    """The mean's 95 % interval for independent normal values; None for fewer than two."""
    if len(values) < 2:
        return None
    reach = (statistics.stdev(values) / math.sqrt(len(values))
             * T_QUANTILES[min(len(values) - 1, len(T_QUANTILES)) - 1])
    mean = statistics.fmean(values)
    return mean - reach, mean + reach


def bootstrap_interval(values):
    """Percentiles of resampled means (Efron 1979). Equal values give equal intervals."""
    if len(values) < LEAST_WINDOWS:
        return None
    random = split_mix(BOOTSTRAP_SEED)
    count = len(values)
    means = sorted(sum(values[next(random) % count] for _ in values) / count
                   for _ in range(RESAMPLES))
    cut = RESAMPLES // 40  # 2.5 % on each side
    return means[cut], means[RESAMPLES - 1 - cut]


def verdict_of(gaps, interval, margin):
    """A positive margin is the least effect that counts. A negative margin allows `lower` to be
    that much worse."""
    if not gaps:
        return "not run"
    border = min(margin, 0)
    if min(gaps) >= margin and (interval is None or interval[0] >= border):
        return "confirmed"
    opposite = max(gaps) <= -margin if margin > 0 else max(gaps) < margin
    if opposite and (interval is None or interval[1] < border):
        return "contradicted"
    return "not visible at this scale"


def summary(values):
    """The mean over seeds and its interval; None without values."""
    if not values:
        return None
    return {"mean": statistics.fmean(values), "interval": t_interval(values),
            "seeds": len(values)}


class Measures:
    def __init__(self, arms, arms_of_preset):
        self.arms = [arm for arm in arms if arm.cells]
        self.arms_of_preset = arms_of_preset

    def find_arm(self, name):
        """The arm of this name; for a family's name, its arm with the lowest mean loss."""
        exact = [arm for arm in self.arms if arm.name == name]
        family = [arm for arm in self.arms if arm.family and arm.family == name]
        if exact or not family:
            return exact[0] if exact else None
        return min(family, key=lambda arm: (self.loss(arm) or {"mean": math.inf})["mean"])

    @staticmethod
    def find_cell(arm, seed):
        return next((cell for cell in arm.cells if cell.seed == seed), None)

    @staticmethod
    def loss(arm):
        return summary([cell.done["validation_loss"] for cell in arm.cells if cell.curve["step"]])

    def value(self, cell, measure):
        if measure.metric.startswith("steps_to@"):
            return self.steps_fraction(cell, measure.metric.removeprefix("steps_to@"))
        if measure.metric.endswith("@rates"):
            return self.mean_over_rates(cell, measure.metric.removesuffix("@rates"))
        if measure.metric:
            return cell.metrics.get(measure.metric)
        length = length_of(cell, measure)
        return length and length[measure.tokens or "loss"]

    def values(self, arm, measure):
        values = [self.value(cell, measure) for cell in arm.cells]
        return [value for value in values if value is not None]

    def steps_fraction(self, cell, target):
        """Steps until the cell reaches the final validation loss of `target` with the same seed, as
        a share of that cell's steps. A cell that never reaches this loss counts all its steps, a
        lower bound."""
        arm = self.find_arm(target)
        other = arm and self.find_cell(arm, cell.seed)
        if not other or not other.curve["step"] or not cell.curve["step"]:
            return None
        end, losses, steps = other.curve["validation"][-1], *(
            cell.curve[key] for key in ("validation", "step"))
        reached = steps[-1]
        for n, loss in enumerate(losses):
            if loss <= end:  # interpolates linearly between rows
                reached = steps[n] if n == 0 else steps[n - 1] + (steps[n] - steps[n - 1]) * (
                    losses[n - 1] - end) / (losses[n - 1] - loss)
                break
        return reached / other.curve["step"][-1]

    def mean_over_rates(self, cell, metric):
        """The metric's mean over the arms of the cell's family, with the cell's seed; None if an
        arm is missing. The metric sensitivity is from Wortsman et al. 2023, arXiv 2309.14322."""
        family = next((arm.family for arm in self.arms if cell in arm.cells), "")
        cells = [self.find_cell(arm, cell.seed) for arm in self.arms if arm.family == family]
        rates = sum(arm.family == family for arm in self.arms_of_preset)
        if not family or len(cells) < rates or None in cells:
            return None
        if metric == "sensitivity":
            losses = [min(each.done["validation_loss"], math.log(BYTES)) for each in cells]
            return statistics.fmean(losses) - min(losses)
        values = [each.metrics.get(metric) for each in cells]
        return None if None in values else statistics.fmean(values)

    def judge(self, claim):
        """The claim's verdict, with the numbers behind it."""
        lower, higher = self.find_arm(claim.lower.encoding), self.find_arm(claim.higher.encoding)
        pairs = [(cell, self.find_cell(higher, cell.seed)) for cell in lower.cells
                 ] if lower and higher else []
        gaps = []
        for cell, other in pairs:
            values = other and (self.value(cell, claim.lower), self.value(other, claim.higher))
            if values and None not in values:
                gaps.append({"seed": cell.seed, "lower": values[0], "higher": values[1]})
        differences = [gap["higher"] - gap["lower"] for gap in gaps]
        interval, over = t_interval(differences), "seeds"
        if len(gaps) == 1:
            below, above = next(pair for pair in pairs if pair[0].seed == gaps[0]["seed"])
            interval = windows_interval(windows_of(below, claim.lower),
                                        windows_of(above, claim.higher))
            over = "windows"
        return {"statement": claim.statement,
                "verdict": verdict_of(differences, interval, claim.margin),
                "lower": str(claim.lower), "lower_arm": lower.name if pairs else "",
                "higher": str(claim.higher), "higher_arm": higher.name if pairs else "",
                "margin": claim.margin, "gaps": gaps,
                "gap": statistics.fmean(differences) if gaps else None,
                "interval": interval, "interval_over": over if interval else None}

    def beside(self, table, where):
        """A paper's table beside ours. Differences are to the first row, because sizes differ by
        orders of magnitude. Published perplexities are compared by their logarithms."""
        if table["unit"] not in UNITS or not table["values"]:
            raise Failure(MALFORMED, f"{where} must have a unit of {', '.join(UNITS)}, and values")
        comparable = math.log if table["unit"] == "perplexity" else float
        rows = []
        for value, published in table["values"]:
            measure = read_measure(value, where)
            arm = self.find_arm(measure.encoding)
            values = self.values(arm, measure) if arm else []
            ours = statistics.fmean(values) if values else None
            if values and table["unit"] == "percent":
                ours *= 100
            first = rows[0] if rows else {"published": published, "ours": ours}
            less = None if ours is None or first["ours"] is None else ours - first["ours"]
            rows.append({"measure": str(measure), "published": published,
                         "published_difference": comparable(published)
                         - comparable(first["published"]),
                         "ours": ours, "ours_difference": less})
        return rows


def length_of(cell, measure):
    return next((length for length in cell.done["lengths"] if length["multiple"]
                 == measure.multiple and length.get("rule", "") == measure.rule), None)


def windows_of(cell, measure):
    """The losses of windows whose mean is the measure. Returns [] if their mean is another number,
    because windows have different numbers of targets (hidden bytes, words of sentences)."""
    length = None if measure.metric or measure.tokens else length_of(cell, measure)
    if not length or None in (length["loss"], *length["windows"]) or not length["windows"]:
        return []
    mean = statistics.fmean(length["windows"])
    return length["windows"] if abs(mean - length["loss"]) <= 1e-6 * abs(mean) else []


def windows_interval(below, above):
    """The interval of the differences per window. A window has the same text in both lists."""
    if len(below) != len(above) or len(below) < LEAST_WINDOWS:
        return None
    differences = [one - other for one, other in zip(above, below)]
    return (t_interval if len(differences) < ENOUGH_TO_RESAMPLE else bootstrap_interval)(
        differences)
