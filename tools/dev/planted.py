# SPDX-License-Identifier: Apache-2.0
"""Plants each bug of tests/planted in a copy of the tree, build/planted, and expects the tests that
its patch names to fail: `./dev planted`, or `./dev planted NAME...`.

A patch plants one bug, mostly one from the history. The lines before its diff:

    Bug:    the mistake in one sentence
    From:   the commit that fixed the bug; (planted there): the commit that planted the bug to see
            a test fail; (of this kind): the commit whose test looks for such a bug
    Build:  a preset, release or cuda-emulated; or python: the files that `./dev python` installed
    Fails:  a line for each test: its CTest name without instruction set, then the part that must
            fail, as a GoogleTest filter, a unittest id (tool.*) or an expression for pytest -k

To add one, undo the fix in few lines without warnings, leave the tests alone, and write `git diff`
to FOLDER-NAME.patch below its header. If the code moves, make the patch again.
"""

import collections
import filecmp
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATCHES = ROOT / "tests/planted"
TREE = ROOT / "build/planted/tree"
PACKAGE = ROOT / "build/planted/python"
NATIVE = ("-D", "ROTARY_INSTRUCTION_SETS=native")
LIMIT = ("timeout", "900")  # per test; one that hangs counts as failed

Patch = collections.namedtuple("Patch", "file build tests paths")


def read(file):
    text = file.read_text()
    [build] = re.findall(r"^Build: (\S+)$", text, re.MULTILINE)
    tests = re.findall(r"^Fails: (.+)$", text, re.MULTILINE)
    paths = re.findall(r"^\+\+\+ b/(.+)$", text, re.MULTILINE)
    return Patch(file, build, tests, [path for path in paths if (ROOT / path).is_file()])


def run(*command, cwd=ROOT, **variables):
    """Returns the exit status and all output."""
    done = subprocess.run([str(each) for each in command], cwd=cwd, text=True, errors="replace",
                          env=os.environ | {key: str(value) for key, value in variables.items()},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def copy_tree():
    """Copies only files that differ, so that a build compiles only those again."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")[1]
    wanted = {TREE / path for path in listed.split("\0") if path and (ROOT / path).is_file()}
    for to in wanted:
        source = ROOT / to.relative_to(TREE)
        if not to.is_file() or not filecmp.cmp(source, to, shallow=False):
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, to)
    for file in TREE.rglob("*"):
        if file.is_file() and file not in wanted and (TREE / "build") not in file.parents:
            file.unlink()


def environment():
    """The newest environment of ./dev python, or None."""
    tools = (ROOT / "build/python/environments").glob("*/bin/rotary")
    newest = max(tools, key=os.path.getmtime, default=None)
    return newest and newest.parents[1]


def make(build, tests):
    if build == "python":  # the installed package with the copied tree's Python files
        shutil.rmtree(PACKAGE, ignore_errors=True)
        for each in environment().glob("lib/python3*/site-packages/rotary*"):
            shutil.copytree(each, PACKAGE / each.name)
        shutil.copytree(TREE / "python/rotary", PACKAGE / "rotary", dirs_exist_ok=True)
        return 0, ""
    targets = {"bin/rotary" if test.startswith("tool.") else f"rotary_{test.split()[0]}_test"
               for test in tests}
    return run("cmake", "--build", "--preset", build, "--target", *sorted(targets), cwd=TREE)


def run_test(build, test):
    """Runs the part of a test that must fail, as ctest or ./dev python would."""
    name, _, part = test.partition(" ")
    if build == "python":
        return run(*LIMIT, environment() / "bin/python", "-B", "-m", "pytest", "-q", "-p",
                   "no:cacheprovider", "--import-mode=importlib", "python/tests", "-k", part,
                   cwd=TREE, PYTHONPATH=PACKAGE)
    folder = TREE / "build" / build
    if name.startswith("tool."):
        return run(*LIMIT, "/usr/bin/python3", "-B", "-m", "unittest", "-q", part,
                   cwd=TREE / "tests/cli", ROTARY_TOOL=folder / "bin/rotary",
                   ROTARY_CARDS=TREE / "models")
    options = ["--gtest_brief=1", f"--gtest_filter={part}"] if part else []
    return run(*LIMIT, folder / f"bin/rotary_{name}_test", *options, cwd=folder)


def prepare(build, tests):
    """Builds the tree without a bug; returns tests that fail there."""
    print(f"{build}: the tree without a bug, {len(tests)} tests", flush=True)
    status, said = 0, ""
    if build != "python":
        status, said = run("cmake", "--preset", build, *NATIVE, cwd=TREE)
    if status == 0:
        status, said = make(build, tests)
    if status != 0:
        sys.exit(f"{said[-4000:]}\nplanted: the tree without a bug does not build")
    broken = set()
    for test in sorted(tests):
        status, said = run_test(build, test)
        if status != 0 or " 0 tests from " in said:
            print(f"{said[-2000:]}\n{build}: {test} does not pass, or is no test", flush=True)
            broken.add(test)
    return broken


def judge(patch):
    """Returns "caught", or why the tests do not catch the bug. Leaves the copied tree unchanged."""
    before = {TREE / path: (TREE / path).read_bytes() for path in patch.paths}
    # The copy is in an ignored folder: git must not find the repository above it.
    if run("git", "apply", patch.file, cwd=TREE, GIT_CEILING_DIRECTORIES=TREE.parent)[0] != 0:
        return "does not apply"
    try:
        status, said = make(patch.build, patch.tests)
        if status != 0:
            return f"does not build\n{said[-2000:]}"
        statuses = {run_test(patch.build, test)[0] for test in patch.tests}
        # pytest exits with 1 if a test fails, with other codes if it runs none.
        is_caught = statuses == {1} if patch.build == "python" else 0 not in statuses
        return "caught" if is_caught else "NOT CAUGHT"
    finally:
        for file, content in before.items():
            file.write_bytes(content)


def main(names):
    files = sorted(PATCHES.glob("*.patch"))
    patches = [read(file) for file in files if not names or file.stem in names]
    if len(patches) < len(set(names)):
        sys.exit(f"planted: tests/planted does not have all of {', '.join(names)}")
    copy_tree()
    caught = collections.Counter()
    for build in sorted({each.build for each in patches}, reverse=True):
        of_build = [each for each in patches if each.build == build]
        if build == "python" and not environment():
            print(f"python: {len(of_build)} patches not run: run ./dev python first")
            continue
        broken = prepare(build, {test for each in of_build for test in each.tests})
        for patch in of_build:
            start = time.monotonic()
            works = patch.tests and not broken & set(patch.tests)
            result = judge(patch) if works else "its test does not pass without it"
            caught[result == "caught"] += 1
            print(f"{patch.file.stem:36} {time.monotonic() - start:4.0f} s  {result}", flush=True)
    print(f"{caught[True]} passed, {caught[False]} failed")
    return 1 if caught[False] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
