# SPDX-License-Identifier: Apache-2.0
# cmake -DOUTPUT=<file>.cpp -DCHART_LIBRARY=<chart.min.js> -DCHART_NOTICE=<file> -DHTML=<file>
#   "-DSTYLES=<file>;..." "-DSCRIPTS=<file>;..." -DFUNCTION=<namespace>::<function>
#   -P embed.cmake
# Puts the pieces of a page together and writes the page, cut in two where its data go, as the
# source that defines the function.
cmake_minimum_required(VERSION 3.25)  # the policy that makes @NAME@ literal text

file(READ "${HTML}" page)
file(READ "${CHART_NOTICE}" licence)
file(READ "${CHART_LIBRARY}" chart)
set(style "")
foreach(name IN LISTS STYLES)
  file(READ "${name}" text)
  string(APPEND style "${text}")
endforeach()
set(script "")
foreach(name IN LISTS SCRIPTS)
  file(READ "${name}" text)
  string(APPEND script "${text}")
endforeach()
foreach(text IN ITEMS "${chart}" "${script}")
  string(FIND "${text}" "</script" at)
  if(NOT at EQUAL -1)
    message(FATAL_ERROR "A script within a page must not contain </script")
  endif()
endforeach()

string(REPLACE "@PAGE_STYLE@" "${style}" page "${page}")
string(REPLACE "@CHART_LICENCE@" "${licence}" page "${page}")
string(REPLACE "@PAGE_SCRIPT@" "${script}" page "${page}")
string(FIND "${page}" "@REPORT_DATA@" cut)
string(SUBSTRING "${page}" 0 ${cut} before)
string(LENGTH "@REPORT_DATA@" length)
math(EXPR cut "${cut} + ${length}")
string(SUBSTRING "${page}" ${cut} -1 after)
# Last, because this text is not ours and may contain @NAME@.
string(REPLACE "@CHART_LIBRARY@" "${chart}" after "${after}")

string(REGEX MATCH "^(.*)::([a-z_]+)$" matched "${FUNCTION}")
set(namespace "${CMAKE_MATCH_1}")
set(name "${CMAKE_MATCH_2}")
file(WRITE "${OUTPUT}" "// Written by apps/page/embed.cmake.
#include \"apps/page/page.hpp\"

namespace ${namespace} {

rotary::cli::page::PagePieces ${name}() noexcept {
  using namespace std::string_view_literals;
  return {.before_data = R\"page(${before})page\"sv,
          .after_data = R\"page(${after})page\"sv};
}

}  // namespace ${namespace}
")
