# SPDX-License-Identifier: Apache-2.0
# yolk_shaderc: the shader compiler as a library, for environments that are compiled at run time (docs/adr/0005).
# Linked statically and whole: Debian 12's libshaderc.so leaves glslang and SPIRV-Tools undefined, its
# libshaderc_combined.a does, too, and glslang's CMake package wants programs of a package that nobody needs. Elsewhere
# libshaderc_combined.a may be combined indeed, and the others missing.
find_library(YOLK_SHADERC_COMBINED shaderc_combined REQUIRED)  # Debian: libshaderc-dev
find_path(YOLK_SHADERC_INCLUDE shaderc/shaderc.hpp REQUIRED)
find_path(YOLK_SPIRV_INCLUDE spirv/unified1/spirv.hpp REQUIRED)  # Debian: spirv-headers, which libshaderc-dev brings
set(shaderc_libraries ${YOLK_SHADERC_COMBINED})
foreach(name
    # Debian: glslang-dev, which libshaderc-dev brings
    glslang SPIRV MachineIndependent GenericCodeGen OGLCompiler OSDependent HLSL glslang-default-resource-limits
    # Debian: spirv-tools
    SPIRV-Tools-opt SPIRV-Tools)
  find_library(YOLK_SHADERC_${name} ${name})
  if(YOLK_SHADERC_${name})
    list(APPEND shaderc_libraries ${YOLK_SHADERC_${name}})
  endif()
endforeach()
list(JOIN shaderc_libraries "," shaderc_libraries)
find_package(Threads REQUIRED)
add_library(yolk_shaderc INTERFACE)
target_include_directories(yolk_shaderc SYSTEM INTERFACE ${YOLK_SHADERC_INCLUDE} ${YOLK_SPIRV_INCLUDE})
target_link_libraries(yolk_shaderc INTERFACE "$<LINK_GROUP:RESCAN,${shaderc_libraries}>" Threads::Threads)
