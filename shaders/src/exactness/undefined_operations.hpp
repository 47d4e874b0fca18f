// SPDX-License-Identifier: Apache-2.0
// Operations of a module whose result SPIR-V, Vulkan or GLSL leave undefined for some operands, and whose operands are
// not known to be others: by bounds of every value, followed through branches, loops and calls.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "spirv_module.hpp"

namespace yolk {

struct UndefinedOperation {
    std::size_t instruction = 0;  ///< of the module
    std::string_view why;
    bool is_trap = false;  ///< on some devices it ends the process, or overwrites other data
    bool given = false;    ///< its operands are computed of constants and of a dispatch's parameters alone
};

/// In the module's order, what no call reaches left out. Specialization constants count as their defaults. Sound for
/// modules that a compiler made of GLSL; memory outside of functions (buffers, shared memory) is taken to have been
/// written, and indices into buffers to be the caller's affair.
[[nodiscard]] std::vector<UndefinedOperation> find_undefined(const SpirvModule& module);

}  // namespace yolk
