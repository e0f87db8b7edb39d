# SPDX-License-Identifier: Apache-2.0
"""Divides each peer's time in a report by ours."""

GROUP = ("dtype", "pairing", "tokens")


def find(report, **wanted):
    """The results with these values, in the order of a report or of a shape in it."""
    return [each for each in report["results"]
            if all(each[key] == value for key, value in wanted.items())]


def ours(report, result, place):
    """Our result for the same job, with rows prepared or computed in the call as in the peer's."""
    same = {key: result[key] for key in GROUP}
    return find(report, peer="rotary", rows=result["rows"], place=place, **same)[0]


def to_ours(report, result):
    """The peer's time divided by ours in place, whatever the peer does."""
    return result["ns_per_token"] / ours(report, result, "in_place")["ns_per_token"]


def to_ours_alike(report, result):
    """The peer's time divided by ours, both in place or both out of place."""
    return result["ns_per_token"] / ours(report, result, result["place"])["ns_per_token"]


def to_scale(report, result):
    """The time divided by that of an in-place scale of the same bytes."""
    same = {key: result[key] for key in GROUP}
    return result["ns_per_token"] / find(report, peer="scale", **same)[0]["ns_per_token"]
