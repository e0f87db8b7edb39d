# SPDX-License-Identifier: Apache-2.0
"""Commit subjects must be `scope: imperative`, judged by the first word."""

import re
import subprocess

from tree import Finding

# Checks the commits after this one.
FIRST_COMMIT = "46713551"
SUBJECT = re.compile(r"[a-z0-9_.,/ -]+: ([\w'-]+)")
# Imperatives that end like a participle or a plural.
VERBS = frozenset(
    "address bring compress cross dismiss embed express feed focus guess miss need pass press "
    "proceed process seed speed".split())
NOUNS = frozenset(
    "a all an and at by each every for how in it its more no not of on one or that the this to two "
    "what when where which who with".split())


def check_subjects(tree):
    """Checks nothing if git does not know the first commit, as in an archive."""
    log = subprocess.run(["git", "-C", str(tree.root), "log", "--no-merges", "--format=%h %s",
                          f"{FIRST_COMMIT}..HEAD"], capture_output=True, text=True)
    for line in log.stdout.splitlines() if log.returncode == 0 else ():
        commit, _, subject = line.partition(" ")
        if message := refusal(subject):
            yield Finding(f"commit {commit}", 1, f"{message}, got '{subject}'")


def refusal(subject):
    """Says what is wrong with a subject, or None."""
    match = SUBJECT.match(subject)
    if not match:
        return "a subject is 'scope: imperative'"
    word = match[1].lower()
    is_form = word.endswith(("ed", "ing", "s")) and word not in VERBS
    if is_form or word in NOUNS or word[0].isdigit():
        return f"a subject opens with an imperative after its scope, not '{match[1]}'"
    return None
