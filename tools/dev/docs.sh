# SPDX-License-Identifier: Apache-2.0
# ./dev docs: builds the documents as a site, and the API reference from the public headers.

cmd_docs() {
  (($# == 0)) || die "docs takes nothing, got '$1'"
  install_packages "${packages_docs[@]}"
  local environment=build/docs_environment
  if [[ ! -e "$environment/.complete" ]]; then
    stage "MkDocs with Material, into $environment"
    python3 -m venv --clear "$environment"
    "$environment/bin/pip" install --quiet mkdocs==1.6.1 mkdocs-material==9.8.2
    touch -- "$environment/.complete"
  fi
  stage "the site: build/docs/site/index.html"
  rm -rf build/docs
  /usr/bin/python3 -B tools/docs/stage_pages.py
  NO_MKDOCS_2_WARNING=1 "$environment/bin/mkdocs" build --quiet --config-file docs/mkdocs.yml
  stage "API reference: build/docs/site/api/index.html"
  ROTARY_VERSION="$(sed -n 's/^#define ROTARY_VERSION_STRING "\(.*\)"$/\1/p' \
    include/rotary/version.hpp)" doxygen docs/api/Doxyfile
  /usr/bin/python3 -B tools/docs/undocumented.py build/docs/xml
}
