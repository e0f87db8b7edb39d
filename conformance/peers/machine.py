# SPDX-License-Identifier: Apache-2.0
"""Describes a report's machine, without its host name, so that readers can compare."""

import os
import pathlib
import platform
import re
import subprocess

CACHES = pathlib.Path("/sys/devices/system/cpu/cpu0/cache")


def described():
    compiler = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=True)
    return {"cpu": cpu_name(), "processors": len(os.sched_getaffinity(0)), "caches": caches(),
            "system": platform.freedesktop_os_release()["PRETTY_NAME"],
            "compiler": compiler.stdout.split("\n")[0]}


def cpu_name():
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    found = dict(re.findall(r"^(model name|cpu family|model)\s*: (.*)$", text, re.MULTILINE))
    if len(found) < 3:
        return found.get("model name", os.uname().machine)
    return f"{found['model name']} (family {found['cpu family']}, model {found['model']})"


def caches():
    """For example {"L1d": "32K", "L2": "1024K", "L3": "32768K"}; empty if Linux does not tell."""
    found = {}
    for index in sorted(CACHES.glob("index*")):
        kind, level, size = ((index / name).read_text(encoding="utf-8").strip()
                             for name in ("type", "level", "size"))
        if kind != "Instruction":
            found[f"L{level}" + ("d" if kind == "Data" else "")] = size
    return found


def of_torch():
    """The environment variables that configure torch."""
    return ", ".join(f"{name}={os.environ.get(name, 'unset')}"
                     for name in ("ATEN_CPU_CAPABILITY", "MALLOC_MMAP_MAX_"))
