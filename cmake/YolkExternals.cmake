# SPDX-License-Identifier: Apache-2.0
# The libraries of others that modules are linked with, one a row: target | what find_package is told | module of pkg-config |
# package of Debian 12. A part that is empty is not needed. Read by the build, and installed for yolk-config.cmake.
set(YOLK_EXTERNALS
  "fmt::fmt|fmt|fmt|libfmt-dev"
  "nlohmann_json::nlohmann_json|nlohmann_json|nlohmann_json|nlohmann-json3-dev"
  "spdlog::spdlog|spdlog|spdlog|libspdlog-dev"
  "yolk::xxhash|YolkXxHash|libxxhash|libxxhash-dev"
  "yolk::shaderc|YolkShaderc||libshaderc-dev, spirv-tools"
  "SQLite::SQLite3|SQLite3|sqlite3|libsqlite3-dev"
  "ZLIB::ZLIB|ZLIB|zlib|zlib1g-dev"
  "PNG::PNG|PNG|libpng|libpng-dev"
  "CURL::libcurl|CURL|libcurl|libcurl4-openssl-dev"
  "MPI::MPI_C|MPI COMPONENTS C|ompi-c|libopenmpi-dev"
  "Threads::Threads|Threads||")

# yolk_external(TARGET FIND PKG_CONFIG DEBIAN): sets the last three, names of variables, to the parts of the target's row.
function(yolk_external target find pkg_config debian)
  foreach(row IN LISTS YOLK_EXTERNALS)
    if(row MATCHES "^${target}\\|(.*)\\|(.*)\\|(.*)$")
      set(${find} "${CMAKE_MATCH_1}" PARENT_SCOPE)
      set(${pkg_config} "${CMAKE_MATCH_2}" PARENT_SCOPE)
      set(${debian} "${CMAKE_MATCH_3}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "${target} is not in YOLK_EXTERNALS (cmake/YolkExternals.cmake), so an installed Yolk could not find it")
endfunction()
