# SPDX-License-Identifier: Apache-2.0
# ./dev golden: the golden data of tests/golden made again by a published transformers, and what
# other releases make of the same configs. It needs the network, once for each wheel.

cmd_golden() {
  install_packages "${packages_golden[@]}"
  /usr/bin/python3 -B tools/golden/golden.py "$@"
}
