# SPDX-License-Identifier: Apache-2.0
# ./dev bench --peers: PyTorch, ONNX Runtime, OpenVINO, MLX and ggml beside ours; docs/peers.md says
# what is compared; ./dev bench --peers attention: their attention. The first run needs the network:
# wheels and a source distribution, pinned by SHA-256.

bench_peers() {
  install_packages "${packages_build[@]}" "${packages_peers[@]}"
  /usr/bin/python3 -B tools/bench/peers/peers.py "$@"
}
