# SPDX-License-Identifier: Apache-2.0
# ./dev counts: compares instructions of the hot calls, as shipped, with the recorded ones.

cmd_counts() {
  case "${1:-}" in
    "" | --accept | --if-recorded) ;;
    *) die "counts takes --accept, --if-recorded or nothing, got '$1'" ;;
  esac
  install_packages "${packages_build[@]}" "${packages_counts[@]}"
  build release runnable bin/rotary-counts
  stage "count"
  /usr/bin/python3 -B tools/counts/counts.py build/release/bin/rotary-counts \
    bench/counts/recorded.json "$@"
}
