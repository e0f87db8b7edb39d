# SPDX-License-Identifier: Apache-2.0
# ./dev arm: runs the tests on 64-bit Arm, cross-built, under qemu-user. apt takes a tree under
# build/ for an empty system and puts arm64 packages there, so this machine's packages do not
# change.

arm_sysroot="$PWD/build/arm64/sysroot"

cmd_arm() {
  (($# == 0)) || die "arm takes nothing, got '$1'"
  install_packages "${packages_build[@]}" "${packages_test[@]}" "${packages_arm[@]}"
  arm_fill_sysroot
  run_tests arm64
  stage "the tool on arm64"
  arm_run build/arm64/bin/rotary inspect models/llama-3.1-8b.json
}

# Fetches the arm64 libraries of packages_build, for linking and running. The stamp lists the
# packages: a changed list makes a new tree.
arm_fill_sysroot() {
  local packages=(libstdc++6) name stamp="$arm_sysroot/.filled"
  for name in "${packages_build[@]}"; do
    [[ "$name" != *-dev ]] || packages+=("$name")
  done
  if [[ "$(cat "$stamp" 2>/dev/null)" == "${packages[*]}" ]]; then
    return
  fi
  stage "fetch arm64 packages: ${packages[*]}"
  arm_unpack "$arm_sysroot" "${packages[@]}"
  echo "${packages[*]}" >"$stamp"
}

# arm_unpack FOLDER PACKAGE...: unpacks the packages and their dependencies into FOLDER.
arm_unpack() {
  local folder="$1" name
  rm -rf -- "$folder"
  mkdir -p "$folder"
  arm_fetch "$folder/apt" "${@:2}"
  for name in "$folder"/apt/archives/*.deb; do
    dpkg-deb --extract "$name" "$folder"
  done
  rm -rf -- "$folder/apt"
  # Redirects absolute links into this tree.
  while read -r name; do
    ln -sfn -- "$folder$(readlink "$name")" "$name"
  done < <(find "$folder" -type l -lname '/*')
}

# arm_fetch FOLDER PACKAGE...: downloads the packages and their dependencies to FOLDER/archives.
arm_fetch() {
  local folder="$1"
  shift
  mkdir -p "$folder/lists/partial" "$folder/archives/partial"
  : >"$folder/status"
  local apt=(apt-get --quiet
    --option APT::Architecture=arm64 --option APT::Architectures=arm64
    --option Dir::State::Lists="$folder/lists" --option Dir::State::status="$folder/status"
    --option Dir::Cache="$folder" --option Debug::NoLocking=true
    --option APT::Sandbox::User="$(id -un)")
  "${apt[@]}" update
  "${apt[@]}" install --download-only --yes --no-install-recommends "$@"
}

# Runs a program as CMAKE_CROSSCOMPILING_EMULATOR in cmake/arm64.cmake does.
arm_run() {
  qemu-aarch64 -cpu cortex-a72 -L "$arm_sysroot" "$@"
}
