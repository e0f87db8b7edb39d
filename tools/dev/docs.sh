# SPDX-License-Identifier: Apache-2.0
# ./dev docs: the API reference, from the comments of the public headers.

cmd_docs() {
  (($# == 0)) || die "docs takes nothing, got '$1'"
  install_packages "${packages_docs[@]}"
  stage "API reference: build/docs/api/index.html"
  rm -rf build/docs
  mkdir -p build/docs
  ROTARY_VERSION="$(sed -n 's/^#define ROTARY_VERSION_STRING "\(.*\)"$/\1/p' \
    include/rotary/version.hpp)" doxygen docs/api/Doxyfile
  /usr/bin/python3 -B tools/docs/undocumented.py build/docs/xml
}
