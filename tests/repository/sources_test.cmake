# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/run_check.cmake)
set(head "// SPDX-License-Identifier: Apache-2.0\n")

# expect(CASE CONTENT PATTERN): a tree with that one file; PATTERN must be in the message, or is empty where the check must pass.
function(expect case content pattern)
  file(REMOVE_RECURSE ${WORK}/${case})
  file(WRITE ${WORK}/${case}/core/src/a.cpp "${content}")
  run_check(${case} "${pattern}")
endfunction()

string(REPEAT "int a[1]; // }\n" 599 rest)
expect(at_the_limit "${head}${rest}" "")
expect(over_the_limit "${head}${rest}\n" "core/src/a.cpp has 601 lines")
expect(no_licence "int a;\n" "does not begin with its SPDX line")
expect(no_newline "${head}int a;" "does not end with a newline")
expect(second_line "#version 450\n${head}" "")
set(own native)  # apart, for the check reads this file, too
file(WRITE ${WORK}/native/bench/CMakeLists.txt "set(options -O3 -march=${own})\n")
file(WRITE ${WORK}/native/core/src/a.cpp "${head}")
run_check(native "bench/CMakeLists.txt compiles for the processor that builds .-march=.ative.")
