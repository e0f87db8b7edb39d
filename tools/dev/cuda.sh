# SPDX-License-Identifier: Apache-2.0
# ./dev cuda: builds and tests the library with its functions for NVIDIA GPUs. With --emulated or
# without nvcc, compiles the kernels for the CPU.

cmd_cuda() {
  install_packages "${packages_build[@]}"
  local preset=cuda-emulated
  export PATH="$PATH:/usr/local/cuda/bin"
  if [[ "$*" != --emulated ]] && command -v nvcc >/dev/null; then
    preset=cuda
  fi
  run_tests "$preset"
}
