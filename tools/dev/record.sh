# SPDX-License-Identifier: Apache-2.0
# ./dev record: compares sizes, answers and bits, which refactoring must keep, with tests/recorded.

cmd_record() {
  [[ "$*" =~ ^(--accept)?$ ]] || die "record takes --accept or nothing, got '$*'"
  install_packages "${packages_build[@]}" "${packages_test[@]}"
  build release runnable
  stage "exported symbols"
  ctest --preset release --tests-regex '^exported_symbols' --output-on-failure
  stage "sizes, answers, bits"
  /usr/bin/python3 -B tools/record/record.py build/release "$@"
}
