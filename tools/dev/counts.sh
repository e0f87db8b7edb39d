# SPDX-License-Identifier: Apache-2.0
# ./dev counts: instructions of the hot calls, as shipped, against those recorded.

cmd_counts() {
  case "${1:-}" in
    "" | --accept) ;;
    *) die "counts takes --accept or nothing, got '$1'" ;;
  esac
  install_packages "${packages_build[@]}" "${packages_counts[@]}"
  configure release
  stage "build: release, rotary-counts"
  cmake --build --preset release --target bin/rotary-counts
  stage "count"
  /usr/bin/python3 -B tools/counts/counts.py build/release/bin/rotary-counts \
    bench/counts/recorded.json "$@"
}
