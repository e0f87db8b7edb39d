# SPDX-License-Identifier: Apache-2.0
"""Conan 2 recipe of the libraries, without the tool: `conan create packaging/conan`."""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Rotary(ConanFile):
    name = "rotary"
    license = "Apache-2.0"
    description = "Position encodings of transformers, exact, from a model's own config"
    topics = ("rope", "rotary-embedding", "position-encoding", "transformer")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    implements = ["auto_shared_fpic"]
    generators = "CMakeDeps"

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "../../include/rotary/version.hpp"))
        self.version = re.search(r'VERSION_STRING "(.*)"', header)[1]

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "../..")
        for pattern in ("CMakeLists.txt", "LICENSE", "README.md", "cmake/*", "include/*", "src/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("highway/[>=1.0.3 <2]")
        self.requires("nlohmann_json/[>=3.11 <4]")

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["ROTARY_TOOL"] = False
        toolchain.cache_variables["ROTARY_DEVELOPER"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # find_package(rotary) reads the files of `cmake --install`.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/rotary"]
        self.cpp_info.libs = ["rotary_threads", "rotary"]
