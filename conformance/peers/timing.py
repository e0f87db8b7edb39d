# SPDX-License-Identifier: Apache-2.0
"""Verifies each contestant of a group, then times them in interleaved rounds."""

import dataclasses
import random
import time

from verify import verdict_on
from workload import Workload

SAMPLE_NS = 200_000  # length of a sample, which has at most MOST_CALLS calls
MOST_CALLS = 2000
LONG_NS = 20_000_000  # a longer call fills the caches with its own data
FEWEST_ROUNDS = 12
PLANTED = 1.01  # every verification must refuse a base with this factor


class DiffersError(Exception):
    """A contestant's results are wrong."""


@dataclasses.dataclass
class Running:
    contestant: object
    runner: object
    verdict: object = None
    calls: int = 0
    is_long: bool = False
    best: float = float("inf")

    def prepare(self):
        once = self.runner.nanoseconds(1)
        self.calls = int(min(max(SAMPLE_NS // max(once, 1), 1), MOST_CALLS))
        self.is_long = once >= LONG_NS

    def sample(self):
        """Warms up before short calls, since other contestants have used the caches."""
        if not self.is_long:
            self.runner.nanoseconds(self.calls)
        self.best = min(self.best, self.runner.nanoseconds(self.calls) / self.calls)


def measured(contestants, work, seconds):
    running = [Running(each, each.make(work)) for each in contestants]
    try:
        for each in running:
            verify(each, work)
        work.fill()
        rounds = rounds_of(running, seconds, FEWEST_ROUNDS)
        return [result_of(each, work, rounds) for each in running]
    finally:
        for each in running:
            each.runner.free()


def verify(each, work):
    recipe = each.contestant.recipe
    if recipe is None:
        return
    each.verdict = verdict_on(each.runner, recipe, work)
    require_within(each.verdict.worst, f"{name_of(each.contestant)}, {work}")


def require_within(error, name):
    """error: a fraction of the bound; NaN is refused."""
    if not error <= 1:
        raise DiffersError(f"{name}: must be within its bound, got an error of {error:.3g} times "
                           "the bound")


def refuse_planted(contestants, work):
    """Checks that every verification can fail: it must refuse a base that is 1 % off."""
    planted = Workload(work.dtype, work.pairing, work.tokens, work.base * PLANTED)
    for contestant in contestants:
        if contestant.recipe is None:
            continue
        runner = contestant.make(planted)
        try:
            planted.base = work.base  # the base that the verdict now expects
            verdict = verdict_on(runner, contestant.recipe, planted)
        finally:
            planted.base = work.base * PLANTED
            runner.free()
        if verdict.passed():
            raise DiffersError(f"{name_of(contestant)}, {work}: a base that is 1 % off must be "
                               f"refused, got an error of {verdict.worst:.3g} times the bound")


def rounds_of(running, seconds, fewest):
    """Samples all in random order for `seconds`, at least `fewest` rounds; returns the rounds."""
    for each in running:
        each.prepare()
    order, shuffle = list(running), random.Random(1).shuffle
    end, rounds = time.monotonic() + seconds, 0
    while rounds < fewest or time.monotonic() < end:
        shuffle(order)
        for each in order:
            each.sample()
        rounds += 1
    return rounds


def name_of(contestant):
    return " ".join(filter(None, (contestant.peer, contestant.form, contestant.place,
                                  contestant.rows)))


def result_of(each, work, rounds):
    contestant = each.contestant
    result = {"peer": contestant.peer, "form": contestant.form, "dtype": work.dtype,
              "pairing": work.pairing, "tokens": work.tokens, "place": contestant.place,
              "rows": contestant.rows, "ns_per_token": round(each.best / work.tokens, 2),
              "rounds": rounds, "calls": each.calls}
    if each.verdict is not None:
        result["error"] = float(f"{each.verdict.error:.3g}")
        result["of_bound"] = float(f"{each.verdict.worst:.3g}")
    return result
