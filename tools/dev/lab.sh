# SPDX-License-Identifier: Apache-2.0
# ./dev lab: the lab built and tested, and the first experiment's quick preset, two processes
# sharing its cells; ./dev lab ARGUMENT...: rotary-lab with these.

cmd_lab() {
  install_packages "${packages_lab[@]}"
  if (($# > 0)); then
    configure lab
    cmake --build --preset lab --target bin/rotary-lab
    exec build/lab/bin/rotary-lab "$@"
  fi
  run_tests lab
  stage "train: E1, quick"
  local -a command=(build/lab/bin/rotary-lab run lab/experiments/e1-causal-lm.json
    --runs build/lab/runs)
  "${command[@]}" 2>/dev/null &
  "${command[@]}"
  wait $!
  stage "results"
  build/lab/bin/rotary-lab results lab/experiments/e1-causal-lm.json --runs build/lab/runs
}
