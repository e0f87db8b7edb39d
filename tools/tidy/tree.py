# SPDX-License-Identifier: Apache-2.0
"""The repository's own files, for the checks."""

import dataclasses
import pathlib
import re
import subprocess

LANGUAGES = dict.fromkeys((".cpp", ".hpp", ".c", ".h", ".cu", ".cuh"), "cpp") | {
    ".py": "python", ".sh": "bash", ".cmake": "cmake", ".js": "javascript", ".css": "css",
    ".md": "markdown"}
INTERPRETERS = {"python3": "python", "bash": "bash"}


@dataclasses.dataclass(frozen=True)
class Finding:
    path: str
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


def line_of(text, position):
    return text.count("\n", 0, position) + 1


@dataclasses.dataclass(frozen=True)
class File:
    path: str  # relative to the root, with '/'
    text: str

    @property
    def lines(self):
        return self.text.splitlines()

    @property
    def language(self):
        """One of LANGUAGES; None for the rest."""
        path = pathlib.PurePosixPath(self.path)
        if path.suffix in LANGUAGES:
            return LANGUAGES[path.suffix]
        if path.name == "CMakeLists.txt":
            return "cmake"
        shebang = re.match("#!.*?(python3|bash)$", self.text, re.MULTILINE)
        return INTERPRETERS[shebang[1]] if shebang else None


class Tree:
    """The text files that git tracks or would add; without git, those outside build/."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.paths = sorted(path for path in self._list() if (self.root / path).is_file())
        self.files = [file for file in map(self._read, self.paths) if file is not None]

    def of(self, *languages):
        return [file for file in self.files if file.language in languages]

    def _list(self):
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        if (self.root / ".git").exists():
            listed = subprocess.run(command, cwd=self.root, capture_output=True, check=True)
            return set(listed.stdout.decode().split("\0")) - {""}
        paths = (path.relative_to(self.root) for path in self.root.rglob("*"))
        return {path.as_posix() for path in paths if path.parts[0] != "build"}

    def _read(self, path):
        data = (self.root / path).read_bytes()
        if b"\0" in data:
            return None  # binary, such as NPY
        return File(path, data.decode("utf-8", errors="replace"))
