# SPDX-License-Identifier: Apache-2.0
"""Verdicts on cells, as the rows of an engine in evidence.txt."""

import collections
import re

from evidence_rows import write_rows
from families import language_models

# An engine that fails on a file has no such model.
KINDS = {"fails": "absent"}


class Evidence:
    """kinds: {family: {kind: [cell]}}; not_run: {family: why no model of it was made}."""

    def __init__(self, engine, release, produced_by, agreed="run"):
        """agreed: the kind of a cell in which both are the same."""
        self.engine, self.produced_by, self.agreed = engine, produced_by, agreed
        self.releases = {"first": release, "last": release} if release else {}
        self.kinds = collections.defaultdict(lambda: collections.defaultdict(list))
        self.sources, self.differs, self.not_run = {}, [], {}

    def add(self, family, cell, kind, tool="", engine=""):
        if kind == "differs":
            self.differs.append({"family": family} | self.releases |
                                {"cell": cell, "tool": tool, "engine": engine})
        self.kinds[family][self.agreed if kind == "run" else kind].append(cell)

    def add_absent(self, family):
        self.kinds[family]["absent"] = []

    def describe_parts(self):
        """A part of a model that the engine has is not absent: its text is what was run."""
        for family, within in language_models().items():
            if self.has(family) and not self.has(within):
                self.kinds[within] = self.kinds[family]
        for family in [each for each in self.kinds if not self.has(each)]:
            whole = re.sub("_(text|vision|audio|encoder|decoder|talker)(_.*)?$", "", family)
            if whole != family and (self.has(whole) or whole in self.not_run):
                del self.kinds[family]

    def has(self, family):
        return "absent" not in self.kinds.get(family, {"absent": []})

    def rows(self):
        for family, kinds in sorted(self.kinds.items()):
            if "absent" in kinds:
                yield {"family": family} | self.releases | {"kind": "absent"}
            for kind in ("run", "read", "fails"):
                if kinds.get(kind):
                    source = {"source": self.sources[family]} if family in self.sources else {}
                    yield ({"family": family} | self.releases | source |
                           {"kind": KINDS.get(kind, kind), "cells": kinds[kind]})

    def write(self):
        self.describe_parts()
        write_rows(self.engine, list(self.rows()), self.differs)

    def counts(self):
        found = collections.Counter()
        for kinds in self.kinds.values():
            known = [kind for kind in ("run", "read", "absent", "fails", "differs")
                     if kind in kinds]
            found.update(known[:1])
        return found + collections.Counter({"not run": len(self.not_run)})
