# SPDX-License-Identifier: Apache-2.0
# ./dev wheels: builds the files for a package index: wheels for x86-64 and aarch64 with glibc 2.28
# or later, and the sdist. Tests each on the systems that it supports. Not part of CI. Results stay
# in build/wheels, so a second call continues where the first stopped.
#
# Debian's g++ compiles, as in every other build, so the bits are equal. The linker gets the
# symbols of the oldest glibc from zig. zig's C++ library does not work, because nanobind's runtime
# exchanges exceptions only with gcc's C++ library.

wheels_folder="$PWD/build/wheels"
wheels_glibc=2.28

cmd_wheels() {
  (($# == 0)) || die "wheels takes nothing, got '$1'"
  ((EUID == 0)) || die "wheels changes its root directory, which needs root: sudo ./dev wheels"
  install_packages "${packages_build[@]}" "${packages_python[@]}" "${packages_arm[@]}" \
    "${packages_wheels[@]}"
  trap 'umount "$wheels_folder"/trees/*/proc 2>/dev/null || true' EXIT
  wheels_provide_tools
  arm_fill_sysroot
  wheels_build x86_64
  wheels_build aarch64 -C cmake.define.CMAKE_TOOLCHAIN_FILE="$PWD/cmake/arm64.cmake" \
    -C cmake.define.nanobind_DIR="$("$python_folder/tools/bin/python" -m nanobind --cmake_dir)" \
    -C cmake.define.ROTARY_PYTHON_STUB="$wheels_folder/x86_64/python/_core.pyi"
  build release all bin/rotary
  wheels_run_in bookworm 11 python3-venv
  wheels_run_in trixie 13 python3-venv
  wheels_run_in_bullseye
  wheels_run_on_arm
  wheels_make_sdist
  stage "wheels: all of these run"
  ls -l "$wheels_folder/dist"
}

wheels_provide_tools() {
  python_provide_tools && consumers_get_tarballs "$PWD/build/tarballs" >build/tarballs.log 2>&1 ||
    die "no package index, or no sources ($python_folder/tools.log, build/tarballs.log)"
  [[ -e "$python_folder/tools/.wheels" ]] || python_pip "$python_folder/tools" install \
    'ziglang==0.17.*' 'abi3audit==0.*'
  touch -- "$python_folder/tools/.wheels"
}

# wheels_c_library MACHINE: fills build/wheels/glibc/MACHINE with a C library for the linker. It has
# the symbols and startup files of the oldest supported glibc.
wheels_c_library() {
  local folder="$wheels_folder/glibc/$1" cache="$wheels_folder/zig" file compiler="$1-linux-gnu-gcc"
  [[ ! -e "$folder/libc.so" ]] || return 0
  stage "wheels: the symbols of glibc $wheels_glibc on $1"
  mkdir -p -- "$folder"
  echo 'int main(void) { return 0; }' >"$folder/empty.c"
  # `cc -v` prints the linker's command, which names the files in zig's cache.
  ZIG_GLOBAL_CACHE_DIR="$cache" ZIG_LOCAL_CACHE_DIR="$cache" \
    "$python_folder/tools/bin/python" -m ziglang cc -v -O2 -pie -fPIE \
    -target "$1-linux-gnu.$wheels_glibc" "$folder/empty.c" -o "$folder/empty" 2>&1 |
    tail -n 1 | tr ' ' '\n' | grep -e '/lib[a-z]*\.so\.' -e Scrt1.o -e libc_nonshared.a |
    while read -r file; do
      cp -- "$file" "$folder"
    done
  # libstdc++ built with glibc 2.32 or later reads this flag. 0 means that threads may exist.
  echo '__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;' |
    "$compiler" -x c -fPIC -c -o "$folder/single_threaded.o" -
  "$1-linux-gnu-ar" r "$folder/libc_nonshared.a" "$folder/single_threaded.o"
  ln -sf libm.so.6 "$folder/libm.so"
  echo "GROUP($folder/libc.so.6 $folder/libc_nonshared.a $folder/libpthread.so.0" \
    "AS_NEEDED($folder/libld.so.2))" >"$folder/libc.so"
}

# wheels_build MACHINE OPTION...: builds the wheel into build/wheels/dist with pip's options.
wheels_build() {
  local tools="$PWD/$python_folder/tools" sources="$PWD/build/tarballs"
  local glibc="$wheels_folder/glibc/$1"
  wheels_c_library "$1"
  stage "wheels: build for $1"
  rm -f -- "$wheels_folder"/{built,dist}/*_"$1".whl
  # g++'s libraries use symbols of this machine's glibc, which the older glibc may lack.
  LDFLAGS="-B$glibc -L$glibc -Wl,--allow-shlib-undefined,-s" CXX="${CXX:-c++}" \
    CMAKE_BUILD_PARALLEL_LEVEL="$(nproc)" \
    _PYTHON_HOST_PLATFORM="linux-$1" PATH="$tools/bin:$PATH" "$tools/bin/pip" --quiet wheel . \
    --no-build-isolation --no-deps --wheel-dir "$wheels_folder/built" \
    -C build-dir="build/wheels/$1" -C cmake.define.ROTARY_COLD=-Os \
    -C cmake.define.ROTARY_INSTRUCTION_SETS=all -C cmake.define.ROTARY_WARNINGS_AS_ERRORS=ON \
    -C cmake.define.FETCHCONTENT_SOURCE_DIR_HIGHWAY="$sources/highway" \
    -C cmake.define.FETCHCONTENT_SOURCE_DIR_NLOHMANN_JSON="$sources/json" "${@:2}"
  stage "wheels: check for $1"
  # auditwheel names the wheel after the oldest glibc that works, which must be the supported one.
  PATH="$tools/bin:$PATH" "$tools/bin/auditwheel" repair --wheel-dir "$wheels_folder/dist" \
    "$wheels_folder"/built/*_"$1".whl
  local wheel=("$wheels_folder"/dist/rotary-*-manylinux_"${wheels_glibc/./_}_$1".whl)
  advzip --recompress --shrink-extra --quiet "${wheel[0]}"
  (($(stat --format=%s "${wheel[0]}") <= 5000000)) || die "a wheel must have 5 MB at most"
  "$tools/bin/abi3audit" --strict "${wheel[0]}"
}

# Makes the sdist, and a wheel from it without a network. Prints the processor time that the wheel
# takes without a compiler cache.
wheels_make_sdist() {
  local tools="$PWD/$python_folder/tools" sources="$PWD/build/tarballs"
  stage "wheels: the sdist, and a wheel from it without a network"
  "$tools/bin/python" -c 'import sys, scikit_build_core.build as backend
backend.build_sdist(sys.argv[1])' "$wheels_folder/dist"
  TIMEFORMAT='processor time: %U s + %S s'
  time CCACHE_DISABLE=1 PATH="$tools/bin:$PATH" unshare --net "$tools/bin/pip" --quiet wheel \
    "$wheels_folder"/dist/rotary-*.tar.gz --no-index --no-build-isolation --no-deps \
    --wheel-dir "$wheels_folder/from_sdist" \
    -C cmake.define.FETCHCONTENT_SOURCE_DIR_HIGHWAY="$sources/highway" \
    -C cmake.define.FETCHCONTENT_SOURCE_DIR_NLOHMANN_JSON="$sources/json"
}

# wheels_needs MACHINE MINOR: fetches wheels for rotary and its tests to build/wheels/needs.
wheels_needs() {
  local folder="$wheels_folder/needs/$1-$2" glibc="${wheels_glibc/./_}"
  [[ -d "$folder" ]] || python_pip "$python_folder/tools" download --dest "$folder" \
    --only-binary :all: --python-version "3.$2" --implementation cp --abi "cp3$2" --abi abi3 \
    --platform "manylinux_${glibc}_$1" --platform "manylinux_2_17_$1" \
    'numpy>=1.23' 'nanobind-backend>=1.0,<2' pytest ml_dtypes
}

# wheels_tree SUITE [PACKAGES]: makes a bare Debian tree in $fresh_tree, with this commit in /rotary
# and wheels in /wheels.
wheels_tree() {
  fresh_tree="$wheels_folder/trees/$1"
  if [[ ! -e "$fresh_tree/.complete" ]]; then
    stage "wheels: a bare tree of $1"
    rm -rf -- "$fresh_tree"
    mkdir -p -- "$wheels_folder/trees"
    debootstrap --variant=minbase ${2:+--include="$2"} "$1" "$fresh_tree" "$(fresh_sources |
      awk -v suite="$fresh_suite" '$3 == suite { print $2; exit }')" >"$fresh_tree.log"
    touch -- "$fresh_tree/.complete"
  fi
  rm -rf -- "$fresh_tree"/{rotary,wheels,venv}
  mkdir -- "$fresh_tree"/{rotary,wheels}
  git archive HEAD | tar -x -C "$fresh_tree/rotary"
  cp -- "$wheels_folder"/dist/*_x86_64.whl "$fresh_tree/wheels"
  mountpoint --quiet "$fresh_tree/proc" || mount -t proc proc "$fresh_tree/proc"
}

# Prints this machine's instruction sets, as the release build names them.
wheels_sets() {
  build/release/bin/rotary --version | sed -n 's/.*best first: //p'
}

# wheels_run_in SUITE MINOR PACKAGES: installs as a new user would, then runs python/tests.
wheels_run_in() {
  wheels_tree "$1" "$3"
  wheels_needs x86_64 "$2"
  cp -- "$wheels_folder/needs/x86_64-$2"/*.whl "$fresh_tree/wheels"
  stage "wheels: run on x86-64 in $1"
  TIMEFORMAT='from the wheel to the first answer: %R s, of processor time %U s + %S s'
  time fresh_inside / "python3 -m venv /venv
    venv/bin/pip install --quiet --no-index --find-links wheels rotary
    venv/bin/rotary inspect llama-3.1-8b | head -n 3"
  fresh_inside /rotary "export PROBE_SETS='$(wheels_sets)' LANG=C.UTF-8
    python3 -B tests/install/wheel_probe.py tool /venv/bin/rotary
    /venv/bin/python -B tests/install/wheel_probe.py module
    /venv/bin/pip install --quiet --no-index --find-links /wheels pytest ml_dtypes
    ROTARY_WHEEL=\$(echo /wheels/rotary-*.whl) /venv/bin/python -B -m pytest -q \
      -p no:cacheprovider --import-mode=importlib python/tests"
}

# Bullseye (glibc 2.31) has no new enough CPython, so this compiles one there from Debian's sources.
wheels_run_in_bullseye() {
  wheels_tree bullseye
  if [[ ! -x "$fresh_tree/opt/python/bin/python3" ]]; then
    stage "wheels: CPython in bullseye"
    cp --dereference /etc/resolv.conf /etc/hosts "$fresh_tree/etc"
    mkdir -p -- "$fresh_tree/python"
    local sources="$PWD/build/tarballs"
    (cd -- "$fresh_tree/python" &&
      consumers_apt "$sources" source --download-only --tar-only python3.11)
    fresh_inside / "apt-get -qq update
      apt-get -qq install --yes --no-install-recommends g++ make libc6-dev zlib1g-dev libffi-dev"
    fresh_inside /python "tar -xf python3.11_*.orig.tar.* --strip-components=1
      ./configure -q --prefix=/opt/python --without-ensurepip CFLAGS=-O1
      make -s && make -s install" >"$fresh_tree.python.log" 2>&1
  fi
  wheels_needs x86_64 11
  wheels_unpack "$fresh_tree/venv" x86_64
  stage "wheels: run on x86-64 in bullseye"
  fresh_inside /rotary "export PROBE_SETS='$(wheels_sets)' LANG=C.UTF-8 PYTHONPATH=/venv
    /opt/python/bin/python3 -B tests/install/wheel_probe.py tool /venv/scripts/rotary
    /opt/python/bin/python3 -B tests/install/wheel_probe.py module"
  stage "wheels: examples in C and C++ by bullseye's g++"
  local build="$wheels_folder/x86_64/src" glibc="$wheels_folder/glibc/x86_64"
  "${CXX:-c++}" -shared -static-libstdc++ -B"$glibc" -L"$glibc" -s \
    -Wl,--allow-shlib-undefined,--gc-sections,--version-script=src/exports.map \
    -Wl,--whole-archive "$build/librotary.a" -Wl,--no-whole-archive \
    -o "$fresh_tree/rotary/librotary.so"
  fresh_inside /rotary "gcc -Iinclude examples/rotate.c -L. -lrotary -o rotate
    g++ -std=c++20 -Iinclude examples/fused_qkv.cpp -L. -lrotary -o fused_qkv
    for each in rotate fused_qkv; do
      LD_LIBRARY_PATH=. ./\$each | diff - examples/\$each.expected
      echo \$each: as expected
    done"
}

# wheels_unpack FOLDER MACHINE: unpacks wheels as pip would, for machines where pip cannot run.
wheels_unpack() {
  local wheel
  rm -rf -- "$1"
  for wheel in "$wheels_folder/needs/$2-11"/*.whl "$wheels_folder"/dist/*_"$2".whl; do
    python3 -m zipfile -e "$wheel" "$1"
  done
  mv -- "$1"/rotary-*.data/scripts "$1"
  chmod +x "$1/scripts/rotary"
}

# Unpacks Debian's arm64 Python and what the wheel needs, and runs the wheel on an emulated
# Cortex-A72.
wheels_run_on_arm() {
  local tree="$wheels_folder/trees/arm64"
  local emulator="$(command -v qemu-aarch64) -cpu cortex-a72 -L $tree"
  [[ -e "$tree/usr/bin/python3.11" ]] || arm_unpack "$tree" python3 libstdc++6
  wheels_needs aarch64 11
  wheels_unpack "$wheels_folder/arm64" aarch64
  stage "wheels: run on aarch64"
  export PROBE_EMULATOR="$emulator" PROBE_SETS=NEON
  python3 -B tests/install/wheel_probe.py tool $emulator "$wheels_folder/arm64/scripts/rotary"
  PYTHONPATH="$wheels_folder/arm64" $emulator "$tree/usr/bin/python3.11" -B \
    tests/install/wheel_probe.py module
}
