# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/peers.md, between markers, from a report."""

import tables


def markers(topic):
    return f"<!-- {topic}: begin -->", f"<!-- {topic}: end -->"


BEGIN, END = MARKERS = markers("peers")
DOCUMENTS = {"docs/peers.md": tables.details}


class MarkerError(ValueError):
    """A document lacks the markers of its table."""


def update(root, report):
    """Paths of the documents that are written; every one of them or none."""
    texts = {}
    for name, table in DOCUMENTS.items():
        path = root / name
        texts[path] = replaced(path.read_text(encoding="utf-8"), table(report), name)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return list(texts)


def write(path, table, between):
    """One table of one document."""
    text = replaced(path.read_text(encoding="utf-8"), table, path.name, between)
    path.write_text(text, encoding="utf-8")


def replaced(text, table, name, between=MARKERS):
    first, last = between
    before, begin, rest = text.partition(first)
    _, end, after = rest.partition(last)
    if not (begin and end) or first in after or last in after:
        raise MarkerError(f"{name} must hold one {first} and after it one {last}")
    return f"{before}{first}\n{table}\n{last}{after}"
