# SPDX-License-Identifier: Apache-2.0
# ./dev bench: a release build, what `rotary bench` measures with it, and the numbers kept under the
# commit that they belong to.

bench_folder=build/bench

cmd_bench() {
  if [[ "${1:-}" == --peers ]]; then
    shift
    bench_peers "$@"
    return
  fi
  install_packages "${packages_build[@]}" git
  configure release
  stage "build: release"
  cmake --build --preset release --target bin/rotary
  local commit
  commit="$(git describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null || echo unknown)"
  mkdir -p -- "$bench_folder"
  case " $* " in
    *" -h "* | *" --help "*) exec build/release/bin/rotary bench --help ;;
  esac
  stage "rotary bench"
  build/release/bin/rotary bench --out "$bench_folder/$commit.json" --force "$@"
  stage "kept in $bench_folder/$commit.json"
}
