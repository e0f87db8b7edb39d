# SPDX-License-Identifier: Apache-2.0
"""Describes a report's machine so that readers can compare, without its name."""

import os
import pathlib
import re
import subprocess

CACHES = pathlib.Path("/sys/devices/system/cpu/cpu0/cache")


def described():
    return {"cpu": cpu_name(), "processors": len(os.sched_getaffinity(0)), "caches": caches(),
            "system": system_name(), "compiler": first_line(["c++", "--version"])}


def cpu_name():
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    name = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    family = re.search(r"^cpu family\s*: (.*)$", text, re.MULTILINE)
    model = re.search(r"^model\s*: (.*)$", text, re.MULTILINE)
    if not name:
        return os.uname().machine
    if not (family and model):
        return name[1]
    return f"{name[1]} (family {family[1]}, model {model[1]})"


def caches():
    """For example {"L1d": "32K", "L2": "1024K", "L3": "32768K"}; empty if Linux does not tell."""
    found = {}
    for index in sorted(CACHES.glob("index*")):
        kind = (index / "type").read_text(encoding="utf-8").strip()
        if kind != "Instruction":
            level = (index / "level").read_text(encoding="utf-8").strip()
            size = (index / "size").read_text(encoding="utf-8").strip()
            found[f"L{level}" + ("d" if kind == "Data" else "")] = size
    return found


def system_name():
    text = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
    name = re.search(r'^PRETTY_NAME="(.*)"$', text, re.MULTILINE)
    return name[1] if name else os.uname().sysname


def first_line(command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")[0]


def of_torch():
    """The environment variables that configure torch."""
    return ", ".join(f"{name}={os.environ.get(name, 'unset')}"
                     for name in ("ATEN_CPU_CAPABILITY", "MALLOC_MMAP_MAX_"))
