# SPDX-License-Identifier: Apache-2.0
"""A second interpreter of a process cannot import rotary, and the main one still works."""

import subprocess
import sys

import pytest

# CPython 3.10 to 3.14 name the module and its constructors differently. "legacy" interpreters share
# the lock, as in mod_wsgi. "isolated" ones have their own lock and import few extension modules.
INTERPRETERS = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

def create(kind):
    if hasattr(interpreters, "new_config"):
        return interpreters.create(interpreters.new_config(kind))
    return interpreters.create(isolated=kind == "isolated")

def run(interpreter, code):
    try:
        failed = interpreters.run_string(interpreter, code)
        return "" if failed is None else failed.formatted
    except Exception as error:
        return str(error)
"""
OBJECTS = """
import numpy as np, rotary
spec = rotary.RotarySpec(head_dim=8, base=1e4, pairing="half")
f, x = spec.frequencies(), np.ones((4, 2, 8), np.float32)
before = f.rotate(x, positions=range(4), layout="thd")
"""
CHECK = """
    np.testing.assert_array_equal(f.rotate(x, positions=range(4), layout="thd"), before)
    assert rotary.RotarySpec(head_dim=8, base=1e4, pairing="half").frequencies().rotate_alike(f)
    rotary.Bias("alibi", heads=2).table(2, 2)
"""


def has_interpreters():
    return subprocess.run([sys.executable, "-c", INTERPRETERS], capture_output=True).returncode == 0


@pytest.mark.skipif(not has_interpreters(), reason="this CPython has no module of interpreters")
@pytest.mark.parametrize("kind", ["legacy", "isolated"])
@pytest.mark.parametrize("first", ["main", "second"])
def test_a_second_interpreter_is_refused_and_the_main_one_works(kind, first):
    refused = f"""
for _ in range(2):
    said = run(create({kind!r}), "import rotary")
    assert "interpreter" in said, said
"""
    code = INTERPRETERS + (OBJECTS + refused if first == "main" else refused + OBJECTS)
    done = subprocess.run([sys.executable, "-c", code + "if True:" + CHECK + "print('works')"],
                          capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "works"), done.stderr
