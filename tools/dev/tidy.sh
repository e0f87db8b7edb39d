# SPDX-License-Identifier: Apache-2.0
# ./dev tidy: runs every static check. ctest also runs the fast checks of tools/tidy/tidy.py.

cmd_tidy() {
  local fix=no
  case "${1:-}" in
    "") ;;
    --fix) fix=yes ;;
    --rules)
      install_packages "${packages_test[@]}"
      /usr/bin/python3 -B tools/tidy/tidy.py
      return
      ;;
    *) die "tidy takes --fix, --rules or nothing, got '$1'" ;;
  esac
  install_packages "${packages_build[@]}" "${packages_test[@]}" "${packages_tidy[@]}"
  if [[ "$fix" == yes ]]; then
    stage "format"
    /usr/bin/python3 tools/tidy/tidy.py --fix-format
  fi

  # All checks run, even after failures.
  tidy_failed=()
  tidy_check "repository rules" /usr/bin/python3 tools/tidy/tidy.py
  tidy_check "g++ warnings" tidy_warnings build/gcc g++
  tidy_check "clang++ warnings" tidy_warnings build/clang clang++
  tidy_check "clang-tidy" tidy_clang_tidy
  if ((${#tidy_failed[@]} > 0)); then
    stage "findings in: $(printf '%s; ' "${tidy_failed[@]}")"
    return 1
  fi
  stage "tidy"
}

# tidy_check TITLE COMMAND...
tidy_check() {
  local title="$1"
  shift
  stage "$title"
  "$@" || tidy_failed+=("$title")
}

# tidy_warnings FOLDER COMPILER: builds everything, since mistakes in kernel targets only show when
# code is generated.
tidy_warnings() {
  local folder="$1" compiler="$2"
  if [[ ! -e "$folder/build.ninja" ]]; then
    # clang-tidy reads build/clang's commands without a precompiled header. Compiling each source
    # alone without one also reveals missing includes.
    cmake --preset release -B "$folder" -D CMAKE_CXX_COMPILER="$compiler" \
      -D CMAKE_CXX_FLAGS_RELEASE=-O1 -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
      -D ROTARY_COMBINE=OFF || return
  fi
  cmake --build "$folder"
}

tidy_clang_tidy() {
  local sources
  # build/clang lacks the lab (libtorch), the Python module (nanobind) and the GPU folder (nvcc, or
  # _Float16, which clang 14 lacks).
  sources="$(git ls-files --cached --others --exclude-standard '*.cpp' ':!lab/' ':!python/' \
    ':!cuda/')"
  # Hides the counts of warnings suppressed in system headers.
  xargs --max-procs="$(nproc)" --max-args=1 clang-tidy -p build/clang --quiet \
    <<<"$sources" 2> >(grep --invert-match --extended-regexp 'warnings? generated' >&2)
}
