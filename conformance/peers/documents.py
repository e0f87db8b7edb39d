# SPDX-License-Identifier: Apache-2.0
"""Writes a table of docs/peers.md between its markers."""


class MarkerError(ValueError):
    """A document lacks the markers of its table."""


def write(path, table, topic):
    text = replaced(path.read_text(encoding="utf-8"), table, path.name, topic)
    path.write_text(text, encoding="utf-8")


def markers(topic):
    return f"<!-- {topic}: begin -->", f"<!-- {topic}: end -->"


def replaced(text, table, name, topic):
    first, last = markers(topic)
    before, begin, rest = text.partition(first)
    _, end, after = rest.partition(last)
    if not (begin and end) or first in after or last in after:
        raise MarkerError(f"{name} must hold one {first} and after it one {last}")
    return f"{before}{first}\n{table}\n{last}{after}"
