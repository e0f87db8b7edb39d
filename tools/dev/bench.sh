# SPDX-License-Identifier: Apache-2.0
# ./dev bench [attention]: builds a release, runs `rotary bench` or `rotary bench attention`, and
# keeps the numbers under their commit. --peers [attention]: compares PyTorch, ONNX Runtime,
# OpenVINO, MLX and ggml with rotary (docs/peers.md). Its first run needs the network, for wheels
# and a source distribution pinned by SHA-256.

bench_folder=build/bench

cmd_bench() {
  if [[ "${1:-}" == --peers ]]; then
    install_packages "${packages_build[@]}" "${packages_peers[@]}"
    /usr/bin/python3 -B conformance/peers/peers.py "${@:2}"
    return
  fi
  install_packages "${packages_build[@]}" git
  build release native bin/rotary
  local commit
  commit="$(git describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null || echo unknown)"
  mkdir -p -- "$bench_folder"
  local -a command=(build/release/bin/rotary bench)
  local kept="$bench_folder/$commit.json"
  if [[ "${1:-}" == attention ]]; then
    shift
    command+=(attention)
    kept="$bench_folder/$commit-attention.json"
  fi
  case " $* " in
    *" -h "* | *" --help "*) exec "${command[@]}" --help ;;
  esac
  stage "${command[*]:1}"
  "${command[@]}" --out "$kept" --force "$@"
  stage "kept in $kept"
}
