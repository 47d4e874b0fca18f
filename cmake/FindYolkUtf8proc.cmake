# SPDX-License-Identifier: Apache-2.0
# yolk::utf8proc: libutf8proc, which has no CMake package in Debian 12. Found by the build, and again by projects that link an
# installed Yolk.
include(FindPackageHandleStandardArgs)
find_library(YOLK_UTF8PROC utf8proc)
find_path(YOLK_UTF8PROC_HEADERS utf8proc.h)
find_package_handle_standard_args(YolkUtf8proc REQUIRED_VARS YOLK_UTF8PROC YOLK_UTF8PROC_HEADERS
  REASON_FAILURE_MESSAGE "utf8proc is needed (Debian: libutf8proc-dev)")
if(YolkUtf8proc_FOUND AND NOT TARGET yolk::utf8proc)
  add_library(yolk::utf8proc UNKNOWN IMPORTED)
  set_target_properties(yolk::utf8proc PROPERTIES IMPORTED_LOCATION ${YOLK_UTF8PROC}
    INTERFACE_INCLUDE_DIRECTORIES ${YOLK_UTF8PROC_HEADERS})
endif()
