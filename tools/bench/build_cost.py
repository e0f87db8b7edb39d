#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs to build rotary as a dependency: processor seconds (user and system, of ninja and
all that it starts), whole and with ROTARY_CORE_ONLY; and what each kernel source costs for each
instruction set. Release, without a compiler cache.

Processor time hardly depends on what else runs; caches and clock rates are shared, so a busy
machine still adds some 20 %.
"""

import argparse
import os
import pathlib
import resource
import subprocess
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROJECT = f"""
cmake_minimum_required(VERSION 3.25)
project(dependent LANGUAGES CXX)
add_subdirectory("{SOURCE}" rotary)
"""
# Sets of the compiler by which Highway's target is the static one.
TARGETS = {
    "SCALAR": [],
    "SSE4": ["-msse4.2", "-mpclmul", "-maes"],
    "AVX2": ["-march=haswell", "-maes"],
    "AVX3": ["-march=skylake-avx512"],
    "AVX3_DL": ["-march=icelake-server"],
}
KERNELS = ("kernel_targets", "cache_targets", "int8_targets", "linear_targets",
           "attend/attend_targets")


def spent(command, **options):
    """Processor seconds of a command that must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def dependency(folder, *definitions):
    (folder / "CMakeLists.txt").write_text(PROJECT)
    environment = {key: value for key, value in os.environ.items() if "LAUNCHER" not in key}
    subprocess.run(["cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build",
                    "-DCMAKE_BUILD_TYPE=Release", *definitions],
                   check=True, stdout=subprocess.DEVNULL, env=environment)
    return spent(["ninja", "-C", folder / "build", "-j2"])


def compilation(source, flags):
    return spent(["c++", "-std=c++20", "-O3", "-DNDEBUG", "-fPIC", "-ffp-contract=off",
                  "-DHWY_COMPILE_ONLY_STATIC", *flags, f"-I{SOURCE}/include", f"-I{SOURCE}/src",
                  "-c", "-o", "/dev/null", source])


def print_dependency():
    for name, definitions in (("whole", []), ("core", ["-DROTARY_CORE_ONLY=ON"])):
        with tempfile.TemporaryDirectory() as folder:
            print(f"{name}: {dependency(pathlib.Path(folder), *definitions):.1f} s", flush=True)


def print_kernels():
    with tempfile.TemporaryDirectory() as folder:
        headers = pathlib.Path(folder, "headers.cpp")
        headers.write_text("#include <hwy/highway.h>\n")
        print(f"{'':22}" + "".join(f"{target:>9}" for target in TARGETS))
        for name, source in (("headers alone", headers),
                             *((each, SOURCE / f"src/kernels/{each}.cpp") for each in KERNELS)):
            row = [compilation(source, flags) for flags in TARGETS.values()]
            print(f"{name:22}" + "".join(f"{seconds:9.1f}" for seconds in row), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("what", nargs="*", choices=["dependency", "kernels"],
                        default=["dependency", "kernels"])
    arguments = parser.parse_args()
    print("load:", *os.getloadavg())
    if "dependency" in arguments.what:
        print_dependency()
    if "kernels" in arguments.what:
        print_kernels()


if __name__ == "__main__":
    main()
