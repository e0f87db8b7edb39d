# SPDX-License-Identifier: Apache-2.0
# ./dev planted: puts each bug of tests/planted, or the named ones, into a copy of the tree, and
# expects the tests named in its patch to fail. The copy and its builds stay in build/planted.

cmd_planted() {
  install_packages "${packages_build[@]}" "${packages_test[@]}"
  /usr/bin/python3 -B tools/dev/planted.py "$@"
}
