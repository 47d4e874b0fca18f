# SPDX-License-Identifier: Apache-2.0
# run_check(CASE PATTERN [ARGUMENT...]): runs ${CHECK} over the tree ${WORK}/CASE; PATTERN must be in its message, or is empty where it
# must pass.
function(run_check case pattern)
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${WORK}/${case} ${ARGN} -P ${CHECK}
    RESULT_VARIABLE status ERROR_VARIABLE message OUTPUT_QUIET)
  string(REGEX REPLACE "[ \n]+" " " message "${message}")
  if(pattern STREQUAL "" AND NOT status EQUAL 0)
    message(FATAL_ERROR "${case}: passes no more: ${message}")
  elseif(NOT pattern STREQUAL "" AND (status EQUAL 0 OR NOT message MATCHES "${pattern}"))
    message(FATAL_ERROR "${case}: expected a failure with '${pattern}', got status ${status}: ${message}")
  endif()
endfunction()
