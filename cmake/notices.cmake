# SPDX-License-Identifier: Apache-2.0
# Writes THIRD-PARTY-NOTICES.md for people and rotary.spdx.json (SPDX 2.3) for tools. Both list the
# installed parts that rotary_third_party recorded.
set(rotary_notices_file "${PROJECT_BINARY_DIR}/THIRD-PARTY-NOTICES.md")
set(rotary_sbom_file "${PROJECT_BINARY_DIR}/rotary.spdx.json")

# rotary_get_json_members(<variable> <key> <text> [<key> <text>]...): members of a JSON object.
# Texts must not contain semicolons.
function(rotary_get_json_members variable)
  set(members "")
  while(ARGN)
    list(POP_FRONT ARGN key text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    list(APPEND members "\"${key}\": \"${text}\"")
  endwhile()
  list(JOIN members ",\n      " members)
  set(${variable} "${members}" PARENT_SCOPE)
endfunction()

# rotary_get_installed_parties(<variable>): names, sorted.
function(rotary_get_installed_parties variable)
  get_property(names GLOBAL PROPERTY rotary_third_parties)
  set(installed "")
  foreach(name IN LISTS names)
    rotary_get_third_party("${name}")
    if(NOT party_USER STREQUAL "tool" OR ROTARY_TOOL)
      list(APPEND installed "${name}")
    endif()
  endforeach()
  list(SORT installed CASE INSENSITIVE)
  set(${variable} "${installed}" PARENT_SCOPE)
endfunction()

function(rotary_write_notices names)
  set(rows "")
  set(texts "")
  foreach(name IN LISTS names)
    rotary_get_third_party("${name}")
    set(held "contained in the ${party_USER}")
    if(party_HELD STREQUAL "linked")
      set(held "loaded by the ${party_USER}")
    endif()
    string(APPEND rows
      "| [${name}](${party_HOME}) ${party_VERSION} | ${party_LICENCE} | ${held} | ${party_WHY} |\n")
    if(party_HELD STREQUAL "contained")
      rotary_get_notice(notice "${name}")
      string(APPEND texts "\n## ${name}\n\n${notice}")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT "${rotary_notices_file}" @ONLY CONTENT
"# Third-party notices of rotary @PROJECT_VERSION@

rotary is under the Apache License 2.0 (LICENSE). It contains, or loads, work of others:

| | licence | where | what for |
|---|---|---|---|
@rows@
A library that is loaded is no part of this package: another version of it can take its place. The
notices of what is contained:
@texts@")
endfunction()

function(rotary_write_sbom names)
  set(packages "")
  set(relations "")
  foreach(name IN LISTS names)
    rotary_get_third_party("${name}")
    string(REGEX REPLACE "[^A-Za-z0-9.]+" "-" id "SPDXRef-${name}")
    list(TRANSFORM party_COPYRIGHT PREPEND "Copyright (c) ")
    list(JOIN party_COPYRIGHT "\\n" copyright)
    rotary_get_json_members(members
      SPDXID "${id}" name "${name}" versionInfo "${party_VERSION}" homepage "${party_HOME}"
      licenseConcluded "${party_LICENCE}" licenseDeclared "${party_LICENCE}"
      downloadLocation NOASSERTION comment "${party_WHY}")
    string(APPEND packages ",
    {
      ${members},
      \"copyrightText\": \"${copyright}\",
      \"filesAnalyzed\": false
    }")
    set(relation CONTAINS)
    if(party_HELD STREQUAL "linked")
      set(relation DEPENDS_ON)
    endif()
    rotary_get_json_members(members
      spdxElementId SPDXRef-rotary relationshipType "${relation}" relatedSpdxElement "${id}")
    string(APPEND relations ",
    {
      ${members}
    }")
  endforeach()
  # The namespace depends only on the content, so equal builds write equal files (apart from the
  # time, which SOURCE_DATE_EPOCH fixes).
  string(SHA256 digest "${packages}${relations}")
  string(TIMESTAMP created "%Y-%m-%dT%H:%M:%SZ" UTC)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/rotary.spdx.json.in" "${rotary_sbom_file}" @ONLY)
endfunction()

rotary_get_installed_parties(rotary_parties)
rotary_write_notices("${rotary_parties}")
rotary_write_sbom("${rotary_parties}")
if(NOT ROTARY_PYTHON)
  install(FILES "${rotary_notices_file}" "${rotary_sbom_file}" TYPE DOC)
endif()
