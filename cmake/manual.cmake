# SPDX-License-Identifier: Apache-2.0
# Installs manual pages and completions, which the tool prints. A cross-build without an emulator
# cannot run the tool, so it installs none.
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  message(STATUS "rotary: no manual pages and completions, since the tool cannot run here")
  return()
endif()

set(manual "${CMAKE_CURRENT_BINARY_DIR}/manual")
file(MAKE_DIRECTORY "${manual}/man1")
set(completions bash zsh fish)
list(TRANSFORM completions PREPEND "${manual}/rotary." OUTPUT_VARIABLE scripts)
set(commands "")
foreach(shell IN LISTS completions)
  list(APPEND commands COMMAND rotary_tool completions ${shell} > "${manual}/rotary.${shell}")
endforeach()
add_custom_command(
  OUTPUT "${manual}/man1/rotary.1" ${scripts}
  COMMAND rotary_tool help --man-pages "${manual}/man1"
  ${commands}
  DEPENDS rotary_tool
  VERBATIM)
add_custom_target(rotary_manual ALL DEPENDS "${manual}/man1/rotary.1" ${scripts})

install(DIRECTORY "${manual}/man1" DESTINATION "${CMAKE_INSTALL_MANDIR}")
install(FILES "${manual}/rotary.bash"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME rotary)
install(FILES "${manual}/rotary.zsh"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" RENAME _rotary)
install(FILES "${manual}/rotary.fish"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
