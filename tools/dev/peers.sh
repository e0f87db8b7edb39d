# SPDX-License-Identifier: Apache-2.0
# ./dev bench --peers [attention]: compares the rotation or attention of PyTorch, ONNX Runtime,
# OpenVINO, MLX and ggml with rotary (docs/peers.md). The first run needs the network, for wheels
# and a source distribution pinned by SHA-256.

bench_peers() {
  install_packages "${packages_build[@]}" "${packages_peers[@]}"
  /usr/bin/python3 -B conformance/peers/peers.py "$@"
}
