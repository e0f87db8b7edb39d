# SPDX-License-Identifier: Apache-2.0
"""Finds ELF files in a tree and reads their dynamic sections with binutils' readelf."""
import re
import subprocess

# The C and C++ runtime of gcc and glibc.
SYSTEM = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1"}


def dynamic_entries(file, tags):
    """Returns the values of these tags in the dynamic section, such as "libm.so.6"."""
    text = subprocess.run(["readelf", "--dynamic", "--wide", file], check=True,
                          capture_output=True, text=True).stdout
    return re.findall(rf"\((?:{'|'.join(tags)})\).*\[(.*)\]", text)


def elf_files(folder):
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.suffix in (".o", ".a"):
            continue
        with path.open("rb") as file:
            if file.read(4) == b"\x7fELF":
                yield path
