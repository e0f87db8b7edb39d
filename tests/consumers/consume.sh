#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds a consumer as its author would, and runs it. Each consumer checks its own result.
# Usage: consume.sh CONSUMER FOLDER [PREFIX]
#   CONSUMER  a folder beside this script, or `tool`: the installed tool
#   FOLDER    the build folder; emptied first
#   PREFIX    an installation; unused by consumers that build rotary's sources
set -euo pipefail

repository="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)"
model="$repository/models/llama-3.1-8b.json"
consumer="$1" folder="$2" prefix="${3:-}"

main() {
  # Consumers do not get this repository's settings.
  unset CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LD_LIBRARY_PATH CMAKE_PREFIX_PATH PKG_CONFIG_PATH
  rm -rf -- "$folder"
  mkdir -p -- "$folder"
  case "$consumer" in
    cmake_* | core_*) with_cmake -D CMAKE_PREFIX_PATH="$prefix" ;;
    subdirectory | fetch_content)
      with_cmake -D CMAKE_BUILD_TYPE=Release -D ROTARY_SOURCE="$repository" \
        -D ROTARY_INSTRUCTION_SETS=native
      ;;
    pkg_config_c) with_pkg_config ;;
    python) with_python ;;
    tool) "$prefix/bin/rotary" inspect "$model" ;;
    *) echo "consume.sh: no consumer '$consumer'" >&2 && exit 2 ;;
  esac
}

# with_cmake DEFINITION...
with_cmake() {
  cmake -S "$repository/tests/consumers/$consumer" -B "$folder" -G Ninja "$@"
  cmake --build "$folder"
  "$folder/consumer"
}

with_pkg_config() {
  cp -- "$repository/tests/consumers/$consumer"/* "$folder"
  (cd -- "$folder" && PKG_CONFIG_PATH="$(library_folder)/pkgconfig" ./build.sh)
  LD_LIBRARY_PATH="$(library_folder)" "$folder/consumer"
}

with_python() {
  ROTARY_LIBRARY="$(library_folder)/librotary.so" /usr/bin/python3 -B \
    "$repository/tests/consumers/python/rotate_ctypes.py" "$model"
}

# The folder of PREFIX with the library: lib, lib64 or lib/<triplet>.
library_folder() {
  dirname -- "$(find "$prefix" -name 'librotary.*' -print -quit)"
}

main
