# SPDX-License-Identifier: Apache-2.0
# ./dev lab: builds and tests the lab, fetches prose, and trains E1 to E4 with the quick preset in
# one process per processor. ./dev lab --test: only builds and tests. ./dev lab data ARGUMENT...:
# makes data sets. ./dev lab ARGUMENT... [-j N]: runs rotary-lab in N processes.

lab_tool=build/lab/bin/rotary-lab
lab_quick=(e1-causal-lm e2-masked-lm e4-cost)
lab_places=(--runs build/lab/runs --data-dir build/lab/data)

# Installs sacreBLEU (Apache-2.0), which scores translations, by pip; the rest works without it.
provide_sacrebleu() {
  local -r python=build/lab/python
  command -v sacrebleu >/dev/null && return
  if [[ ! -x "$python/bin/sacrebleu" ]]; then
    stage "install sacreBLEU into $python"
    { python3 -m venv "$python" && "$python/bin/pip" install --quiet 'sacrebleu==2.6.*'; } ||
      echo "no sacreBLEU: translations are not judged" >&2
  fi
  [[ -x "$python/bin/sacrebleu" ]] &&
    export ROTARY_LAB_SACREBLEU="${ROTARY_LAB_SACREBLEU:-$PWD/$python/bin/sacrebleu}"
  return 0
}

# build_lab TARGET: builds the lab, a separate project, with the library of build/release.
build_lab() {
  build release native rotary rotary_threads
  stage "build: lab, $1"
  cmake -S lab -B build/lab -G Ninja -D "rotary_DIR=$PWD/build/release" \
    -D ROTARY_WARNINGS_AS_ERRORS=ON
  cmake --build build/lab --parallel "$(nproc)" --target "$1"
}

test_lab() {
  build_lab all
  stage "test: lab"
  ctest --test-dir build/lab --output-on-failure --no-tests=error --parallel "$(nproc)"
}

cmd_lab() {
  install_packages "${packages_build[@]}" "${packages_lab[@]}"
  if [[ "$*" == --test ]]; then
    test_lab
    return
  fi
  if [[ "${1:-}" == data ]]; then
    exec lab/data/prepare.py "${@:2}"
  fi
  if (($# > 0)); then
    provide_sacrebleu
    build_lab bin/rotary-lab
    if [[ $# -gt 2 && "${*: -2:1}" == -j ]]; then
      exec lab/jobs.sh "${*: -1}" "$lab_tool" "${@:1:$#-2}"
    fi
    exec "$lab_tool" "$@"
  fi
  test_lab
  stage "data: prose"
  if [[ ! -e build/lab/data/prose ]]; then
    lab/data/prepare.py add prose --data-dir build/lab/data ||
      lab/data/prepare.py add grammar --data-dir build/lab/data
  fi
  stage "train: E1 to E4, quick"
  lab/jobs.sh "$(nproc)" "$lab_tool" run "${lab_quick[@]}" "${lab_places[@]}"
  stage "results"
  "$lab_tool" results "${lab_places[@]}"
  stage "report"
  "$lab_tool" report "${lab_places[@]}" --out build/lab/report.html --force
}
