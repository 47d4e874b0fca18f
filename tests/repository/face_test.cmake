# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/run_check.cmake)

# expect(CASE FILE CONTENT PATTERN): a tree with two headers, and that file; PATTERN must be in the message, or is empty where the check
# must pass.
function(expect case file content pattern)
  file(REMOVE_RECURSE ${WORK}/${case})
  file(WRITE ${WORK}/${case}/low/include/yolk/thing.hpp "\n")
  file(WRITE ${WORK}/${case}/low/include/yolk/internal/low/inner.hpp "\n")
  file(WRITE ${WORK}/${case}/low/include/yolk/exact/shared.h "\n")
  file(WRITE ${WORK}/${case}/${file} "${content}\n")
  run_check(${case} "${pattern}")
endfunction()

expect(good examples/a.cpp "#include \"yolk/thing.hpp\"" "")
expect(good_page docs/a.md "text\n#include <yolk/thing.hpp>" "")
expect(of_shaders docs/environments.md "#include \"yolk/exact/shared.h\"" "")
expect(internal examples/a.cpp "#include \"yolk/internal/low/inner.hpp\"" "examples/a.cpp includes yolk/internal/low/inner.hpp")
expect(in_a_header examples/a.hpp "#include \"yolk/low/inner.hpp\"" "examples/a.hpp includes yolk/low/inner.hpp")
expect(consumer tests/install/a.cpp "#include <yolk/internal/low/inner.hpp>" "tests/install/a.cpp includes")
expect(page README.md "#include \"yolk/internal/low/inner.hpp\"" "README.md includes")
expect(no_header docs/kernels/a.md "#include \"yolk/think.hpp\"" "docs/kernels/a.md includes yolk/think.hpp")
expect(nothing examples/a.cpp "" "no include under")
