# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
set(head "// SPDX-License-Identifier: Apache-2.0\n")

# expect(CASE CONTENT PATTERN): a tree with that one file; PATTERN must be in the message, or is empty where the check must pass.
function(expect case content pattern)
  file(REMOVE_RECURSE ${WORK}/${case})
  file(WRITE ${WORK}/${case}/core/src/a.cpp "${content}")
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${WORK}/${case} -P ${CHECK}
    RESULT_VARIABLE status ERROR_VARIABLE message OUTPUT_QUIET)
  string(REGEX REPLACE "[ \n]+" " " message "${message}")
  if(pattern STREQUAL "" AND NOT status EQUAL 0)
    message(FATAL_ERROR "${case}: passes no more: ${message}")
  elseif(NOT pattern STREQUAL "" AND (status EQUAL 0 OR NOT message MATCHES "${pattern}"))
    message(FATAL_ERROR "${case}: expected a failure with '${pattern}', got status ${status}: ${message}")
  endif()
endfunction()

string(REPEAT "int a[1]; // }\n" 599 rest)
expect(at_the_limit "${head}${rest}" "")
expect(over_the_limit "${head}${rest}\n" "core/src/a.cpp has 601 lines")
expect(no_licence "int a;\n" "does not begin with its SPDX line")
expect(no_newline "${head}int a;" "does not end with a newline")
expect(second_line "#version 450\n${head}" "")
