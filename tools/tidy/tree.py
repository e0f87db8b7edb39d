# SPDX-License-Identifier: Apache-2.0
"""The repository's own files, for the checks."""

import dataclasses
import pathlib
import subprocess

CPP = (".cpp", ".hpp", ".c", ".h", ".cu", ".cuh")


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
        """"cpp", "python", "bash", "cmake", "javascript", "css", "markdown"; None for the rest."""
        path = pathlib.PurePosixPath(self.path)
        if path.suffix in CPP:
            return "cpp"
        if path.suffix == ".py" or self._interpreter("python3"):
            return "python"
        if path.suffix == ".sh" or self._interpreter("bash"):
            return "bash"
        if path.suffix == ".cmake" or path.name == "CMakeLists.txt":
            return "cmake"
        others = {".js": "javascript", ".css": "css", ".md": "markdown"}
        return others.get(path.suffix)

    def _interpreter(self, name):
        first = self.text.split("\n", 1)[0]
        return first.startswith("#!") and first.endswith(name)


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
