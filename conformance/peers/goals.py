# SPDX-License-Identifier: Apache-2.0
"""The goals of the comparison, and whether a report meets them on every line."""

import ratios

# Each goal's name, the least quotient of the peer's time and ours, and the results it is about.
GOALS = (
    ("ggml NEOX, f32", 3.5, {"peer": "ggml", "form": "NEOX", "dtype": "f32"}),
    ("ggml, f16", 10, {"peer": "ggml", "dtype": "f16"}),
    ("ONNX Runtime", 2, {"peer": "onnxruntime"}),
    ("PyTorch rotate_half", 10, {"peer": "torch", "form": "rotate_half"}),
    ("everyone", 1, {}),
)


def evaluate(report):
    """Returns, for each goal, the smallest ratio, its line, and how many lines meet the goal."""
    verdicts = []
    for name, least, wanted in GOALS:
        lines = [(ratios.to_ours(report, each), each) for each in ratios.find(report, **wanted)
                 if each["peer"] not in ("rotary", "scale")]
        if lines:
            smallest, where = min(lines, key=lambda line: line[0])
            met = sum(ratio >= least for ratio, _ in lines)
            at = {key: where[key] for key in ("dtype", "pairing", "tokens", "place")}
            verdicts.append({
                "goal": name, "least": least, "smallest": round(smallest, 3), "at": at,
                "at_roofline": round(ratios.to_scale(report, where), 3), "lines": len(lines),
                "lines_met": met, "met": met == len(lines)})
    return verdicts


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
