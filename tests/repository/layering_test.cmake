# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/run_check.cmake)

# expect(CASE PATTERN): runs the check over ${WORK}/CASE; PATTERN must be in its message, or is empty where it must pass.
function(expect case pattern)
  run_check(${case} "${pattern}" -DDECLARATIONS=${WORK}/${case}/declared.cmake)
endfunction()

# tree(CASE FILE CONTENT): two modules, high over low, and one file more.
function(tree case file content)
  file(REMOVE_RECURSE ${WORK}/${case})
  file(WRITE ${WORK}/${case}/declared.cmake
    "set(MODULE_DEPS \"shaders:,;low:shaders,;middle:low,;high:middle,\")\nset(TEST_DEPS \"high:low;testing\")\n")
  file(WRITE ${WORK}/${case}/middle/src/middle.cpp "#include <vector>\n#include \"yolk/low/low.hpp\"\n")
  file(WRITE ${WORK}/${case}/${file} "${content}\n")
endfunction()

tree(good high/src/high.cpp "#include \"yolk/middle/middle.hpp\"")
expect(good "")
tree(own high/src/high.cpp "#include <yolk/high/high.hpp>")
expect(own "")
tree(abi low/include/yolk/low/low.hpp "#include \"yolk/abi/noise.h\"")
expect(abi "")
tree(upward low/src/low.cpp "#include \"yolk/high/high.hpp\"")
expect(upward "low/src/low.cpp includes a header of high")
tree(through_another high/src/high.cpp "  #  include <yolk/low/low.hpp>")
expect(through_another "high/src/high.cpp includes a header of low")
tree(tests_extra high/tests/high_test.cpp "#include \"yolk/low/low.hpp\"")
expect(tests_extra "")
tree(shipped_testing high/include/yolk/high/high.hpp "#include \"yolk/testing/device_test.hpp\"")
expect(shipped_testing "high/include/yolk/high/high.hpp includes a header of testing")
tree(vulkan high/src/high.cpp "#include <vulkan/vulkan_core.h>")
expect(vulkan "high/src/high.cpp includes a Vulkan header")
tree(volk low/src/low.cpp "#include \"volk.h\"")
expect(volk "low/src/low.cpp includes a Vulkan header")
tree(nothing high/src/high.cpp "")
file(WRITE ${WORK}/nothing/declared.cmake "set(MODULE_DEPS \"\")\n")
expect(nothing "no module is declared")
