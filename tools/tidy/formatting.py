# SPDX-License-Identifier: Apache-2.0
"""C++ must be formatted by .clang-format, with Debian 12's release, since releases differ."""

import re
import shutil
import subprocess

from tree import Finding

RELEASE = "14"
COMPLAINT = re.compile(r"^(.+?):(\d+):\d+: error: ", re.MULTILINE)


def clang_format():
    """The program's path, or None if this release is absent."""
    for name in (f"clang-format-{RELEASE}", "clang-format"):
        program = shutil.which(name)
        if program:
            version = subprocess.run([program, "--version"], capture_output=True, text=True)
            if f"version {RELEASE}." in version.stdout:
                return program
    return None


def check_format(tree):
    program = clang_format()
    if program is None:
        yield Finding(".clang-format", 1, f"needs clang-format {RELEASE}, got none on PATH")
        return
    paths = [file.path for file in tree.of("cpp")]
    if not paths:
        return
    command = [program, "--dry-run", "-Werror", *paths]
    result = subprocess.run(command, cwd=tree.root, capture_output=True, text=True)
    first = {}
    for path, line in COMPLAINT.findall(result.stderr):
        first[path] = min(int(line), first.get(path, int(line)))
    for path, line in first.items():
        yield Finding(path, line, "not formatted; ./dev tidy --fix formats")
    if result.returncode != 0 and not first:
        yield Finding(".clang-format", 1, result.stderr.strip())


def fix_format(tree):
    program = clang_format()
    if program is None:
        raise SystemExit(f"needs clang-format {RELEASE}, got none on PATH")
    paths = [file.path for file in tree.of("cpp")]
    subprocess.run([program, "-i", *paths], cwd=tree.root, check=True)
