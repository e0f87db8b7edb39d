# SPDX-License-Identifier: Apache-2.0
# Third-party parts of an installation. dependencies.cmake records them for the notices and
# cli/report.

# rotary_third_party(<name> VERSION <version> LICENCE <SPDX expression> COPYRIGHT <holder>...
#   HOME <address> USER <library|module|tool> HELD <contained|linked> WHY <text>)
# contained: compiled or copied into our files, which carry its notice. linked: a separate library
# that is loaded with ours.
function(rotary_third_party name)
  cmake_parse_arguments(PARSE_ARGV 1 party "" "VERSION;LICENCE;HOME;USER;HELD;WHY" "COPYRIGHT")
  if(party_UNPARSED_ARGUMENTS OR party_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "rotary_third_party(${name}): got ${party_UNPARSED_ARGUMENTS} beside its "
      "keywords, and no value of ${party_KEYWORDS_MISSING_VALUES}")
  endif()
  set_property(GLOBAL APPEND PROPERTY rotary_third_parties "${name}")
  foreach(field IN ITEMS VERSION LICENCE HOME USER HELD WHY COPYRIGHT)
    set_property(GLOBAL PROPERTY "rotary_third_party_${name}_${field}" "${party_${field}}")
  endforeach()
endfunction()

# rotary_get_third_party(<name>): party_VERSION, party_LICENCE, ... in the caller's scope.
function(rotary_get_third_party name)
  foreach(field IN ITEMS VERSION LICENCE HOME USER HELD WHY COPYRIGHT)
    get_property(value GLOBAL PROPERTY "rotary_third_party_${name}_${field}")
    set("party_${field}" "${value}" PARENT_SCOPE)
  endforeach()
endfunction()

# rotary_get_notice(<variable> <name>): the part's copyright and licence. The Apache License is not
# repeated: LICENSE is installed beside every notice.
set(rotary_licence_folder "${CMAKE_CURRENT_LIST_DIR}/licences")
function(rotary_get_notice variable name)
  rotary_get_third_party("${name}")
  if(party_LICENCE STREQUAL "Apache-2.0")
    set(licence "Licensed under the Apache License 2.0 (LICENSE).\n")
  else()
    file(READ "${rotary_licence_folder}/${party_LICENCE}.txt" licence)
  endif()
  list(TRANSFORM party_COPYRIGHT PREPEND "Copyright (c) ")
  list(JOIN party_COPYRIGHT "\n" copyright)
  set(${variable} "${copyright}\n\n${licence}" PARENT_SCOPE)
endfunction()
