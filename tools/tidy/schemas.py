# SPDX-License-Identifier: Apache-2.0
"""Formats docs/schema: JSON within 100 columns, unless a string is longer. A value that fits
stays on one line. Members in NAMED and objects in lists start a line. Other members share lines."""

import json

from tree import Finding

COLUMNS = 100
NAMED = ("properties", "$defs")


def formatted(value, indent=0, key=""):
    head = f"{json.dumps(key)}: " if key else ""
    line = head + json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or indent + len(line) < COLUMNS:
        return line
    named = isinstance(value, dict)
    lines, joins = [], False  # whether the next member may follow on the last line
    for name, member in value.items() if named else (("", each) for each in value):
        text = formatted(member, indent + 2, name)
        flat = "\n" not in text and key not in NAMED and (named or not isinstance(member, dict))
        if joins and flat and len(lines[-1]) + 2 + len(text) < COLUMNS:
            lines[-1] += f", {text}"
        else:
            lines.append(" " * (indent + 2) + text)
        joins = flat
    opening, closing = "{}" if named else "[]"
    return head + opening + "\n" + ",\n".join(lines) + f"\n{' ' * indent}{closing}"


def schemas(tree):
    """Yields (file, its text in the right format) for each schema."""
    for file in tree.files:
        if file.path.startswith("docs/schema/") and file.path.endswith(".json"):
            yield file, formatted(json.loads(file.text)) + "\n"


def check_schemas(tree):
    for file, text in schemas(tree):
        if file.text != text:
            yield Finding(file.path, 1, "not formatted; ./dev tidy --fix formats")


def fix_schemas(tree):
    for file, text in schemas(tree):
        (tree.root / file.path).write_text(text, encoding="utf-8")
