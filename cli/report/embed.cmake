# SPDX-License-Identifier: Apache-2.0
# cmake -DOUTPUT=<file>.cpp -DCHART_LIBRARY=<chart.min.js> -DCHART_NOTICE=<file> -DHTML=<file>
#   -DSTYLE=<file> "-DSCRIPTS=<file>;..." -P embed.cmake
# Joins the files of the page. Writes a C++ source with two texts: before and after the data.
cmake_minimum_required(VERSION 3.25)  # the policy that makes @NAME@ literal text

file(READ "${HTML}" page)
file(READ "${CHART_NOTICE}" licence)
file(READ "${CHART_LIBRARY}" chart)
file(READ "${STYLE}" style)
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
string(REPLACE "@REPORT_DATA@" ")page\"sv,\n          R\"page(" page "${page}")
# Replaced last, because the chart library's text may contain @NAME@.
string(REPLACE "@CHART_LIBRARY@" "${chart}" page "${page}")

file(WRITE "${OUTPUT}" "// Written by cli/report/embed.cmake.
#include <array>
#include <string_view>

namespace rotary::cli::page {

std::array<std::string_view, 2> page_parts() noexcept {
  using namespace std::string_view_literals;
  return {R\"page(${page})page\"sv};
}

}  // namespace rotary::cli::page
")
