# SPDX-License-Identifier: Apache-2.0
# Debian 12, with libhwy-dev and nlohmann-json3-dev in place of Conan's packages.
[settings]
os=Linux
arch=x86_64
compiler=gcc
compiler.version=12
compiler.libcxx=libstdc++11
compiler.cppstd=20
build_type=Release
[platform_requires]
highway/1.0.3
nlohmann_json/3.11.2
[conf]
tools.cmake.cmaketoolchain:generator=Ninja
