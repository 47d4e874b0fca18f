# SPDX-License-Identifier: Apache-2.0
# yolk_formula_twin(FORMULA OUTPUT): writes the source of the twin that a formula is (docs/adr/0070), and appends its path to
# the list OUTPUT. The operation's description is named as the header is: cumulative_sum.hpp has CumulativeSumDesc.
set(YOLK_FORMULA_TWIN ${PROJECT_SOURCE_DIR}/reference/src/shared/formula_twin.cpp.in)
function(yolk_formula_twin formula output)
  get_filename_component(operation ${formula} NAME_WE)
  set(description "")
  string(REPLACE _ ";" words ${operation})
  foreach(word IN LISTS words)
    string(SUBSTRING ${word} 0 1 head)
    string(SUBSTRING ${word} 1 -1 tail)
    string(TOUPPER ${head} head)
    string(APPEND description ${head}${tail})
  endforeach()
  string(APPEND description Desc)
  configure_file(${YOLK_FORMULA_TWIN} ${CMAKE_CURRENT_BINARY_DIR}/twins/${operation}.cpp @ONLY)
  set(${output} ${${output}} ${CMAKE_CURRENT_BINARY_DIR}/twins/${operation}.cpp PARENT_SCOPE)
endfunction()
