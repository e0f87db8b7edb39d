# SPDX-License-Identifier: Apache-2.0
"""plot() and report(): figures and pages that the tool makes and notebooks show."""

from __future__ import annotations

import html
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from rotary import _html, _models
from rotary._checks import checked, plain
from rotary._errors import Error

_STATUS = {2: "invalid_argument", 3: "malformed_input", 5: "unsupported"}


def _run(command: Sequence[str], configs: Sequence[Any], options: Mapping[str, Any],
         out: str = "") -> str:
    """Runs the tool. Returns the JSON that it prints, or what it writes to the file `out`.

    A config that is no path becomes the file configs[N] of the folder where the tool runs, so the
    tool's messages name it.
    """
    from rotary.__main__ import find_tool

    tool = find_tool()
    if tool is None:
        raise Error("unsupported", "figures are drawn by the tool, which this build of the package "
                    "does not have: its dependencies (fmt, CLI11, Chart.js) were missing")
    are_paths = [isinstance(each, (str, os.PathLike)) and not str(each).lstrip().startswith("{")
                 for each in configs]
    options = {name: os.path.abspath(value) if name in ("out", "table") and value else value
               for name, value in options.items()}
    with tempfile.TemporaryDirectory(prefix="rotary-") as folder:
        names = []
        for number, (config, is_path) in enumerate(zip(configs, are_paths)):
            names.append(os.fspath(config) if is_path else f"configs[{number}]")
            if not is_path:
                text, _ = _models._config_of(config, names[-1])
                pathlib.Path(folder, names[-1]).write_text(str(text), encoding="utf-8")
            elif not all(are_paths) and os.path.exists(config):
                names[-1] = os.path.abspath(config)
        made = os.path.join(folder, out)
        done = subprocess.run([tool, *command, *names, *_flags(options), "--json",
                               *(("--out", made) if out else ())], capture_output=True, text=True,
                              cwd=None if all(are_paths) else folder)
        if done.returncode != 0:
            message = json.loads(done.stdout)["error"]["message"] if done.stdout else done.stderr
            raise Error(_STATUS.get(done.returncode, "invalid_argument"),
                        f"rotary {command[0]}: {message.strip()}")
        return pathlib.Path(made).read_text(encoding="utf-8") if out else done.stdout


def _flags(options: Mapping[str, Any]) -> list[str]:
    return [text for name, value in options.items() if value is not None
            for text in (f"--{name.replace('_', '-')}", str(plain(value, name)))]


class Figure:
    """A figure of plot(): its title, its caption, and its numbers in panels.

    A notebook draws it with gnuplot, and shows a table without gnuplot.
    """

    def __init__(self, facts: dict[str, Any], arguments: Sequence[Any],
                 options: dict[str, Any]) -> None:
        self.name: str = facts["name"]
        self.title: str = facts["title"]
        self.caption: str = facts["caption"]
        self.panels: list[dict[str, Any]] = facts["panels"]
        self._arguments = arguments
        self._options = options

    @checked
    def svg(self, theme: str = "light") -> str:
        """Draws the figure with gnuplot and returns SVG text. theme: "light" or "dark"."""
        return _run(["plot", self.name], self._arguments, {**self._options, "theme": theme},
                    "figure.svg")

    def __repr__(self) -> str:
        return f"<rotary.Figure {self.name}: {self.title}>"

    def _repr_html_(self) -> str:
        if shutil.which("gnuplot"):
            picture = self.svg()
            return picture[picture.index("<svg"):]
        rows = [(series["name"], f"{x:g}", f"{y:g}") for panel in self.panels
                for series in panel["series"] for x, y in zip(series["x"], series["y"])]
        return _html.table(self.title, rows[:200], ("series", "x", "y"))


class Page:
    """The HTML page of `rotary report`. A notebook shows it with its charts."""

    def __init__(self, text: str) -> None:
        self.text = text

    @checked
    def save(self, path: str | os.PathLike) -> None:
        """Writes the page to one HTML file, which needs no network."""
        pathlib.Path(path).write_text(self.text, encoding="utf-8")

    def __repr__(self) -> str:
        return f"<rotary.Page of {len(self.text)} bytes>"

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.escape(self.text, quote=True)}" width="100%" height="720" '
                'style="border:0"></iframe>')


@checked
def plot(name: str, *configs: Any, **options: Any) -> Figure:
    """Makes a figure about the positions of models.

    >>> rotary.plot("wavelengths", "llama-2-7b-chat", "llama-3.1-8b", context=131072)

    name: one that `rotary plot --list` lists. configs: anything that resolve() takes. options:
    those of `rotary plot`, with _ for -.
    """
    facts = json.loads(_run(["plot", name], configs, options))
    return Figure(facts["figure"], configs, options)


def report(*configs: Any, **options: Any) -> Page:
    """Makes an HTML page that compares up to four models.

    >>> rotary.report("llama-3.1-8b", "qwen2.5-7b").save("page.html")

    configs: anything that resolve() takes. options: those of `rotary report`, with _ for -.
    """
    return Page(_run(["report"], configs, options, "page.html"))
