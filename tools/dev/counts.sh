# SPDX-License-Identifier: Apache-2.0
# ./dev counts: compares a release build's instruction counts of the hot calls with the record.

cmd_counts() {
  [[ "$*" =~ ^(--accept|--if-recorded)?$ ]] ||
    die "counts takes --accept, --if-recorded or nothing, got '$*'"
  install_packages "${packages_build[@]}" "${packages_counts[@]}"
  build release runnable bin/rotary-counts
  stage "count"
  /usr/bin/python3 -B tools/counts/counts.py build/release/bin/rotary-counts \
    bench/counts/recorded.json "$@"
}
