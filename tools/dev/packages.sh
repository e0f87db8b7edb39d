# SPDX-License-Identifier: Apache-2.0
# The Debian 12 packages that each kind of task needs, and their installation. What each library is
# for, and its licence: cmake/dependencies.cmake.

# ccache (GPL-3.0+, a tool that nothing links) keeps objects for later builds and other checkouts.
packages_build=(
  g++ cmake ninja-build pkg-config ccache
  libhwy-dev nlohmann-json3-dev
  libcli11-dev libfmt-dev libzip-dev libjs-chart.js
  libmpfr-dev libgtest-dev librapidcheck-dev
)

# git lists the files that the repository rules read; clang-format checks them; gnuplot draws what
# `rotary plot` shows; chromium (BSD-3-Clause) opens the pages of `rotary report`.
packages_test=(python3 python3-numpy python3-jsonschema git clang-format gnuplot-nox chromium)

packages_tidy=(clang clang-tidy)

# libclang-rt has libFuzzer and the sanitizers of clang (Apache-2.0 with LLVM exception).
packages_fuzz=(
  clang libclang-rt-14-dev cmake ninja-build ccache pkg-config libhwy-dev nlohmann-json3-dev
  libfmt-dev libmpfr-dev
)

# The API reference; Doxygen is GPL-2.0, a tool that nothing links. pip fetches MkDocs with Material
# (BSD-2-Clause, MIT).
packages_docs=(doxygen git python3 python3-pip python3-venv)

# callgrind counts instructions (GPL-2.0+, a tool that nothing links).
packages_counts=(valgrind python3)

# gcc for arm64 (GPL-3.0+ with its runtime exception) and the emulator that runs what it makes
# (GPL-2.0). The libraries of packages_build, as arm64 has them, are fetched by tools/dev/arm.sh.
packages_arm=(g++-aarch64-linux-gnu qemu-user)

# The wheel's tool is built with these inside; pip fetches the build's tools.
packages_python=(
  g++ cmake ninja-build ccache pkg-config libcli11-dev libfmt-dev libjs-chart.js
  python3 python3-pip python3-venv
)

# Debian's own way to make packages, and to judge them (GPL-2.0+, tools that nothing links).
packages_release=(dpkg-dev debhelper lintian xz-utils python3 python3-venv)

# g++ for Windows (GPL-3.0+ with its runtime exception), and what runs its programs (LGPL-2.1+).
packages_windows=(g++-mingw-w64-x86-64-posix wine wine64)

# Bare trees, where the wheels are run; advzip packs a wheel tighter (GPL-3.0, nothing links it).
packages_wheels=(debootstrap git advancecomp)

# pip fetches wheels of transformers (Apache-2.0), which torch (BSD-3-Clause) of Debian runs.
packages_golden=(python3 python3-pip python3-torch python3-numpy)

# venv makes an environment of newer packages from PyPI, which the distribution does not have.
packages_classes=(python3 python3-pip python3-venv)

# pip fetches the peers and the sources of ggml (docs/peers.md); what torch compiles needs g++ and
# the headers of Python.
packages_peers=(gcc g++ python3 python3-dev python3-pip python3-venv)

# libtorch (BSD-3-Clause) and what makes it fast, OpenBLAS (BSD-3-Clause); OpenSSL (Apache-2.0) for
# SHA-256.
packages_lab=(
  g++ cmake ninja-build ccache libhwy-dev nlohmann-json3-dev libcli11-dev libfmt-dev libgtest-dev
  python3 libjs-chart.js chromium libtorch-dev libgloo-dev libopenblas0-openmp libssl-dev
  python3-lxml python3-matplotlib mandoc sentencepiece python3-venv
)

# missing_packages NAME...: prints those that are not installed. Other systems than Debian name
# their packages differently: there CMake says what it cannot find.
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
