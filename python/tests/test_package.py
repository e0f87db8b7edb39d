# SPDX-License-Identifier: Apache-2.0
"""The installed package: its files, its types, its tool, and the modules that it imports."""

import ast
import graphlib
import importlib
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest
import rotary

HERE = pathlib.Path(rotary.__file__).parent


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


def test_the_version_and_the_instruction_set_are_reported():
    from importlib.metadata import version

    assert rotary.__version__ == version("rotary")
    assert rotary.instruction_set() in run(
        sys.executable, "-c", "import rotary; print(rotary.instruction_set())")


def test_the_package_ships_types():
    assert (HERE / "py.typed").exists()
    stub = ast.parse((HERE / "_core.pyi").read_text())
    names = {node.name for node in stub.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert {"Frequencies", "Rotations", "Model", "Bias", "append", "attend", "shift"} <= names
    assert all(hasattr(rotary, name) for name in rotary.__all__)


def test_mypy_accepts_right_uses_and_refuses_each_wrong_one():
    pytest.importorskip("mypy")
    path = pathlib.Path(__file__).with_name("typed_uses.py")
    said = subprocess.run([sys.executable, "-m", "mypy", "--follow-imports=silent",
                           f"--cache-dir={os.devnull}", path], capture_output=True, text=True,
                          check=False).stdout
    found = re.findall(r"typed_uses.py:(\d+): error: .*\[(.*)\]", said)
    wrong = [(str(number), line.rpartition("# wrong: ")[2])
             for number, line in enumerate(path.read_text().splitlines(), 1) if "# wrong: " in line]
    assert found == wrong, said


def imported(path):
    """Yields the modules of the package that a file imports, also inside functions."""
    files = {file.name.partition(".")[0] for file in HERE.iterdir()}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        parts = [(*name.split("."), "")[:2] for name in names]
        yield from (module if module in files else "__init__"
                    for package, module in parts if package == "rotary")


def test_imports_form_no_circle():
    graph = {path.stem: set(imported(path)) for path in HERE.glob("*.py")}
    assert "_core" in graph["_models"]
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError for a circle


def test_the_import_loads_no_heavy_module():
    loaded = run(sys.executable, "-c", "import rotary, sys; print(*sys.modules)").split()
    for heavy in ("torch", "transformers", "ml_dtypes", "importlib.metadata", "asyncio"):
        assert heavy not in loaded
    with pytest.raises(AttributeError, match="module 'rotary' has no attribute 'nothing'"):
        rotary.nothing


def test_the_tool_and_python_m_rotary_give_the_same_answer():
    from rotary.__main__ import find_tool

    tool = find_tool()
    if tool is None:
        pytest.skip("this build has no tool: fmt, CLI11 or Chart.js was missing")
    said = run(tool, "--version")
    assert rotary.__version__ in said
    assert run(sys.executable, "-m", "rotary", "--version") == said
    spec = rotary.resolve("llama-3.1-8b").rotary[0].spec
    assert f"base              {spec.base:g}" in run(tool, "inspect", "llama-3.1-8b")


@pytest.mark.skipif("ROTARY_WHEEL" not in os.environ, reason="ROTARY_WHEEL names no wheel")
def test_the_wheel_is_small_and_has_the_tool_and_all_notices():
    path = pathlib.Path(os.environ["ROTARY_WHEEL"])
    assert path.stat().st_size <= 6 * 1000**2, "a wheel has at most 6 MB"
    assert "-cp310-abi3-manylinux_2_" in path.name
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        assert any(name.endswith(".data/scripts/rotary") for name in names)
        assert not [name for name in names if ".libs/" in name], "the wheel bundles no libraries"
        notices = wheel.read("rotary/THIRD-PARTY-NOTICES.md").decode()
        for party in ("Highway", "JSON for Modern C++", "nanobind", "libstdc++", "fmt", "CLI11",
                      "Chart.js"):
            assert party in notices
        metadata, = (n for n in names if n.endswith(".dist-info/METADATA"))
        requires = [line for line in wheel.read(metadata).decode().splitlines()
                    if line.startswith("Requires-Dist:")]
        assert len(requires) == 2 and "numpy" in requires[0] and "nanobind-backend" in requires[1]


@pytest.mark.parametrize("name", ["torch", "transformers"])
def test_a_missing_framework_is_unlisted_and_the_error_names_it(monkeypatch, name):
    def missing(module):
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)

    monkeypatch.setattr(importlib.util, "find_spec", lambda module: None)
    assert name not in dir(rotary)
    monkeypatch.setattr(importlib, "import_module", missing)
    monkeypatch.delitem(vars(rotary), name, raising=False)
    with pytest.raises(ModuleNotFoundError, match=f"rotary.{name} needs {name}: pip install"):
        getattr(rotary, name)


def test_a_rule_without_keywords_is_refused_with_an_example():
    with pytest.raises(TypeError, match='rope_type="linear", factor=8'):
        rotary.Scaling("linear")
