# SPDX-License-Identifier: Apache-2.0
"""The tables of the documents, between markers, written from a report."""

import tables

BEGIN, END = "<!-- peers: begin -->", "<!-- peers: end -->"
DOCUMENTS = {"README.md": tables.summary, "docs/peers.md": tables.details}


class MarkerError(ValueError):
    """A document that does not say where its table stands."""


def update(root, report):
    """Paths of the documents that are written; every one of them or none."""
    texts = {}
    for name, table in DOCUMENTS.items():
        path = root / name
        texts[path] = replaced(path.read_text(encoding="utf-8"), table(report), name)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return list(texts)


def replaced(text, table, name):
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end) or BEGIN in after or END in after:
        raise MarkerError(f"{name} must hold one {BEGIN} and after it one {END}")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"
