# SPDX-License-Identifier: Apache-2.0
find_program(YOLK_GLSLC glslc REQUIRED)
set(YOLK_KERNEL_FLAGS --target-env=vulkan1.2 -Werror)

# yolk_kernel(NAME FAMILY family SOURCE file.comp [TOLERANT] [UNROLLED] [NEEDS storage16|integer_dot|cooperative_nv|cooperative_khr|cooperative_bf16|cooperative_i8] [UNIFORM_MASK constant] [TEXEL_MASKS constant constant] [DEFINES A=1 ...] [INCLUDES folder...])
# Compiles one shader variant and adds it to the catalogue as k<Name> of type Kernel<abi::FAMILY::Params>. TOLERANT: class T, never for exact
# mode; without it a test fails on an instruction that is not of class E or P. UNROLLED: its tiles are loops over
# specialization constants, unrolled by us (yolk/internal/shaders/specialize.hpp). TEXEL_MASKS: bindings that are texel buffers of fp32, and of vectors of four. The family's ABI header supplies
# Params, kBindingCount and kUniformMask; tests/reflection holds the module against them. The source is relative to the first of
# YOLK_SHADER_FOLDERS, or where they are not set to the current folder; headers are looked for in all of them.
function(yolk_kernel name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TOLERANT;UNROLLED" "FAMILY;SOURCE;UNIFORM_MASK;NEEDS" "TEXEL_MASKS;DEFINES;INCLUDES")
  if(NOT arg_UNIFORM_MASK)
    set(arg_UNIFORM_MASK kUniformMask)
  endif()
  set(masks "abi::${arg_FAMILY}::${arg_UNIFORM_MASK}, 0, 0")
  if(arg_TEXEL_MASKS)
    list(GET arg_TEXEL_MASKS 0 scalars)
    list(GET arg_TEXEL_MASKS 1 vectors)
    set(masks "abi::${arg_FAMILY}::${arg_UNIFORM_MASK}, abi::${arg_FAMILY}::${scalars}, abi::${arg_FAMILY}::${vectors}")
  endif()
  # The flag of yolk/internal/shaders/kernel.hpp: storage16 is kNeedsStorage16.
  set(needs kNeeds)
  if(NOT arg_NEEDS)
    set(arg_NEEDS nothing)
  endif()
  string(REPLACE "_" ";" words "${arg_NEEDS}")
  foreach(word IN LISTS words)
    string(SUBSTRING "${word}" 0 1 head)
    string(SUBSTRING "${word}" 1 -1 tail)
    string(TOUPPER "${head}" head)
    string(APPEND needs "${head}${tail}")
  endforeach()
  foreach(flag IN ITEMS TOLERANT UNROLLED)
    string(TOLOWER ${flag} is_set)
    set(${is_set} false)
    if(arg_${flag})
      set(${is_set} true)
    endif()
  endforeach()
  set(spv ${CMAKE_CURRENT_BINARY_DIR}/spirv/${name}.spv)
  set(inc ${CMAKE_CURRENT_BINARY_DIR}/spirv/${name}.inc)
  set(shader_folders ${YOLK_SHADER_FOLDERS})
  if(NOT shader_folders)
    set(shader_folders ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  set(flags ${YOLK_KERNEL_FLAGS})
  foreach(folder IN LISTS shader_folders)
    list(APPEND flags -I ${folder}/include -I ${folder}/lib -I ${folder}/environments)
  endforeach()
  foreach(folder IN LISTS arg_INCLUDES)
    list(APPEND flags -I ${folder})
  endforeach()
  foreach(define IN LISTS arg_DEFINES)
    list(APPEND flags -D${define})
  endforeach()
  list(GET shader_folders 0 source)
  string(APPEND source /${arg_SOURCE})
  # The KHR form of cooperative matrices is made of the NV form, and bf16 of fp16, whatever the compiler knows
  # (docs/adr/0016).
  set(compiled ${spv})
  set(translate "")
  set(translator "")
  if(arg_NEEDS MATCHES "^cooperative_(khr|bf16|i8)$")
    set(compiled ${CMAKE_CURRENT_BINARY_DIR}/spirv/${name}.nv)
    set(operands "")
    if(arg_NEEDS STREQUAL cooperative_bf16)
      set(operands --bf16)
    endif()
    set(translate COMMAND yolk_khr_form ${operands} ${compiled} ${spv})
    set(translator yolk_khr_form)
  endif()
  add_custom_command(OUTPUT ${spv} ${inc}
    COMMAND ${YOLK_GLSLC} ${flags} -MD -MF ${spv}.d -MT ${spv} -o ${compiled} ${source}
    ${translate}
    COMMAND ${CMAKE_COMMAND} -D SPIRV=${spv} -D WORDS=${inc} -P ${PROJECT_SOURCE_DIR}/cmake/EmbedSpirv.cmake
    DEPENDS ${source} ${translator} ${PROJECT_SOURCE_DIR}/cmake/EmbedSpirv.cmake DEPFILE ${spv}.d COMMENT "Compiling kernel ${name}" VERBATIM)
  string(REPLACE "_" ";" words "${name}")
  set(constant k)
  foreach(word IN LISTS words)
    string(SUBSTRING "${word}" 0 1 head)
    string(SUBSTRING "${word}" 1 -1 tail)
    string(TOUPPER "${head}" head)
    string(APPEND constant "${head}${tail}")
  endforeach()
  set_property(GLOBAL APPEND PROPERTY YOLK_KERNEL_ROWS "${name}|${arg_FAMILY}|${constant}|${masks}|${unrolled}|${needs}|${tolerant}")
  set_property(GLOBAL APPEND PROPERTY YOLK_KERNEL_SPIRV ${spv})
  set_property(GLOBAL APPEND PROPERTY YOLK_KERNEL_INCS ${inc})
endfunction()

# yolk_catalogue_texts(ROW...): sets, of rows that yolk_kernel collected, what a catalogue is written from: includes, externs,
# definitions, list_entries.
function(yolk_catalogue_texts)
  set(families "")
  set(externs "")
  set(definitions "")
  set(list_entries "")
  foreach(row IN LISTS ARGN)
    string(REPLACE "|" ";" row "${row}")
    list(GET row 0 name)
    list(GET row 1 family)
    list(GET row 2 constant)
    list(GET row 3 masks)
    list(GET row 4 unrolled)
    list(GET row 5 needs)
    list(GET row 6 tolerant)
    list(APPEND families ${family})
    string(APPEND externs "extern const Kernel<abi::${family}::Params> ${constant};\n")
    string(APPEND definitions
      "constexpr std::uint32_t ${constant}Spirv[] = {\n#include \"spirv/${name}.inc\"\n};\n"
      "const Kernel<abi::${family}::Params> ${constant}{{\"${name}\", ${constant}Spirv, abi::${family}::kBindingCount, "
      "${masks}, sizeof(abi::${family}::Params), ${unrolled}, ${needs}, ${tolerant}}};\n")
    string(APPEND list_entries "    &${constant},\n")
  endforeach()
  list(REMOVE_DUPLICATES families)
  set(includes "")
  foreach(family IN LISTS families)
    string(APPEND includes "#include \"yolk/internal/abi/${family}.h\"\n")
  endforeach()
  foreach(text IN ITEMS includes externs definitions list_entries)
    set(${text} "${${text}}" PARENT_SCOPE)
  endforeach()
endfunction()

# Writes catalogue.hpp and catalogue.cpp into the build folder from the rows that yolk_kernel collected.
function(yolk_write_catalogue)
  get_property(rows GLOBAL PROPERTY YOLK_KERNEL_ROWS)
  yolk_catalogue_texts(${rows})
  list(LENGTH rows count)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/include/yolk/internal/shaders/catalogue.hpp @ONLY CONTENT
"// Generated by cmake/YolkKernel.cmake from shaders/kernels.cmake: every kernel, typed by its parameters.
#pragma once
#include <array>
#include \"yolk/internal/shaders/kernel.hpp\"
@includes@
namespace yolk::kernels {
@externs@
/// All @count@ modules, for tests and tools.
[[nodiscard]] const std::array<const KernelModule*, @count@>& all() noexcept;
}  // namespace yolk::kernels
")
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/catalogue.cpp @ONLY CONTENT
"// Generated by cmake/YolkKernel.cmake.
#include \"yolk/internal/shaders/catalogue.hpp\"
namespace yolk::kernels {
@definitions@
const std::array<const KernelModule*, @count@>& all() noexcept {
    static const std::array<const KernelModule*, @count@> list{
@list_entries@    };
    return list;
}
}  // namespace yolk::kernels
")
endfunction()
