# SPDX-License-Identifier: Apache-2.0
# ./dev golden: makes the files of tests/golden again with a published transformers and compares
# them. ./dev help says what the options do. Needs the network once per wheel.

cmd_golden() {
  case ${1:-} in
    --classes | --peers)
      install_packages "${packages_classes[@]}"
      build release native bin/rotary
      /usr/bin/python3 -B "conformance/golden/${1#--}/${1#--}.py" "${@:2}"
      ;;
    --dialects)
      install_packages "${packages_golden[@]}" python3-venv g++
      /usr/bin/python3 -B conformance/golden/dialects.py "${@:2}"
      ;;
    --evidence)
      install_packages "${packages_classes[@]}"
      build release native bin/rotary_readings
      /usr/bin/python3 -B conformance/golden/evidence/evidence.py "${@:2}"
      ;;
    --gguf)
      install_packages python3-numpy python3-pip python3-yaml
      build release native bin/rotary
      /usr/bin/python3 -B conformance/golden/gguf/gguf_files.py build/release/bin/rotary "${@:2}"
      ;;
    --onnx)
      install_packages "${packages_golden[@]}" python3-venv
      /usr/bin/python3 -B conformance/golden/onnx_vectors.py "${@:2}"
      (($# == 1)) || return 0
      install_packages "${packages_build[@]}" "${packages_test[@]}"
      build release runnable bin/rotary_golden_test
      build/release/bin/rotary_golden_test --gtest_filter='OnnxGolden.*'
      ;;
    *)
      install_packages "${packages_golden[@]}"
      /usr/bin/python3 -B conformance/golden/golden.py "$@"
      ;;
  esac
}
