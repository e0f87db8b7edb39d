# SPDX-License-Identifier: Apache-2.0
"""Compares sizeof of every public C++ type with the recorded sizes (tests/recorded/sizes.txt).
Programs compiled with the last release expect these sizes of a library that replaces it.

    public_sizes.py RECORDED
"""

import pathlib
import re
import subprocess
import sys
import tempfile

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
DECLARED = re.compile(r"^(?:template <.*>\n)?(?:struct|class|enum class|using) (\w+)\b(?!;)",
                      re.MULTILINE)


def public_types():
    for header in sorted((INCLUDE / "rotary").glob("*.hpp")):
        text = header.read_text()
        for match in DECLARED.finditer(text):
            if not match[0].startswith("template"):
                yield header.name, match[1]


def public_sizes():
    """Returns lines "header type bytes", computed by the machine's C++ compiler."""
    types = list(public_types())
    source = "#include <cstdio>\n"
    source += "".join(f'#include "rotary/{name}"\n' for name in sorted({t[0] for t in types}))
    source += "int main() {\n"
    source += "".join(
        f'  std::printf("{header} {name} %zu\\n", sizeof(rotary::{name}));\n'
        for header, name in types)
    source += "}\n"
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "sizes"
        subprocess.run(["c++", "-std=c++20", "-O0", f"-I{INCLUDE}",
                        "-x", "c++", "-", "-o", program], input=source, text=True, check=True)
        return subprocess.run([program], capture_output=True, text=True,
                              check=True).stdout.splitlines()


def main():
    recorded = pathlib.Path(sys.argv[1]).read_text().splitlines()
    now = public_sizes()
    for line in sorted(set(recorded) ^ set(now)):
        print(f"{'only recorded' if line in recorded else 'only now'}: {line}")
    return 0 if recorded == now else 1


if __name__ == "__main__":
    sys.exit(main())
