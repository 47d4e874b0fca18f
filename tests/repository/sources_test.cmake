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
expect(reads_by_itself "${head}#include <fstream>\n" "core/src/a.cpp opens a path by itself .fstream>.")
expect(opens_by_itself "${head}int f(const char* p) { return ::open(p, 0); }\n" "opens a path by itself")
expect(c_stream "${head}auto f(const char* p) { return std::fopen(p, p); }\n" "opens a path by itself")
expect(other_open "${head}auto f(P p) { return TuningFile::open(p); }\n" "")
file(WRITE ${WORK}/place/core/src/files/file.cpp "${head}int f(const char* p) { return ::open(p, 0); }\n")
file(WRITE ${WORK}/place/core/tests/a_test.cpp "${head}#include <fstream>\n")
run_check(place "")
set(own native)  # apart, for the check reads this file, too
file(WRITE ${WORK}/native/bench/CMakeLists.txt "set(options -O3 -march=${own})\n")
file(WRITE ${WORK}/native/core/src/a.cpp "${head}")
run_check(native "bench/CMakeLists.txt compiles for the processor that builds .-march=.ative.")
