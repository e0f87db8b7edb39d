# SPDX-License-Identifier: Apache-2.0
"""Runs the Python of README.md, docs/python.md and the notebook, and compares the outputs.
`test_documents.py --accept NOTEBOOK` writes new outputs into the notebook."""

import ast
import contextlib
import importlib.util
import io
import json
import pathlib
import re
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOTEBOOK = REPOSITORY / "examples/what_does_my_models_rope_do.ipynb"


def has(name):
    return importlib.util.find_spec(name) is not None


@pytest.mark.filterwarnings("ignore::rotary.ModelWarning")
@pytest.mark.parametrize("document", ["README.md", "docs/python.md"])
def test_the_blocks_of_a_document_run_in_order(document, capsys):
    text = (REPOSITORY / document).read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    assert blocks
    names, left_out = {}, []
    for block in blocks:
        needed = re.findall(r"^import (torch|transformers)$", block, re.MULTILINE)
        if left_out or not all(map(has, needed)):
            left_out += needed
            continue
        exec(compile(block, document, "exec"), names)
    said = capsys.readouterr().out
    assert all(printed in said for printed in PRINTED.findall(text))
    if left_out:
        pytest.skip(f"not installed: {', '.join(left_out)}; ./dev python --torch runs these blocks")


def test_the_example_prints_its_expected_output():
    program = REPOSITORY / "examples/rotate_in_place.py"
    done = subprocess.run([sys.executable, "-B", program], capture_output=True, text=True,
                          check=True)
    assert done.stdout == program.with_suffix(".expected").read_text()


def outputs_of(source, names):
    """Returns outputs as Jupyter records them: printed text, and the value of a last expression."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed, outputs, value = io.StringIO(), [], None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream",
                        "text": printed.getvalue().splitlines(True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(True)}
        if hasattr(value, "_repr_html_"):
            data = {"text/html": value._repr_html_().splitlines(True), **data}
        outputs.append({"data": data, "execution_count": None, "metadata": {},
                        "output_type": "execute_result"})
    return outputs


def executed(notebook):
    names = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = outputs_of("".join(cell["source"]), names)
    return notebook


@pytest.mark.filterwarnings("ignore::rotary.ModelWarning")
def test_the_notebook_holds_the_outputs_of_its_cells():
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    kept = [cell.get("outputs") for cell in notebook["cells"]]
    assert [cell.get("outputs") for cell in executed(notebook)["cells"]] == kept


if __name__ == "__main__":
    path = pathlib.Path(sys.argv[2])
    done = executed(json.loads(path.read_text(encoding="utf-8")))
    path.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
