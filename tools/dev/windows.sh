# SPDX-License-Identifier: Apache-2.0
# ./dev windows: compiles the core and its C ABI with mingw-w64, and uses them in programs of
# tests/consumers under Wine. cmake_bits must print Linux's bits. Not part of CI.

cmd_windows() {
  (($# == 0)) || die "windows takes nothing, got '$1'"
  install_packages "${packages_build[@]}" "${packages_windows[@]}"
  consumers_get_tarballs "$PWD/build/tarballs" >build/tarballs.log 2>&1 ||
    die "apt-get source has no sources of Highway (build/tarballs.log)"
  windows_install windows -D CMAKE_TOOLCHAIN_FILE="$PWD/cmake/windows.cmake"
  windows_install linux
  export WINEPREFIX="$PWD/build/windows/wine" WINEDEBUG=-all
  local consumer
  for consumer in core_c cmake_threads cmake_bits; do
    stage "windows: $consumer"
    windows_consume windows "$consumer" -D CMAKE_EXE_LINKER_FLAGS=-static \
      -D CMAKE_TOOLCHAIN_FILE="$PWD/cmake/windows.cmake"
    wine "build/windows/windows_$consumer/consumer.exe" | tr -d '\r' | tee build/windows/printed
  done
  windows_consume linux cmake_bits
  diff build/windows/printed <(build/windows/linux_cmake_bits/consumer) ||
    die "the bits on Windows must be those on Linux"
  stage "windows: the core passes under $(wine --version)"
}

# windows_install SYSTEM OPTION...: installs the core in build/windows/SYSTEM/installed.
windows_install() {
  local build="build/windows/$1"
  stage "windows: the core for $1"
  # Only SSE4: g++ for Windows aligns the stack to 16 bytes, and AVX2 needs 32.
  cmake -G Ninja -S . -B "$build" -D CMAKE_BUILD_TYPE=Release -D ROTARY_CORE_ONLY=ON \
    -D ROTARY_INSTRUCTION_SETS=SSE4 -D ROTARY_WARNINGS_AS_ERRORS=ON \
    -D FETCHCONTENT_SOURCE_DIR_HIGHWAY="$PWD/build/tarballs/highway" "${@:2}"
  cmake --build "$build" --parallel "$(nproc)"
  cmake --install "$build" --prefix "$build/installed"
}

# windows_consume SYSTEM CONSUMER OPTION...
windows_consume() {
  cmake -G Ninja -S "tests/consumers/$2" -B "build/windows/$1_$2" \
    -D CMAKE_PREFIX_PATH="$PWD/build/windows/$1/installed" "${@:3}"
  cmake --build "build/windows/$1_$2"
}
