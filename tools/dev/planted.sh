# SPDX-License-Identifier: Apache-2.0
# ./dev planted [NAME...]: plants the named bugs of tests/planted, or all, in a copy of the tree.
# The tests that a bug's patch names must fail. The copy and its builds stay in build/planted.

cmd_planted() {
  install_packages "${packages_build[@]}" "${packages_test[@]}"
  /usr/bin/python3 -B tools/dev/planted.py "$@"
}
