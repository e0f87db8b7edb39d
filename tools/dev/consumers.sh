# SPDX-License-Identifier: Apache-2.0
# ./dev consumers: rotary as others get it. A release build, shared and static, is installed, moved,
# and used by the projects of tests/consumers; two of them take the sources instead. Then the tool
# is built as where MPFR and libzip are missing.

consumers_folder=build/consumers

cmd_consumers() {
  install_packages "${packages_build[@]}" "${packages_test[@]}"
  local consumers=(cmake_cpp cmake_threads cmake_c pkg_config_c)
  consumers_use shared ON "${consumers[@]}" python
  consumers_use static OFF "${consumers[@]}"
  local consumer
  for consumer in subdirectory fetch_content; do
    stage "consumers: $consumer"
    tests/consumers/consume.sh "$consumer" "$consumers_folder/$consumer"
  done
  consumers_use_tool
  stage "every consumer builds and runs"
}

# The tool alone, as a packager builds it who has neither MPFR nor libzip.
consumers_use_tool() {
  local build="$PWD/$consumers_folder/tool" installed="$PWD/$consumers_folder/tool_installed"
  stage "consumers: the tool without bench and .npz"
  cmake --preset release -B "$build" -D ROTARY_TOOL_BENCH=OFF -D ROTARY_TOOL_NPZ=OFF
  cmake --build "$build"
  rm -rf -- "$installed"
  cmake --install "$build" --prefix "$installed"
  tests/consumers/consume.sh tool "$consumers_folder/tool_used" "$installed"
  local test
  for test in search_paths notices small_tool; do
    ROTARY_BUILD="$build" ROTARY_PREFIX="$installed" \
      /usr/bin/python3 -B "tests/install/${test}_test.py"
  done
}

# consumers_use KIND BUILD_SHARED_LIBS CONSUMER...
consumers_use() {
  local kind="$1" shared="$2" folder="$PWD/$consumers_folder/$1"
  local library="$consumers_folder/library" installed="$folder/installed" moved="$folder/moved"
  shift 2
  stage "consumers: install the $kind library"
  cmake --preset release -B "$library" -D ROTARY_TOOL=OFF -D ROTARY_DEVELOPER=OFF \
    -D BUILD_SHARED_LIBS="$shared"
  cmake --build "$library"
  rm -rf -- "$installed" "$moved"
  cmake --install "$library" --prefix "$installed"
  # Whatever still looks for the old place fails from here on.
  mv -- "$installed" "$moved"
  consumers_refuse_paths "$moved"
  local consumer
  for consumer in "$@"; do
    stage "consumers: $kind, $consumer"
    tests/consumers/consume.sh "$consumer" "$consumers_folder/$kind/$consumer" "$moved"
  done
}

# consumers_refuse_paths PREFIX: no installed file may name a folder of this checkout. (The checkout
# itself may be called /rotary, which include/rotary/ contains.)
consumers_refuse_paths() {
  local found
  found="$(grep --recursive --files-with-matches --fixed-strings \
    -e "$PWD/build" -e "$PWD/src" -e "$PWD/include" "$1" || true)"
  [[ -z "$found" ]] || die "installed files must not name a folder of $PWD, got $found"
}
