# SPDX-License-Identifier: Apache-2.0
"""plot() and report(): figures and pages that the tool makes and notebooks show."""

from __future__ import annotations

import contextlib
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from rotary import _html, _models
from rotary._checks import checked, plain
from rotary._errors import Error

_STATUS = {2: "invalid_argument", 3: "malformed_input", 5: "unsupported"}


def _run(arguments: Sequence[str]) -> str:
    from rotary.__main__ import find_tool

    tool = find_tool()
    if tool is None:
        raise Error("unsupported", "figures are drawn by the tool, which this build of the package "
                    "does not have: its dependencies (fmt, CLI11, Chart.js) were missing")
    done = subprocess.run([tool, *arguments, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        message = json.loads(done.stdout)["error"]["message"] if done.stdout else done.stderr
        raise Error(_STATUS.get(done.returncode, "invalid_argument"), _in_python(message.strip()))
    return done.stdout


def _in_python(message: str) -> str:
    """Names parameters of plot() and report() where the tool names its arguments."""
    message = message.partition("; an example: rotary ")[0]
    message = re.sub(r"\b(NAME|CONFIG)\b", lambda found: found[0].lower(), message)
    return re.sub(r"(?<!in the tool, )(?<![\w./-])--([a-z-]+)",
                  lambda found: found[1].replace("-", "_"), message)


@contextlib.contextmanager
def _paths(configs: Sequence[Any]) -> Iterator[list[str]]:
    """Yields a list with an argument of the tool for each config: a name, or the path of a file,
    which may be temporary."""
    with tempfile.TemporaryDirectory(prefix="rotary-") as folder:
        paths = []
        for number, config in enumerate(configs, 1):
            if isinstance(config, (str, os.PathLike)) and not str(config).lstrip().startswith("{"):
                paths.append(os.fspath(config))
                continue
            path = pathlib.Path(folder) / f"model-{number}.json"
            path.write_text(str(_models._config_of(config)[0]), encoding="utf-8")
            paths.append(str(path))
        yield paths


def _flags(options: dict[str, Any]) -> list[str]:
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
        with _paths(self._arguments) as paths, tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "figure.svg")
            _run(["plot", self.name, *paths, *_flags(self._options), "--theme", theme,
                  "--out", out])
            return pathlib.Path(out).read_text(encoding="utf-8")

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
    with _paths(configs) as paths:
        facts = json.loads(_run(["plot", name, *paths, *_flags(options)]))
    return Figure(facts["figure"], configs, options)


def report(*configs: Any, **options: Any) -> Page:
    """Makes an HTML page that compares up to four models.

    >>> rotary.report("llama-3.1-8b", "qwen2.5-7b").save("page.html")

    configs: anything that resolve() takes. options: those of `rotary report`, with _ for -.
    """
    with _paths(configs) as paths, tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "page.html")
        _run(["report", *paths, *_flags(options), "--out", out])
        return Page(pathlib.Path(out).read_text(encoding="utf-8"))
