# SPDX-License-Identifier: Apache-2.0
# yolk::xxhash: libxxhash, which has no CMake package in Debian 12. Found by the build, and again by projects that link an
# installed Yolk.
include(FindPackageHandleStandardArgs)
find_library(YOLK_XXHASH xxhash)
find_package_handle_standard_args(YolkXxHash REQUIRED_VARS YOLK_XXHASH
  REASON_FAILURE_MESSAGE "xxHash is needed (Debian: libxxhash-dev)")
if(YolkXxHash_FOUND AND NOT TARGET yolk::xxhash)
  add_library(yolk::xxhash UNKNOWN IMPORTED)
  set_target_properties(yolk::xxhash PROPERTIES IMPORTED_LOCATION ${YOLK_XXHASH})
endif()
