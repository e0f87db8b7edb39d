# SPDX-License-Identifier: Apache-2.0
"""Divides each peer's time in a report by ours."""

GROUP = ("dtype", "pairing", "tokens")


def find(report, **wanted):
    """Returns the results with these values, in order. report: a report, or one of its shapes."""
    return [each for each in report["results"]
            if all(each[key] == value for key, value in wanted.items())]


def ours(report, result, place):
    """Returns our result for the same job, with rows made when the peer makes them."""
    same = {key: result[key] for key in GROUP}
    return find(report, peer="rotary", rows=result["rows"], place=place, **same)[0]


def to_ours(report, result):
    """Returns the peer's time divided by ours in place, even if the peer works out of place."""
    return result["ns_per_token"] / ours(report, result, "in_place")["ns_per_token"]


def to_ours_alike(report, result):
    """Returns the peer's time divided by ours, both in place or both out of place."""
    return result["ns_per_token"] / ours(report, result, result["place"])["ns_per_token"]


def to_scale(report, result):
    """Returns the time divided by that of an in-place scale of the same bytes."""
    same = {key: result[key] for key in GROUP}
    return result["ns_per_token"] / find(report, peer="scale", **same)[0]["ns_per_token"]
