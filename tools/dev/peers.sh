# SPDX-License-Identifier: Apache-2.0
# ./dev bench --peers: PyTorch, ONNX Runtime and ggml beside ours; docs/peers.md says what is
# compared; ./dev bench --peers attention: attention of PyTorch and ggml. The first run needs the
# network: wheels and a source distribution, pinned by SHA-256, for attention a package of Debian.

bench_peers() {
  install_packages "${packages_build[@]}" "${packages_peers[@]}"
  local program=peers.py
  if [[ "${1:-}" == attention ]]; then
    shift
    program=attention_peers.py
  fi
  /usr/bin/python3 -B "tools/bench/peers/$program" "$@"
}
