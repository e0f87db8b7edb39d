# SPDX-License-Identifier: Apache-2.0
# ./dev golden: the golden data of tests/golden made again by a published transformers, and what
# other releases make of the same configs; --onnx: ONNX's vectors made again by a published onnx,
# and the library held against them. It needs the network, once for each wheel.

golden_onnx() {
  /usr/bin/python3 -B tools/golden/onnx_vectors.py "$@"
  [[ $# -eq 0 ]] || return 0
  install_packages "${packages_build[@]}" "${packages_test[@]}"
  configure dev
  cmake --build --preset dev --target rotary_golden_test
  build/dev/bin/rotary_golden_test --gtest_filter='OnnxGolden.*'
}

cmd_golden() {
  install_packages "${packages_golden[@]}"
  if [[ "${1:-}" == --onnx ]]; then
    golden_onnx "${@:2}"
    return
  fi
  /usr/bin/python3 -B tools/golden/golden.py "$@"
}
