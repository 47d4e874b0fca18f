# SPDX-License-Identifier: Apache-2.0
# yolk::shaderc: the shader compiler as a library, for environments that are compiled at run time (docs/adr/0005). Found by the
# build, and again by projects that link an installed Yolk.
# Linked statically and whole: Debian 12's libshaderc.so leaves glslang and SPIRV-Tools undefined, its
# libshaderc_combined.a does, too, and glslang's CMake package wants programs of a package that nobody needs. Elsewhere
# libshaderc_combined.a may be combined indeed, and the others missing.
include(FindPackageHandleStandardArgs)
find_library(YOLK_SHADERC_COMBINED shaderc_combined)  # Debian: libshaderc-dev
find_path(YOLK_SHADERC_INCLUDE shaderc/shaderc.hpp)
find_path(YOLK_SPIRV_INCLUDE spirv/unified1/spirv.hpp)  # Debian: spirv-headers, which libshaderc-dev brings
find_package_handle_standard_args(YolkShaderc
  REQUIRED_VARS YOLK_SHADERC_COMBINED YOLK_SHADERC_INCLUDE YOLK_SPIRV_INCLUDE
  REASON_FAILURE_MESSAGE "shaderc's static library and headers are needed (Debian: libshaderc-dev, spirv-tools)")
if(YolkShaderc_FOUND AND NOT TARGET yolk::shaderc)
  set(yolk_shaderc_libraries ${YOLK_SHADERC_COMBINED})
  foreach(name
      # Debian: glslang-dev, which libshaderc-dev brings
      glslang SPIRV MachineIndependent GenericCodeGen OGLCompiler OSDependent HLSL glslang-default-resource-limits
      # Debian: spirv-tools
      SPIRV-Tools-opt SPIRV-Tools)
    find_library(YOLK_SHADERC_${name} ${name})
    if(YOLK_SHADERC_${name})
      list(APPEND yolk_shaderc_libraries ${YOLK_SHADERC_${name}})
    endif()
  endforeach()
  find_package(Threads REQUIRED)
  add_library(yolk::shaderc INTERFACE IMPORTED GLOBAL)
  target_include_directories(yolk::shaderc INTERFACE ${YOLK_SHADERC_INCLUDE} ${YOLK_SPIRV_INCLUDE})
  string(REPLACE ";" "," yolk_shaderc_group "${yolk_shaderc_libraries}")
  target_link_libraries(yolk::shaderc INTERFACE "$<LINK_GROUP:RESCAN,${yolk_shaderc_group}>" Threads::Threads)
endif()
