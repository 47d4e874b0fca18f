# SPDX-License-Identifier: Apache-2.0
# Run by ctest through what yolk_discover_tests generates, which sets test_executable, test_list, test_prefix, test_labels,
# test_apart and test_environment: writes the list of tests where it is missing or older than the executable or than what is set,
# and reads it. Where drivers are asked for (testing/README.md), names of tests follow from their devices: such a list is another
# file, written each time.
cmake_policy(VERSION 3.25)  # ctest has none of the project's

# Seconds that a case may take; its watchdog ends it before (yolk/testing), so this is for what hangs outside of cases.
set(YOLK_CASE_SECONDS 480)

# yolk_test_line(OUT NAME FILTER CASES): the commands that declare a process of CASES cases.
function(yolk_test_line out name filter cases)
  math(EXPR seconds "${YOLK_CASE_SECONDS} * ${cases}")
  set(${out}
"add_test([=[${test_prefix}${name}]=] [=[${test_executable}]=] [=[--gtest_filter=${filter}]=])
set_tests_properties([=[${test_prefix}${name}]=] PROPERTIES LABELS \"${test_labels}\" TIMEOUT ${seconds}
  ENVIRONMENT \"${test_environment}\")
" PARENT_SCOPE)
endfunction()

# yolk_write_test_list(LISTING): of what --gtest_list_tests prints: topics with a point, and their cases behind two blanks.
function(yolk_write_test_list listing)
  string(REGEX REPLACE " *#[^\n]*" "" listing "${listing}")
  string(REPLACE "\n" ";" lines "${listing}")
  set(content "")
  set(groups "")
  set(topic "")
  foreach(line IN LISTS lines)
    if(line MATCHES "^([^ ]+)\\.$")
      set(topic ${CMAKE_MATCH_1})
      continue()
    endif()
    if(NOT line MATCHES "^  ([^ ]+)$")
      continue()
    endif()
    set(case ${CMAKE_MATCH_1})
    if("${topic}.${case}" MATCHES "DISABLED_")
      message(FATAL_ERROR "${test_executable}: ${topic}.${case} is disabled; no test is left out.")
    endif()
    if(NOT topic IN_LIST test_apart AND case MATCHES "/([^/]+)$")
      set(group "${topic}/${CMAKE_MATCH_1}")
      list(APPEND groups ${group})
      list(APPEND "cases_of_${group}" ${case})
    else()
      yolk_test_line(added "${topic}.${case}" "${topic}.${case}" 1)
      string(APPEND content "${added}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(group IN LISTS groups)
    string(REGEX MATCH "^(.*)/([^/]+)$" matched "${group}")
    set(topic ${CMAKE_MATCH_1})
    set(parameter ${CMAKE_MATCH_2})
    list(LENGTH "cases_of_${group}" count)
    if(count EQUAL 1)
      yolk_test_line(added "${topic}.${cases_of_${group}}" "${topic}.${cases_of_${group}}" 1)
    else()
      yolk_test_line(added "${group}" "${topic}.*/${parameter}" ${count})
    endif()
    string(APPEND content "${added}")
  endforeach()
  if(content STREQUAL "")
    message(FATAL_ERROR "${test_executable} has no tests.")
  endif()
  file(WRITE ${test_list} "${content}")
endfunction()

set(asks_for_drivers FALSE)
if(NOT "$ENV{YOLK_TEST_DRIVERS}" STREQUAL "")
  set(asks_for_drivers TRUE)
  set(test_list "${test_list}.drivers")
endif()
if(NOT EXISTS ${test_executable})
  add_test(${test_executable}_NOT_BUILT ${test_executable}_NOT_BUILT)
else()
  if(asks_for_drivers OR NOT EXISTS ${test_list} OR ${test_executable} IS_NEWER_THAN ${test_list} OR
     ${CMAKE_CURRENT_LIST_FILE} IS_NEWER_THAN ${test_list} OR ${CMAKE_PARENT_LIST_FILE} IS_NEWER_THAN ${test_list})
    execute_process(COMMAND ${test_executable} --gtest_list_tests RESULT_VARIABLE status OUTPUT_VARIABLE listing
      ERROR_VARIABLE told TIMEOUT 60)
    if(NOT status EQUAL 0)
      message(FATAL_ERROR "${test_executable} does not list its tests: ${status}\n${listing}${told}")
    endif()
    yolk_write_test_list("${listing}")
  endif()
  include(${test_list})
endif()
