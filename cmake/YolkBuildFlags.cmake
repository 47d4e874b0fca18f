# SPDX-License-Identifier: Apache-2.0
# Flags of our own code, on a target that modules link PRIVATE: users of the library do not inherit them.
add_library(yolk_build_flags INTERFACE)
target_compile_options(yolk_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wnon-virtual-dtor -Wvla -Wold-style-cast
  $<$<BOOL:${YOLK_WERROR}>:-Werror>)
# Exact twins must not be contracted to fused multiply-adds, and the code they share headers with must agree with them.
target_compile_options(yolk_build_flags INTERFACE -ffp-contract=off)

# By default g++ looks for garbage again and again; without that it compiles a tenth faster. Measured with g++ 12 in seconds of
# processor time, over four of the largest units: 44.0 and 49.7. A unit then takes up to 1.3 GB of memory, not 1.1.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(yolk_build_flags INTERFACE --param=ggc-min-heapsize=1048576)
endif()

# For code in which no time is spent when it runs (the tests' own, the command line's): -O1 compiles a quarter faster than
# -O2. Measured with g++ 12 in seconds of processor time: 29.9 and 38.7 for a unit of autotune's tests; -O0 takes 24.4.
set(YOLK_QUICK_TO_BUILD $<$<NOT:$<CONFIG:Debug>>:-O1>)

# yolk_quick_rooms(MODULE room...): the rooms of a module that consist of such code.
function(yolk_quick_rooms module)
  foreach(room IN LISTS ARGN)
    target_compile_options(yolk_${module}_${room} PRIVATE ${YOLK_QUICK_TO_BUILD})
  endforeach()
endfunction()

if(YOLK_SANITIZE)
  # g++ 12 takes an empty std::optional for uninitialized where sanitizers add their code.
  add_compile_options(-fsanitize=${YOLK_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -Wno-maybe-uninitialized)
  add_link_options(-fsanitize=${YOLK_SANITIZE})
  if(YOLK_SANITIZE MATCHES "address")
    # Nothing names its functions until the program runs, so the linker is told to take and to show them.
    add_library(yolk_leak_suppressions STATIC ${PROJECT_SOURCE_DIR}/tools/sanitizers/leaks.cpp)
    target_link_options(yolk_leak_suppressions INTERFACE
      -Wl,--undefined=__lsan_default_suppressions -Wl,--export-dynamic-symbol=dlclose)
    link_libraries($<BUILD_INTERFACE:yolk_leak_suppressions>)
  endif()
endif()

find_program(YOLK_CCACHE ccache)
if(YOLK_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${YOLK_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${YOLK_CCACHE})
endif()
