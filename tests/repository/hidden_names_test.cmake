# SPDX-License-Identifier: Apache-2.0
# cmake -DCHECK=hidden_names.cmake -DWORK=... -P hidden_names_test.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/run_check.cmake)

# expect(CASE HEADER SOURCE PATTERN): a module of a header and a source; PATTERN is in the message, or empty where all is well.
function(expect case header source pattern)
  file(REMOVE_RECURSE ${WORK}/${case})
  file(WRITE ${WORK}/${case}/core/include/yolk/internal/core/a.hpp "namespace yolk {\nenum class Place { Here };\n}  // namespace yolk\n")
  file(WRITE ${WORK}/${case}/upper/include/yolk/upper/b.hpp "namespace yolk::upper {\n${header}\n}  // namespace yolk::upper\n")
  file(WRITE ${WORK}/${case}/upper/src/b.cpp
    "namespace yolk::upper {\nnamespace {\nconstexpr int kOther = 1;\n${source}\n}  // namespace\n}  // namespace yolk::upper\n")
  run_check(${case} "${pattern}")
endfunction()

expect(no_namesake "inline constexpr int kMost = 128;" "constexpr int kMostHere = 64;\nstruct Most {};" "")
expect(constant "inline constexpr int kMost = 128;" "constexpr int kMost = 64;"
  "upper/src/b.cpp has a kMost of its own, which hides that of upper/include/yolk/upper/b.hpp")
expect(array "inline constexpr int kMost[2] = {1, 2};" "constexpr long kMost[] = {3};" "has a kMost of its own")
expect(type "struct Request {\n};" "class Request final : public Base {\n};" "has a Request of its own")
expect(core_name "" "struct Place {\n};" "hides that of core/include/yolk/internal/core/a.hpp")
expect(declared_only "struct Request {\n};" "struct Request;" "")
expect(outside_of_it "inline constexpr int kMost = 128;" "}  // namespace\nconstexpr int kMost = 1;\nnamespace {" "")
