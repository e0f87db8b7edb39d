# SPDX-License-Identifier: Apache-2.0
# rotary_embed_page(<target> HTML <file> [STYLES <file>...] SCRIPTS <file>...
#   FUNCTION <function>)
# A static library that defines the function, which a header declares: the pieces of a page, with
# the style and the chart library of this folder. The page has the scripts in the order given; a
# script without a folder is from this one.
include_guard(GLOBAL)
set_property(GLOBAL PROPERTY rotary_page_folder "${CMAKE_CURRENT_LIST_DIR}")

function(rotary_embed_page target)
  cmake_parse_arguments(PARSE_ARGV 1 page "" "HTML;FUNCTION" "STYLES;SCRIPTS")
  get_property(shared GLOBAL PROPERTY rotary_page_folder)
  list(TRANSFORM page_SCRIPTS PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" REGEX "/")
  list(TRANSFORM page_SCRIPTS PREPEND "${shared}/" REGEX "^[^/]")
  list(TRANSFORM page_STYLES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  list(PREPEND page_STYLES "${shared}/style.css")
  set(html "${CMAKE_CURRENT_SOURCE_DIR}/${page_HTML}")
  set(notice "${CMAKE_CURRENT_BINARY_DIR}/chart-notice.txt")
  rotary_get_notice(chart_notice Chart.js)
  file(CONFIGURE OUTPUT "${notice}" CONTENT "Chart.js\n@chart_notice@" @ONLY)
  set(embedded "${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp")
  add_custom_command(OUTPUT "${embedded}"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${embedded}" "-DCHART_LIBRARY=${CHART_JS}"
      "-DCHART_NOTICE=${notice}" "-DHTML=${html}"
      "-DSTYLES=${page_STYLES}" "-DSCRIPTS=${page_SCRIPTS}"
      "-DFUNCTION=${page_FUNCTION}" -P "${shared}/embed.cmake"
    DEPENDS "${shared}/embed.cmake" "${html}" ${page_STYLES} "${notice}"
      ${page_SCRIPTS} "${CHART_JS}"
    COMMENT "Embedding ${page_HTML} of ${target}"
    VERBATIM)
  add_library(${target} STATIC "${embedded}")
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE rotary_options)
  # The page is one long string. Source options come after those of rotary_options.
  set_source_files_properties("${embedded}" PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
endfunction()
