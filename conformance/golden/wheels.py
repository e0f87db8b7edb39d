# SPDX-License-Identifier: Apache-2.0
"""Fetches Transformers' wheels, llama.cpp's sources and environments of packages, each once."""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import venv

PINS = pathlib.Path(__file__).with_name("releases.json")
LLAMA_CPP = pathlib.Path(__file__).parents[1] / "peers/ggml.txt"
PINNED = ("--no-deps", "--require-hashes")


class WheelError(Exception):
    """A wheel is not pinned or differs from the pinned one."""


def pins():
    return json.loads(PINS.read_text(encoding="utf-8"))


def wheel_of(version, folder):
    """The path of the release's wheel in the folder, downloaded if missing."""
    wanted = pins()["sha256"].get(version)
    if wanted is None:
        raise WheelError(f"releases.json must pin the release, got {version}")
    path = folder / f"transformers-{version}-py3-none-any.whl"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        print(f"download transformers {version}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                        "--only-binary=:all:", "--dest", folder, f"transformers=={version}"],
                       check=True)
    got = hashlib.sha256(path.read_bytes()).hexdigest()
    if got != wanted:
        raise WheelError(f"{path} must have SHA-256 {wanted}, got {got}; delete it to fetch again")
    return path


def llama_cpp(folder):
    """The path of llama.cpp's tree in llama_cpp_python's source distribution."""
    [version] = re.findall(r"==([\d.]+)", LLAMA_CPP.read_text(encoding="utf-8"))
    name = f"llama_cpp_python-{version}"
    inside, done = f"{name}/vendor/llama.cpp", folder / f"{name}.unpacked"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        print(f"download {name}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", *PINNED, "--no-binary",
                        "llama-cpp-python", "--dest", folder, "-r", LLAMA_CPP], check=True)
        with tarfile.open(folder / f"{name}.tar.gz") as tar:
            tar.extractall(folder, [each for each in tar.getmembers()
                                    if each.name.startswith(inside + "/")])
        done.touch()
    return folder / inside


def python_with(packages, folder):
    """Returns the interpreter of an environment in the folder. packages: a list, or a file of
    packages with hashes."""
    is_file = isinstance(packages, pathlib.Path)
    text = packages.read_text(encoding="utf-8") if is_file else "\n".join(packages)
    place = pathlib.Path(folder) / hashlib.sha256(text.encode()).hexdigest()[:12]
    done, python = place / "installed", place / "bin/python"
    if not done.exists():
        print(f"install {packages if is_file else ', '.join(packages)} (up to 6 GB, some minutes)",
              file=sys.stderr)
        venv.create(place, with_pip=True, clear=True)
        chosen = [*PINNED, "--only-binary=:all:", "-r", packages] if is_file else packages
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-cache-dir", *chosen],
                       check=True)
        done.touch()
    return python
