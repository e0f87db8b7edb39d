# SPDX-License-Identifier: Apache-2.0
# cmake -DOUTPUT=<file>.cpp -DCHART_LIBRARY=<chart.min.js> "-DSCRIPTS=<name>;..." -P embed.cmake
# Puts the pieces of page/ together and writes the page, cut in two where its data go, as the source
# that defines the functions of cli/report/page.hpp.
cmake_minimum_required(VERSION 3.25)  # before, @NAME@ was a variable's value

set(folder "${CMAKE_CURRENT_LIST_DIR}/page")
file(READ "${folder}/page.html" page)
file(READ "${folder}/page.css" style)
file(READ "${folder}/chart-licence.txt" licence)
file(READ "${CHART_LIBRARY}" chart)
if(NOT chart MATCHES "Chart\\.js v3\\.")
  message(FATAL_ERROR "CHART_JS must be Chart.js 3, got ${CHART_LIBRARY}")
endif()
set(script "")
foreach(name IN LISTS SCRIPTS)
  file(READ "${folder}/${name}" text)
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
# Last: the only text that is not ours.
string(REPLACE "@CHART_LIBRARY@" "${chart}" after "${after}")

file(WRITE "${OUTPUT}" "// Written by cli/report/embed.cmake.
#include \"cli/report/page.hpp\"

namespace rotary::cli::page {

std::string_view page_before_data() noexcept {
  using namespace std::string_view_literals;
  return R\"page(${before})page\"sv;
}

std::string_view page_after_data() noexcept {
  using namespace std::string_view_literals;
  return R\"page(${after})page\"sv;
}

}  // namespace rotary::cli::page
")
