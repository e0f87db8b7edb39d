# SPDX-License-Identifier: Apache-2.0
"""The families that the tool knows."""

import functools
import re

from readings import ROOT


@functools.cache
def table():
    text = (ROOT / "docs/families.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `([^`]+)` \|(.*)\|$", text, re.MULTILINE)


def known_families():
    return [family for family, _ in table()]


@functools.cache
def language_models():
    """{family: that of the language model within}."""
    return {family: re.search(r"`([^`]+)` unless", row).group(1)
            for family, row in table() if " around a language model " in row
            and re.search(r"`([^`]+)` unless", row)}
