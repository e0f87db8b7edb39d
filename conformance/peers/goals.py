# SPDX-License-Identifier: Apache-2.0
"""The goals of the comparison, and whether a report meets them on every line."""

import dataclasses

import ratios


@dataclasses.dataclass(frozen=True)
class Goal:
    text: str
    least: float  # the peer's time divided by ours
    lines: dict  # which results the goal is about


GOALS = (
    Goal("ggml NEOX, f32", 3.5, {"peer": "ggml", "form": "NEOX", "dtype": "f32"}),
    Goal("ggml, f16", 10, {"peer": "ggml", "dtype": "f16"}),
    Goal("ONNX Runtime", 2, {"peer": "onnxruntime"}),
    Goal("PyTorch rotate_half", 10, {"peer": "torch", "form": "rotate_half"}),
    Goal("everyone", 1, {}),
)


def evaluate(report):
    """Returns, for each goal, the smallest ratio, its line, and how many lines meet the goal."""
    return [verdict for verdict in (evaluate_one(goal, report) for goal in GOALS) if verdict]


def evaluate_one(goal, report):
    lines = [(ratios.to_ours(report, each), each) for each in ratios.find(report, **goal.lines)
             if each["peer"] not in ("rotary", "scale")]
    if not lines:
        return None
    smallest, where = min(lines, key=lambda line: line[0])
    met = sum(ratio >= goal.least for ratio, _ in lines)
    possible = ratios.to_scale(report, where)
    at = {key: where[key] for key in ("dtype", "pairing", "tokens", "place")}
    return {"goal": goal.text, "least": goal.least, "smallest": round(smallest, 3), "at": at,
            "at_roofline": round(possible, 3), "lines": len(lines), "lines_met": met,
            "met": met == len(lines)}


def text(report):
    lines = ["", "goals: the peer's time divided by ours, in place, with rows made in each call "
                 "for ggml, which does so, else prepared"]
    for verdict in evaluate(report):
        at = verdict["at"]
        lines.append(
            f"  {'met' if verdict['met'] else 'NOT MET':8}>= {verdict['least']:4g} x "
            f"{verdict['goal']:20} smallest {verdict['smallest']:6.2f} ({at['dtype']} "
            f"{at['pairing']}, {at['place'].replace('_', ' ')}, tokens: {at['tokens']}), "
            f"{verdict['at_roofline']:.2f} were we an in-place scale; "
            f"{verdict['lines_met']} of {verdict['lines']} lines")
    return "\n".join(lines)
