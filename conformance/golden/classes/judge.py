# SPDX-License-Identifier: Apache-2.0
"""Compares a survey line with the tool's answer for the same config."""

import dataclasses
import json
import struct
import subprocess

MOST_ULPS = 8
ROW_ERROR = 2.5e-7  # float32 cos and sin of two libraries: 2 ulp of 1


class Differs(Exception):
    """A difference, in words."""


@dataclasses.dataclass(frozen=True)
class Verdict:
    kind: str  # agrees, differs, refused, fails, has a reason; of forms: both refuse, resolved
    text: str


def judged(line, tool):
    if "error" in line:
        return Verdict("fails", line["error"])
    asked = ask(tool, "inspect", line)
    if asked.returncode != 0:
        return Verdict("refused", asked.stderr.strip().splitlines()[-2:][0])
    answer = json.loads(asked.stdout)
    worst = 0
    try:
        for label, rope in line["ropes"].items():
            pairs = compared_axes(label, line, answer)
            if not line.get("is_axial"):
                pairs = paired(label, rope, answer)
            worst = max([worst, *(ulps(one, other) for one, other in pairs)])
            if rope.get("rows") and not line.get("is_axial"):
                compare_rows(label, rope["rows"], pairs, line, tool)
        compare_layers(line.get("rotating"), answer["layers"])
    except Differs as error:
        return Verdict("differs", str(error))
    ran = "" if line.get("rotating") or line["variant"] != "class" else "; its model did not run"
    return Verdict("agrees", f"{worst} ulp{ran}")


def judged_form(line, tool):
    if "refusal" not in line:
        return judged(line, tool)
    is_refused = ask(tool, "inspect", line).returncode != 0
    return Verdict("both refuse" if is_refused else "resolved", line["refusal"])


def ask(tool, command, line, *options):
    if line.get("context"):
        options += ("--context", str(line["context"]))
    return subprocess.run([tool, command, "-", "--json", "--numerics", "transformers", *options],
                          input=json.dumps(line["config"]), capture_output=True, text=True,
                          check=False)


def paired(label, rope, answer):
    """Pairs the tool's frequencies with the class's, which must agree within 8 float32 ulp."""
    ours = of_label(label, answer)
    got, wanted = ours["inv_freq"], without_still_pairs(rope["inv_freq"], len(ours["inv_freq"]))
    if ours["sense"] == "negative":  # the class applies its frequencies in the other direction
        got = [-each for each in got]
    if len(got) != len(wanted):
        raise Differs(f"{label or 'all'}: {len(got)} pairs, the class has {len(wanted)}")
    pairs = list(zip(sorted(got), sorted(wanted)))
    worst = max(ulps(one, other) for one, other in pairs)
    if worst > MOST_ULPS:
        raise Differs(f"{label or 'all'}: frequencies differ by {worst} ulp")
    if ulps(ours["attention_factor"], rope["factor"]) > MOST_ULPS:
        raise Differs(f"{label or 'all'}: factor {ours['attention_factor']}, not {rope['factor']}")
    order = sorted(range(len(got)), key=got.__getitem__)
    return [pair for _, pair in sorted(zip(order, pairs))]


def compared_axes(label, line, answer):
    """Compares each channel's axis, and without a context its frequency."""
    axes = line.get("axes")
    if not axes:
        return []
    ours = of_label(label, answer)
    axis_of_pair = ours["axis_of_pair"] or [None] * len(ours["inv_freq"])
    channels = in_channels(list(zip(axis_of_pair, ours["inv_freq"])), ours)
    if [axis for axis, _ in channels] != [axis for axis, _ in axes[label]]:
        raise Differs(f"{label or 'all'}: the channels' axes differ")
    pairs = [(one, other) for (_, one), (_, other) in zip(channels, axes[label])]
    worst = max(ulps(one, other) for one, other in pairs)
    if worst > MOST_ULPS and not line.get("context"):
        raise Differs(f"{label or 'all'}: the channels' frequencies differ by {worst} ulp")
    return pairs


def in_channels(pairs, rope):
    """Lists each pair's value for both its features, in the order of the channels."""
    if rope["pairing"] != "half":
        return [each for each in pairs for _ in range(2)]
    size = len(pairs) // rope["blocks"]
    blocks = [pairs[first:first + size] for first in range(0, len(pairs), size)]
    return [each for block in blocks for each in block + block]


def of_label(label, answer):
    found = {each["layer_type"] or "": each for each in answer["rotary"]}
    if label in found:
        return found[label]
    if len(found) == 1 and ("" in found or label == ""):
        return next(iter(found.values()))
    raise Differs(f"layer type {label or 'of all layers'} is not among {sorted(found)}")


def without_still_pairs(frequencies, count):
    """Drops final frequencies of 0, as the tool does not always count pairs that do not rotate."""
    extra = frequencies[count:]
    return frequencies[:count] if extra and not any(extra) else frequencies


def compare_rows(label, wanted, pairs, line, tool):
    """Rows must agree within 2 ulp of 1, plus the difference of the two frequencies' angles."""
    options = ["--positions", ",".join(map(str, line["positions"])), "--form", "half-width"]
    asked = ask(tool, "table", line, *options, *(["--layer-type", label] if label else []))
    if asked.returncode != 0:
        asked = ask(tool, "table", line, *options)
    if asked.returncode != 0:
        raise Differs(f"rows: {asked.stderr.strip().splitlines()[0]}")
    ours = json.loads(asked.stdout)
    back = -1 if ours["sin"][1][0] * wanted["sin"][1][0] < 0 else 1  # nanochat rotates backwards
    for name, sign in (("cos", 1), ("sin", back)):
        for position, got, theirs in zip(line["positions"], ours[name], wanted[name]):
            bounds = [ROW_ERROR + position * abs(one - other) for one, other in pairs]
            error = excess([sign * each for each in got], theirs,
                           [bound * max(1, ours["attention_factor"]) for bound in bounds])
            if error > 0:
                raise Differs(f"{label or 'all'}: rows of {name} at {position} by {error:.1e} more "
                              "than their bound")


def excess(got, theirs, bounds):
    """Returns the largest excess over the bounds. got and bounds have a value per pair; theirs
    has each pair's value once or twice."""
    pairs = len(got)
    forms = [theirs[:pairs]] if len(theirs) < 2 * pairs else [theirs[:pairs], theirs[:2 * pairs:2]]
    return min(max(abs(one - other) - bound for one, other, bound in zip(got, form, bounds))
               for form in forms)


def ulps(one, other):
    return abs(ordered(one) - ordered(other))


def ordered(value):
    """A number's rank among all float32 values."""
    bits = struct.unpack("<i", struct.pack("<f", value))[0]
    return bits if bits >= 0 else -(bits & 0x7FFFFFFF)


def compare_layers(calls, layers):
    """calls: pairs (layer, number of rotations); None if the model did not run."""
    if calls is None or not layers:
        return
    ours = [index for index, each in enumerate(layers) if each["encoding"] == "rotary"]
    theirs = [index for index, _ in calls if index is not None and index >= 0]
    if theirs and sorted(theirs) != ours:
        raise Differs(f"rotating layers {shown(ours)}, in the class {shown(sorted(theirs))}")
    if not theirs and sum(count for _, count in calls) != len(ours):
        raise Differs(f"{len(ours)} rotating layers, in the class "
                      f"{sum(count for _, count in calls)}")


def shown(layers):
    return str(layers[:8])[:-1] + (", …]" if len(layers) > 8 else "]")
