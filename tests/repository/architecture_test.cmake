# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/run_check.cmake)

# expect(CASE CONTENT PATTERN): a tree with that ARCHITECTURE.md and one source; PATTERN must be in the message, or is empty where the
# check must pass.
function(expect case content pattern)
  file(REMOVE_RECURSE ${WORK}/${case})
  file(WRITE ${WORK}/${case}/core/src/a.cpp "\n")
  file(WRITE ${WORK}/${case}/ARCHITECTURE.md "${content}")
  run_check(${case} "${pattern}")
endfunction()

set(head "# Architecture\n\nBefore, `no/such/path`.\n\n## Where to look\n\n| looking for | it is in |\n|---|---|\n")
set(tail "\n## Next\n\n| `no/other` | |\n")
expect(all_exist "${head}| a | `core/src/a.cpp`, `core/` |\n| b; c | [`core/src`](core/src/) |\n${tail}" "")
expect(a_file_is_missing "${head}| a | `core/src/a.cpp` |\n| b | `core/src/a.cpp`, `core/src/b.cpp` |\n${tail}" "exist: core/src/b.cpp")
expect(a_folder_is_missing "${head}| a | `shaders/a/` |\n${tail}" "exist: shaders/a/")
expect(no_path_in_a_row "${head}| a | `a.cpp` |\n${tail}" "exist: a path in the row")
expect(no_table "# Architecture\n\n| a | `core/src/a.cpp` |\n" "no table")
