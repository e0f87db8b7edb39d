# SPDX-License-Identifier: Apache-2.0
# ./dev golden: the golden data of tests/golden made again by a published transformers, and what
# other releases make of the same configs; with --classes: every rotary class of a release beside
# the tool. It needs the network, once for each wheel.

cmd_golden() {
  if [[ ${1:-} == --classes ]]; then
    shift
    install_packages "${packages_classes[@]}"
    cmd_build release
    /usr/bin/python3 -B tools/golden/classes/classes.py "$@"
    return
  fi
  install_packages "${packages_golden[@]}"
  /usr/bin/python3 -B tools/golden/golden.py "$@"
}
