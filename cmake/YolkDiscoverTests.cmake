# SPDX-License-Identifier: Apache-2.0
# yolk_discover_tests(TARGET PREFIX LABELS label... [APART topic...] [ENVIRONMENT name=value...])
# The tests of a GoogleTest executable for ctest, each with ENVIRONMENT. The cases of a topic that run on one device share a process,
# PREFIXtopic/device: opening devices under the validation layer takes .1 to .2 s, and a pipeline is compiled once for all of them.
# Every other case is a process of its own, PREFIXtopic.case, as are those of topics that are APART: they need a process that nothing
# has happened in. ctest asks the executable, when it is newer than the list.
set(YOLK_LIST_TESTS ${CMAKE_CURRENT_LIST_DIR}/YolkListTests.cmake)

function(yolk_discover_tests target prefix)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LABELS;APART;ENVIRONMENT")
  set(include ${CMAKE_CURRENT_BINARY_DIR}/${target}_discover.cmake)
  file(GENERATE OUTPUT ${include} CONTENT
"set(test_executable \"$<TARGET_FILE:${target}>\")
set(test_list \"${CMAKE_CURRENT_BINARY_DIR}/${target}_tests.cmake\")
set(test_prefix \"${prefix}\")
set(test_labels \"${arg_LABELS}\")
set(test_apart \"${arg_APART}\")
set(test_environment \"${arg_ENVIRONMENT}\")
include(\"${YOLK_LIST_TESTS}\")
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include})
endfunction()
