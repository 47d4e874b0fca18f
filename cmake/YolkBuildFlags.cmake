# SPDX-License-Identifier: Apache-2.0
# Flags of our own code, on a target that modules link PRIVATE: users of the library do not inherit them.
add_library(yolk_build_flags INTERFACE)
target_compile_options(yolk_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wnon-virtual-dtor -Wvla -Wold-style-cast
  $<$<BOOL:${YOLK_WERROR}>:-Werror>)
# Exact twins must not be contracted to fused multiply-adds, and the code they share headers with must agree with them.
target_compile_options(yolk_build_flags INTERFACE -ffp-contract=off)

if(YOLK_SANITIZE)
  add_compile_options(-fsanitize=${YOLK_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${YOLK_SANITIZE})
endif()

find_program(YOLK_CCACHE ccache)
if(YOLK_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${YOLK_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${YOLK_CCACHE})
endif()
