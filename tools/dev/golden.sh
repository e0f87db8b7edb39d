# SPDX-License-Identifier: Apache-2.0
# ./dev golden: the golden data of tests/golden made again by a published transformers, and what
# other releases make of the same configs; --onnx: ONNX's vectors made again by a published onnx,
# and the library held against them; --classes: every rotary class of a release beside the tool;
# --dialects: the numbers of other engines, from what PyPI has of them; --evidence: engines on each
# family's configs in each form; --gguf: GGUF files that others made; --peers: functions of other
# libraries beside the tool. It needs the network, once for each wheel.

golden_onnx() {
  /usr/bin/python3 -B tools/golden/onnx_vectors.py "$@"
  [[ $# -eq 0 ]] || return 0
  install_packages "${packages_build[@]}" "${packages_test[@]}"
  build release runnable bin/rotary_golden_test
  build/release/bin/rotary_golden_test --gtest_filter='OnnxGolden.*'
}

golden_classes() {
  install_packages "${packages_classes[@]}"
  build release native bin/rotary
  /usr/bin/python3 -B tools/golden/classes/classes.py "$@"
}

cmd_golden() {
  case ${1:-} in
    --classes) golden_classes "${@:2}" ;;
    --dialects)
      install_packages "${packages_golden[@]}" python3-venv g++
      /usr/bin/python3 -B tools/golden/dialects.py "${@:2}"
      ;;
    --evidence)
      install_packages "${packages_classes[@]}"
      build release native bin/rotary_readings
      /usr/bin/python3 -B tools/golden/evidence/evidence.py "${@:2}"
      ;;
    --gguf)
      build release native bin/rotary
      /usr/bin/python3 -B tools/golden/gguf/gguf_files.py build/release/bin/rotary "${@:2}"
      ;;
    --peers)
      install_packages "${packages_classes[@]}"
      build release native bin/rotary
      /usr/bin/python3 -B tools/golden/peers/peers.py
      ;;
    --onnx)
      install_packages "${packages_golden[@]}"
      golden_onnx "${@:2}"
      ;;
    *)
      install_packages "${packages_golden[@]}"
      /usr/bin/python3 -B tools/golden/golden.py "$@"
      ;;
  esac
}
