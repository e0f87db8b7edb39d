# SPDX-License-Identifier: Apache-2.0
"""Tables for notebooks."""

import html
from collections.abc import Iterable, Sequence


def table(title: str, rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    def cells(row, tag):
        style = ' style="text-align:left"'
        return "".join(f"<{tag}{style}>{html.escape(str(cell))}</{tag}>" for cell in row)

    lines = [f"<tr>{cells(row, 'td')}</tr>" for row in rows]
    if head:
        lines.insert(0, f"<tr>{cells(head, 'th')}</tr>")
    table_of = f"<table>{''.join(lines)}</table>" if lines else ""
    return f"<b>{html.escape(title)}</b>{table_of}"
