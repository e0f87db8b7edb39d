# SPDX-License-Identifier: Apache-2.0
"""Fetches published Transformers wheels once and verifies them by the SHA-256 of releases.json."""

import hashlib
import json
import pathlib
import subprocess
import sys

PINS = pathlib.Path(__file__).with_name("releases.json")


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
