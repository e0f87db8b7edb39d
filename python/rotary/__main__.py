# SPDX-License-Identifier: Apache-2.0
"""python -m rotary runs the tool."""

import os
import shutil
import sys
import sysconfig


def find_tool() -> str | None:
    """Returns the path of the package's tool, else of a tool on PATH, else None."""
    name = "rotary.exe" if os.name == "nt" else "rotary"
    for scheme in (None, sysconfig.get_preferred_scheme("user")):
        folder = sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts")
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    return shutil.which("rotary")


def main() -> None:
    tool = find_tool()
    if tool is None:
        sys.exit("this build of the package has no tool: its dependencies were missing when it was "
                 "built (fmt, CLI11, Chart.js 3)")
    os.execv(tool, [tool, *sys.argv[1:]])


if __name__ == "__main__":
    main()
