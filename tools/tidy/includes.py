# SPDX-License-Identifier: Apache-2.0
"""Checks that each include is allowed by include_rules.RULES."""

import posixpath
import re

from include_rules import RULES
from tree import Finding

# Highway's foreach_target.h includes the file HWY_TARGET_INCLUDE once per target.
INCLUDE = re.compile(r'^\s*#\s*(?:include|define\s+HWY_TARGET_INCLUDE)\s*([<"])([^>"]+)[>"]')


def check_includes(tree):
    known = set(tree.paths)
    for file in tree.of("cpp"):
        rule = rule_of(file.path)
        if rule is None:
            yield Finding(file.path, 1, "no rule in tools/tidy/include_rules.py covers this folder")
            continue
        for number, line in enumerate(file.lines, 1):
            match = INCLUDE.match(line)
            if match:
                message = refusal(file.path, rule, match[1], match[2], known)
                if message:
                    yield Finding(file.path, number, message)


def rule_of(path):
    covering = [rule for rule in RULES if path.startswith(rule.folder)]
    return max(covering, key=lambda rule: len(rule.folder), default=None)


def refusal(path, rule, delimiter, name, known):
    """Says why the file must not include this name, or None."""
    if delimiter == '"':
        target = resolve(path, name, known)
        if target is None:
            return f'"{name}" names no file of this repository; other headers take <>'
        if target.startswith((own_folder(path, rule),) + rule.folders):
            return None
    else:
        if "include/" + name in known:
            return f'a header of this repository is included as "{name}"'
        if re.fullmatch(rule.system, name) or name.startswith(rule.libraries):
            return None
    reason = f": {rule.because}" if rule.because else ""
    return f"{rule.folder} does not include {name}{reason}"


def own_folder(path, rule):
    """The rule's folder; under src/'s general rule, the file's own folder."""
    if rule.folder == "src/":
        return "/".join(path.split("/")[:2]) + "/"
    return rule.folder


def resolve(path, name, known):
    """The repository file of a quoted name, found as the compiler searches."""
    top = path.split("/", 1)[0]
    for folder in (posixpath.dirname(path), top, f"{top}/include", "include", "src", ""):
        target = posixpath.normpath(posixpath.join(folder, name))
        if target in known:
            return target
    return None
