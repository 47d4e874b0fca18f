# SPDX-License-Identifier: Apache-2.0
# source_files(OUT ROOT PATTERN...): our files under ROOT, relative to it; build folders and hidden ones left out.
function(source_files out root)
  set(patterns "")
  foreach(pattern IN LISTS ARGN)
    list(APPEND patterns ${root}/${pattern})
  endforeach()
  file(GLOB_RECURSE files RELATIVE ${root} ${patterns})
  list(FILTER files EXCLUDE REGEX "^(build[^/]*|\\.[^/]+|yolk-out)/")
  set(${out} ${files} PARENT_SCOPE)
endfunction()
