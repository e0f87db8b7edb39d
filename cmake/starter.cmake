# SPDX-License-Identifier: Apache-2.0
# rotary_get_starter(<target> <variable>): the file that starts a program outside CTest. In a
# cross-build it is a script that runs the emulator.
function(rotary_get_starter target variable)
  set(starter "$<TARGET_FILE:${target}>")
  if(CMAKE_CROSSCOMPILING_EMULATOR)
    string(JOIN "' '" command ${CMAKE_CROSSCOMPILING_EMULATOR} "${starter}")
    set(starter "${PROJECT_BINARY_DIR}/emulated/${target}")
    file(GENERATE OUTPUT "${starter}" CONTENT "#!/bin/sh\nexec '${command}' \"$@\"\n"
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
        WORLD_EXECUTE)
  endif()
  set(${variable} "${starter}" PARENT_SCOPE)
endfunction()
