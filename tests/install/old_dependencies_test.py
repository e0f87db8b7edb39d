# SPDX-License-Identifier: Apache-2.0
"""CMake refuses and names a dependency that is too old. Highway and nlohmann_json may come as
sources. CMake fails if it finds neither their packages nor their sources.

ROTARY_SOURCE: the repository.
"""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["ROTARY_SOURCE"])

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(dependencies LANGUAGES C)
if(NO_SYSTEM_PACKAGES)
  set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
  set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)
endif()
set(ROTARY_TOOL ON)
set(ROTARY_TOOL_BENCH ON)
set(ROTARY_TOOL_NPZ ON)
include({source}/cmake/dependencies.cmake)
"""
TOO_OLD = """
set(PACKAGE_VERSION "{version}")
set(PACKAGE_VERSION_COMPATIBLE TRUE)
if(PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
endif()
"""


def configure(folder, *definitions, environment=None):
    """Runs cmake on a project that asks for every dependency. Returns (exit status, output)."""
    project = folder / "project"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(PROJECT.format(source=SOURCE))
    result = subprocess.run(
        ["cmake", "-G", "Ninja", "-S", project, "-B", project / "build",
         "-DCMAKE_C_COMPILER_WORKS=ON", *definitions],
        capture_output=True, text=True, env={**os.environ, **(environment or {})})
    return result.returncode, " ".join((result.stdout + result.stderr).split())


class OldDependencies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            status, output = configure(folder)
            assert status == 0, output
            cache = (folder / "project/build/CMakeCache.txt").read_text()
        found = re.findall(r"^(hwy|nlohmann_json|fmt|CLI11)_DIR:PATH=(.*)$", cache, re.M)
        cls.folders = dict(found)

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def refuse(self, expected, *definitions, folder=None, environment=None):
        status, output = configure(folder or self.folder, *definitions, environment=environment)
        self.assertNotEqual(0, status)
        for text in expected:
            self.assertIn(text, output)

    def refuse_package(self, name, version, *expected):
        for kind, text in [("Config", ""), ("ConfigVersion", TOO_OLD.format(version=version))]:
            (self.folder / f"{name}{kind}.cmake").write_text(text)
        folders = {**self.folders, name: self.folder}
        expected = expected or (f'configuration file for package "{name}"', f"version: {version}")
        # Without NO_SYSTEM_PACKAGES CMake would find this machine's package instead.
        self.refuse(expected, "-DNO_SYSTEM_PACKAGES=ON", "-DFETCHCONTENT_FULLY_DISCONNECTED=ON",
                    *(f"-D{package}_DIR={folder}" for package, folder in folders.items()))

    def test_old_highway_is_refused(self):
        self.refuse_package("hwy", "1.0.2", "package hwy 1.0.3 or later, got 1.0.2")

    def test_missing_highway_is_refused(self):
        expected = ["package hwy 1.0.3 or later, got none", "(Debian: libhwy-dev)",
                    "-DFETCHCONTENT_SOURCE_DIR_HIGHWAY=<folder>"]
        hidden = "-DCMAKE_DISABLE_FIND_PACKAGE_hwy=ON"
        self.refuse(expected, hidden, "-DFETCHCONTENT_FULLY_DISCONNECTED=ON")

    def test_an_unreachable_repository_of_highway_is_named(self):
        self.refuse(["https://github.com/google/highway.git cannot be reached"],
                    "-DCMAKE_DISABLE_FIND_PACKAGE_hwy=ON",
                    environment={"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_VALUE_0": "https://",
                                 "GIT_CONFIG_KEY_0": "url.file:///nowhere/.insteadOf"})

    def test_sources_of_another_version_of_highway_are_refused(self):
        header = self.folder / "hwy/highway.h"
        header.parent.mkdir()
        given = f"-DFETCHCONTENT_SOURCE_DIR_HIGHWAY={self.folder}"
        self.refuse(["hwy/highway.h must define HWY_MAJOR, got none"], given)
        (self.folder / "project").rename(self.folder / "before")
        header.write_text("#define HWY_MAJOR 1\n#define HWY_MINOR 2\n#define HWY_PATCH 0\n")
        self.refuse(["must be 1.0.3, got 1.2.0"], given)

    def test_old_nlohmann_json_is_refused(self):
        self.refuse_package("nlohmann_json", "3.10.5",
                            "package nlohmann_json 3.11 or later, got 3.10.5",
                            "(Debian: nlohmann-json3-dev)",
                            "-DFETCHCONTENT_SOURCE_DIR_NLOHMANN_JSON=<folder>")

    def test_old_fmt_is_refused(self):
        self.refuse_package("fmt", "8.1.1")

    def test_old_cli11_is_refused(self):
        self.refuse_package("CLI11", "2.0.0")

    def test_old_modules_of_pkg_config_are_refused(self):
        for name, version, required in (("mpfr", "4.1.0", ">= 4.2"), ("libzip", "1.6.1", ">= 1.7")):
            folder = self.folder / name
            folder.mkdir()
            (folder / f"{name}.pc").write_text(
                f"Name: {name}\nDescription: old\nVersion: {version}\n")
            with self.subTest(name):
                self.refuse([f"'{name}' has version '{version}', required version is '{required}'"],
                            folder=folder, environment={"PKG_CONFIG_PATH": str(folder)})

    def test_old_chart_js_is_refused(self):
        chart = self.folder / "chart.min.js"
        chart.write_text("/*! Chart.js v2.9.4 */")
        self.refuse(["CHART_JS must be Chart.js 3"], f"-DCHART_JS={chart}")


if __name__ == "__main__":
    unittest.main()
