# SPDX-License-Identifier: Apache-2.0
"""Makes an environment, once, for packages that the distribution lacks."""

import hashlib
import pathlib
import subprocess
import sys
import venv


def python_with(packages, folder):
    """Returns the interpreter of an environment in the folder with these packages."""
    name = hashlib.sha256("\n".join(packages).encode()).hexdigest()[:12]
    place = pathlib.Path(folder) / name
    done = place / "installed"
    python = place / "bin/python"
    if done.exists():
        return python
    print(f"install {', '.join(packages)} (5.5 GB, some minutes)", file=sys.stderr)
    venv.create(place, with_pip=True, clear=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-cache-dir", *packages],
                   check=True)
    done.touch()
    return python
