# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the programs of tests/consumers that call find_package(rotary)."""
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import cmake_layout

CONSUMERS = "cmake_bits", "cmake_threads"


class Consumers(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeToolchain", "CMakeDeps", "VirtualRunEnv"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        toolchain = os.path.join(self.generators_folder, "conan_toolchain.cmake")
        for consumer in CONSUMERS:
            source = os.path.join(self.recipe_folder, "../../../tests/consumers", consumer)
            self.run(f'cmake -G Ninja -S "{source}" -B {consumer} -D CMAKE_BUILD_TYPE=Release '
                     f'-D CMAKE_TOOLCHAIN_FILE="{toolchain}"')
            self.run(f"cmake --build {consumer}")

    def test(self):
        if can_run(self):
            for consumer in CONSUMERS:
                self.run(os.path.join(self.build_folder, consumer, "consumer"), env="conanrun")
