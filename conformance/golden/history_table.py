# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/releases.txt: the results of Transformers releases for the same configs."""

import json
import pathlib

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/releases.txt"


def compare_with_document(histories, write):
    """Returns 0, or 1 if a period lacks its cause or the document differs. `histories`: (case,
    [first release, last release, observation] of each period)."""
    parts, complaints = [], []
    for case, found in histories:
        complaints += complaints_on(case, found)
        parts.append(rendered(case, found))
    text = "\n".join(parts)
    if write:
        DOCUMENT.write_text(text, encoding="utf-8")
    elif DOCUMENT.read_text(encoding="utf-8") != text:
        complaints.append(f"{DOCUMENT.name} says something else; ./dev golden --releases --write")
    for complaint in complaints:
        print(f"golden: {complaint}")
    if not complaints:
        print(f"{len(parts)} tables of {DOCUMENT.name} are what the releases do")
    return 1 if complaints else 0


def complaints_on(case, found):
    """Yields periods without a cause, and causes without a period."""
    starts = [first for first, _, _ in found]
    for first in starts:
        if first not in case.causes:
            yield f"{case.title}: no cause is given for what begins with {first}"
    for first in case.causes:
        if first not in starts:
            yield f"{case.title}: nothing changes with {first}, for which a cause is given"


def rendered(case, found):
    lines = [f"### {case.title}", "", f"`{shown(case.config)}`"]
    if len(case.calls) > 1:
        calls = ", ".join(map(str, case.calls))
        lines += ["", f"One call after the other; the last position of each: {calls}."]
    lines += ["", "| releases | what it does | cause |", "|---|---|---|"]
    for first, last, observation in found:
        text = observation.missing or case.describe(case, observation)
        span = first if first == last else f"{first} – {last}"
        lines.append(f"| {span} | {text} | {case.causes.get(first, '?')} |")
    return "\n".join(lines) + "\n"


def shown(config):
    """The config in one line; a list of equal numbers becomes the number and its length."""
    text = json.dumps(config)
    for value in (config.get("rope_scaling") or {}).values():
        if isinstance(value, list):
            text = text.replace(json.dumps(value), f"[{value[0]}, … {len(value)} times]")
    return text
