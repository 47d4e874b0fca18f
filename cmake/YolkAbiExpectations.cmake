# SPDX-License-Identifier: Apache-2.0
# yolk_abi_expectations(OUT HEADERS folder CATALOGUE expression ROWS row...): what shaders/tests/reflection_test.cpp compares modules
# with, as C++ in the folder generated/ of the current build folder. OUT: the files that are made when building.
#   HEADERS    where the families' ABI headers are
#   CATALOGUE  what calls up the modules: kernels::all()
#   ROWS       of these modules, as yolk_kernel collected them
function(yolk_abi_expectations out)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADERS;CATALOGUE" "ROWS")
  set(script ${PROJECT_SOURCE_DIR}/shaders/tests/abi_expectations.cmake)
  set(families "")
  set(module_entries "")
  foreach(row IN LISTS arg_ROWS)
    string(REPLACE "|" ";" row "${row}")
    list(GET row 0 name)
    list(GET row 1 family)
    list(APPEND families ${family})
    string(APPEND module_entries "    {\"${name}\", &k_${family}},\n")
  endforeach()
  list(REMOVE_DUPLICATES families)
  set(includes "")
  set(headers "")
  set(expectations "")
  foreach(family IN LISTS families)
    set(header ${arg_HEADERS}/${family}.h)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/generated/${family}.inc)
    add_custom_command(OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -DFAMILY=${family} -DHEADER=${header} -DOUTPUT=${output} -P ${script}
      DEPENDS ${header} ${script} COMMENT "Reading the ABI of ${family}" VERBATIM)
    list(APPEND expectations ${output})
    string(APPEND headers "#include \"yolk/internal/abi/${family}.h\"\n")
    string(APPEND includes "#include \"${family}.inc\"\n")
  endforeach()
  set(catalogue "${arg_CATALOGUE}")
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/abi_headers.inc @ONLY CONTENT "@headers@")
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/abi_families.inc @ONLY CONTENT
"@includes@const std::vector<AbiModule> k_modules{
@module_entries@};
std::span<const KernelModule* const> catalogue() { return @catalogue@; }
")
  set(${out} ${expectations} PARENT_SCOPE)
endfunction()
