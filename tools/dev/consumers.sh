# SPDX-License-Identifier: Apache-2.0
# ./dev consumers: tests rotary as its users get it. Builds releases: shared and static, full and
# core only, with dependencies from packages and from sources. Installs and moves each release, and
# uses it in the projects of tests/consumers. Two projects take rotary's sources instead. Finally
# builds the tool without MPFR and libzip.

consumers_folder=build/consumers

cmd_consumers() {
  install_packages "${packages_build[@]}" "${packages_test[@]}"
  local consumers=(cmake_bits cmake_threads cmake_c pkg_config_c)
  consumers_install shared library -D BUILD_SHARED_LIBS=ON
  consumers_use shared "${consumers[@]}" python
  consumers_install static library -D BUILD_SHARED_LIBS=OFF
  consumers_use static "${consumers[@]}"
  local consumer
  for consumer in subdirectory fetch_content; do
    stage "consumers: $consumer"
    tests/consumers/consume.sh "$consumer" "$consumers_folder/$consumer"
  done
  consumers_use_core
  consumers_use_sources "${consumers[@]}"
  consumers_use_tool
  stage "every consumer builds and runs"
}

# Uses the core alone, which does not need nlohmann/json.
consumers_use_core() {
  local options=(-D ROTARY_CORE_ONLY=ON -D CMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON)
  consumers_install core_static core "${options[@]}" -D BUILD_SHARED_LIBS=OFF
  consumers_use core_static core_c cmake_threads
  consumers_install core core "${options[@]}" -D BUILD_SHARED_LIBS=ON
  consumers_use core core_c cmake_bits cmake_threads
  consumers_compare_bits core
  ROTARY_PREFIX="$PWD/$consumers_folder/core/moved" /usr/bin/python3 -B tests/install/core_test.py
}

# consumers_use_sources CONSUMER...: builds with Highway and nlohmann/json from Debian's source
# tarballs instead of the installed ones.
consumers_use_sources() {
  local sources="$PWD/build/tarballs"
  consumers_get_tarballs "$sources" >"$sources.log" 2>&1 ||
    die "apt-get source has no sources of Highway and nlohmann-json ($sources.log)"
  consumers_install sources from_sources -D BUILD_SHARED_LIBS=OFF \
    -D FETCHCONTENT_SOURCE_DIR_HIGHWAY="$sources/highway" \
    -D FETCHCONTENT_SOURCE_DIR_NLOHMANN_JSON="$sources/json"
  if ninja -C "$consumers_folder/from_sources" -t deps |
    grep -e /usr/include/hwy/ -e /usr/include/nlohmann/; then
    die "dependencies from sources must not be mixed with the system's, listed above"
  fi
  consumers_use sources "$@"
  consumers_compare_bits sources
}

# consumers_get_tarballs FOLDER: fetches FOLDER/highway and FOLDER/json, even if this machine's apt
# sources lack deb-src.
consumers_get_tarballs() {
  local folder="$1"
  [[ ! -e "$folder/complete" ]] || return 0
  rm -rf -- "$folder"
  mkdir -p -- "$folder"/{parts,lists/partial,cache/archives/partial,highway,json} || return
  cp -- /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} "$folder/parts" || true
  sed -i 's/^Types: deb$/Types: deb-src/; s/^deb /deb-src /' "$folder"/parts/* || return
  [[ ! -e "$folder/parts/sources.list" ]] ||
    mv -- "$folder/parts/sources.list" "$folder/parts/system.list"
  consumers_apt "$folder" update || return
  (cd -- "$folder" && consumers_apt "$folder" source --download-only highway nlohmann-json3) ||
    return
  tar -xf "$folder/highway_1.0.3.orig.tar.gz" -C "$folder/highway" --strip-components=1 || return
  tar -xf "$folder"/nlohmann-json3_*.orig.tar.gz -C "$folder/json" --strip-components=1 || return
  touch -- "$folder/complete"
}

# consumers_apt FOLDER ARGUMENT...: runs apt-get with the sources listed in FOLDER.
consumers_apt() {
  apt-get -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$1/parts" \
    -o Dir::State::Lists="$1/lists" -o Dir::Cache="$1/cache" "${@:2}"
}

# Builds only the tool, as a packager without MPFR and libzip would.
consumers_use_tool() {
  local build="$PWD/$consumers_folder/tool" installed="$PWD/$consumers_folder/tool_installed"
  stage "consumers: the tool without bench and .npz"
  cmake --preset release -B "$build" -D ROTARY_TOOL_BENCH=OFF -D ROTARY_TOOL_NPZ=OFF
  cmake --build "$build" --parallel "$(nproc)"
  rm -rf -- "$installed"
  cmake --install "$build" --prefix "$installed"
  tests/consumers/consume.sh tool "$consumers_folder/tool_used" "$installed"
  local test
  for test in manual search_paths notices small_tool; do
    ROTARY_BUILD="$build" ROTARY_PREFIX="$installed" \
      /usr/bin/python3 -B "tests/install/${test}_test.py"
  done
}

# consumers_install KIND BUILD DEFINITION...: builds in BUILD and installs to KIND/moved.
consumers_install() {
  local folder="$PWD/$consumers_folder/$1" library="$consumers_folder/$2"
  local installed="$folder/installed" moved="$folder/moved"
  stage "consumers: install the $1 library"
  cmake --preset release -B "$library" -D ROTARY_TOOL=OFF -D ROTARY_DEVELOPER=OFF "${@:3}"
  cmake --build "$library" --parallel "$(nproc)"
  rm -rf -- "$installed" "$moved"
  cmake --install "$library" --prefix "$installed"
  # Anything that still uses the old path now fails.
  mv -- "$installed" "$moved"
  consumers_refuse_paths "$moved"
}

# consumers_use KIND CONSUMER...
consumers_use() {
  local folder="$consumers_folder/$1" consumer
  for consumer in "${@:2}"; do
    stage "consumers: $1, $consumer"
    tests/consumers/consume.sh "$consumer" "$folder/$consumer" "$PWD/$folder/moved"
  done
}

# consumers_compare_bits KIND: cmake_bits must print the same as with the shared library.
consumers_compare_bits() {
  diff <("$consumers_folder/shared/cmake_bits/consumer") \
    <("$consumers_folder/$1/cmake_bits/consumer") ||
    die "the $1 library must compute the bits of the shared one"
}

# consumers_refuse_paths PREFIX: no installed file may contain a path of this checkout. Searches for
# its subfolders, since a checkout at /rotary would match include/rotary/.
consumers_refuse_paths() {
  local found
  found="$(grep --recursive --files-with-matches --fixed-strings \
    -e "$PWD/build" -e "$PWD/src" -e "$PWD/include" "$1" || true)"
  [[ -z "$found" ]] || die "installed files must not name a folder of $PWD, got $found"
}
