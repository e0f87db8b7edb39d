# SPDX-License-Identifier: Apache-2.0
# ./dev release: makes all files of a release from HEAD, with SHA256SUMS, in build/release_files.
# Tries the archive and the packages in a bare tree, as docs/how-to/link-rotary.md says. Not in CI.
# CONTRIBUTING.md says what a person does before and after.

release_folder="$PWD/build/release_files"
release_sources="$PWD/build/release_sources"
release_version="$(sed -n 's/.*VERSION_STRING "\(.*\)"/\1/p' include/rotary/version.hpp)"

cmd_release() {
  [[ "$*" =~ ^(--unchecked)?$ ]] || die "release takes --unchecked or nothing, got '$*'"
  ((EUID == 0)) || die "release changes its root directory, which needs root: sudo ./dev release"
  [[ -z "$(git status --porcelain)" ]] || die "release takes HEAD; commit or stash your changes"
  [[ "$*" == --unchecked ]] || .ci/run
  install_packages "${packages_build[@]}" "${packages_wheels[@]}" "${packages_release[@]}"
  ./dev wheels
  rm -rf -- "$release_folder"
  mkdir -p -- "$release_folder"
  cp -- "$wheels_folder"/dist/rotary-"$release_version"* "$release_folder"
  release_make_archive
  release_make_packages
  release_run_in_tree
  release_try_conan
  ./dev windows
  (cd -- "$release_folder" && sha256sum -- * >"$release_sources/SHA256SUMS" &&
    mv -- "$release_sources/SHA256SUMS" .)
  stage "release: these files are ready to be signed"
  ls -l "$release_folder"
}

# Packs the wheel's tool, which needs only glibc, as an archive that runs from any folder.
release_make_archive() {
  local name="rotary-$release_version-linux-x86_64"
  local folder="$release_sources/$name" wheel="$release_sources/wheel" share
  stage "release: $name.tar.xz"
  rm -rf -- "$folder" "$wheel"
  share="$folder/share"
  mkdir -p -- "$folder/bin" "$share"/{bash-completion/completions,doc/rotary,man/man1} \
    "$share"/{fish/vendor_completions.d,zsh/site-functions}
  python3 -m zipfile -e "$release_folder"/rotary-*_x86_64.whl "$wheel"
  install -m 755 "$wheel"/rotary-*.data/scripts/rotary "$folder/bin/rotary"
  cp -- "$wheel"/rotary/{THIRD-PARTY-NOTICES.md,rotary.spdx.json} LICENSE "$share/doc/rotary"
  "$folder/bin/rotary" help --man-pages "$share/man/man1"
  "$folder/bin/rotary" completions bash >"$share/bash-completion/completions/rotary"
  "$folder/bin/rotary" completions zsh >"$share/zsh/site-functions/_rotary"
  "$folder/bin/rotary" completions fish >"$share/fish/vendor_completions.d/rotary.fish"
  tar -C "$release_sources" --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@$(git log -1 --format=%ct)" -cJf "$release_folder/$name.tar.xz" "$name"
  ROTARY_PREFIX="$folder" /usr/bin/python3 -B tests/install/manual_test.py
}

# Makes Debian packages and runs lintian. A tag that debian/ does not explain is an error.
release_make_packages() {
  local source="$release_sources/rotary-$release_version"
  stage "release: Debian's packages"
  rm -rf -- "$source" "$release_sources"/*.deb
  mkdir -p -- "$source"
  git archive HEAD | tar -x -C "$source"
  # debhelper gives each build its own home, without the compiler cache.
  (cd -- "$source" && CCACHE_DIR="$(ccache --get-config cache_dir)" \
    DEB_BUILD_OPTIONS="noautodbgsym parallel=$(nproc)" dpkg-buildpackage --build=binary -us -uc)
  lintian --fail-on error,warning --allow-root "$release_sources"/*.changes
  cp -- "$release_sources"/*.deb "$release_folder"
}

release_run_in_tree() {
  local consumer
  fresh_tree="$release_sources/tree"
  [[ ! -e "$fresh_tree" ]] || fresh_cleanup
  trap fresh_cleanup EXIT
  stage "release: a bare tree of $fresh_suite"
  debootstrap --variant=minbase "$fresh_suite" "$fresh_tree" "$(fresh_sources |
    awk -v suite="$fresh_suite" '$3 == suite { print $2; exit }')" >"$release_sources/tree.log"
  fresh_configure
  mkdir -- "$fresh_tree"/{rotary,files,before}
  git archive HEAD | tar -x -C "$fresh_tree/rotary"
  cp -- "$release_folder"/* "$fresh_tree/files"
  stage "release: use the archive in the tree"
  fresh_inside / "apt-get -qq update && apt-get -qq install --yes xz-utils
    tar -xf files/rotary-*-linux-x86_64.tar.xz
    rotary-*-linux-x86_64/bin/rotary inspect llama-3.1-8b"
  stage "release: install, upgrade, use and remove the packages in the tree"
  release_repack_as_older
  fresh_inside / "apt-get -qq install --yes ./before/*.deb
    apt-get -qq install --yes --no-install-recommends ./files/*.deb \
      g++ cmake ninja-build pkg-config
    dpkg-query --show rotary 'librotary*'
    rotary inspect llama-3.1-8b | head -n 3"
  for consumer in cmake_bits cmake_threads cmake_c pkg_config_c; do
    fresh_inside /rotary "tests/consumers/consume.sh $consumer /consumer /usr"
  done
  fresh_inside / "apt-get -qq purge --yes rotary 'librotary*'
    ! find /etc /usr /var/lib -name '*rotary*' | grep ."
}

# Makes the same packages with an older version, in the tree's folder `before`.
release_repack_as_older() {
  local package unpacked="$release_sources/unpacked"
  for package in "$release_folder"/*.deb; do
    rm -rf -- "$unpacked"
    dpkg-deb --raw-extract "$package" "$unpacked"
    sed -i "s/\b${release_version//./\\.}\b/&~before/" "$unpacked/DEBIAN/control"
    dpkg-deb --build "$unpacked" "$fresh_tree/before/" >/dev/null
  done
}

# Tries the Conan recipe and its test package with Debian's Highway and nlohmann/json.
release_try_conan() {
  local tools="$release_sources/conan"
  stage "release: conan create"
  if [[ ! -x "$tools/bin/conan" ]]; then
    python3 -m venv --clear "$tools"
    python_pip "$tools" install 'conan==2.*'
  fi
  CONAN_HOME="$tools/home" "$tools/bin/conan" create packaging/conan --no-remote \
    --profile:all packaging/conan/debian.profile --conf tools.build:jobs="$(nproc)" \
    --conf tools.cmake.cmake_layout:test_folder="$tools/test" \
    --conf "tools.cmake.cmaketoolchain:extra_variables={'ROTARY_INSTRUCTION_SETS': 'native'}"
}
