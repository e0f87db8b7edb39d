# SPDX-License-Identifier: Apache-2.0
# The Debian 12 packages for each kind of task, and their installation. cmake/dependencies.cmake
# says what each library is for, and its licence.

# ccache (GPL-3.0+, linked by nothing) keeps objects for later builds and other checkouts.
packages_build=(
  g++ cmake ninja-build pkg-config ccache
  libhwy-dev nlohmann-json3-dev
  libcli11-dev libfmt-dev libzip-dev libjs-chart.js
  libmpfr-dev libgtest-dev librapidcheck-dev
)

# git lists files for the repository rules; clang-format checks the format; gnuplot draws for
# `rotary plot`; chromium (BSD-3-Clause) opens pages of `rotary report`.
packages_test=(python3 python3-numpy python3-jsonschema git clang-format gnuplot-nox chromium)

packages_tidy=(clang clang-tidy)

# libclang-rt has clang's libFuzzer and sanitizers (Apache-2.0 with LLVM exception).
packages_fuzz=(
  clang libclang-rt-14-dev cmake ninja-build ccache pkg-config libhwy-dev nlohmann-json3-dev
  libfmt-dev libmpfr-dev
)

# Doxygen (GPL-2.0, linked by nothing) makes the API reference. pip fetches MkDocs with Material
# (BSD-2-Clause, MIT).
packages_docs=(doxygen git python3 python3-pip python3-venv)

# callgrind counts instructions (GPL-2.0+, linked by nothing).
packages_counts=(valgrind python3)

# gcc for arm64 (GPL-3.0+ with its runtime exception) and an emulator for its programs (GPL-2.0).
# tools/dev/arm.sh fetches packages_build's libraries for arm64.
packages_arm=(g++-aarch64-linux-gnu qemu-user)

# Libraries that the wheel's tool contains; pip fetches the build tools.
packages_python=(
  g++ cmake ninja-build ccache pkg-config libcli11-dev libfmt-dev libjs-chart.js
  python3 python3-pip python3-venv
)

# Debian's tools that make and check packages (GPL-2.0+, linked by nothing).
packages_release=(dpkg-dev debhelper lintian xz-utils python3 python3-venv)

# g++ for Windows (GPL-3.0+ with its runtime exception), and Wine to run its programs (LGPL-2.1+).
packages_windows=(g++-mingw-w64-x86-64-posix wine wine64)

# Wheels run in debootstrap's bare trees; advzip (GPL-3.0, linked by nothing) packs them tighter.
packages_wheels=(debootstrap git advancecomp)

# pip fetches wheels of transformers (Apache-2.0), which run on Debian's torch (BSD-3-Clause).
packages_golden=(python3 python3-pip python3-torch python3-numpy)

# venv makes an environment of PyPI packages that are newer than Debian's.
packages_classes=(python3 python3-pip python3-venv)

# pip fetches peers and ggml's sources (docs/peers.md); torch needs g++ and Python's headers.
packages_peers=(gcc g++ python3 python3-dev python3-pip python3-venv)

# The lab needs packages_build, too. OpenBLAS (BSD-3-Clause) makes libtorch (BSD-3-Clause) fast;
# OpenSSL (Apache-2.0) computes SHA-256.
packages_lab=(
  python3 chromium libtorch-dev libgloo-dev libopenblas0-openmp libssl-dev
  python3-lxml python3-matplotlib mandoc sentencepiece python3-venv
)

# missing_packages NAME...: prints the packages that are not installed. Outside Debian, where names
# differ, CMake reports what it cannot find.
missing_packages() {
  command -v dpkg-query >/dev/null || return 0
  local installed
  installed="$(dpkg-query --show --showformat='${Package} ${db:Status-Status}\n' "$@" \
    2>/dev/null || true)"
  local name
  for name in "$@"; do
    grep --quiet --line-regexp --fixed-strings "$name installed" <<<"$installed" || echo "$name"
  done
}

install_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]} == 0)); then
    return
  fi
  stage "install packages: ${missing[*]}"
  local as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      die "installing needs root or sudo; as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get --quiet
    --option DPkg::Lock::Timeout=120)
  "${apt[@]}" update
  "${apt[@]}" install --yes --no-install-recommends "${missing[@]}"
}
