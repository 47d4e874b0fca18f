// SPDX-License-Identifier: Apache-2.0
// Which file an #include of a user's shader names.
#pragma once

#include <string>
#include <string_view>

#include "yolk/internal/shaders/kernel_compiler.hpp"

namespace yolk {

/// What `name` in the file `from` (a place; empty: the shader itself) includes. Views of the source.
struct FoundInclude {
    std::string_view place;    ///< empty where it may not be read
    std::string_view text;     ///< empty where it may not be read
    std::string_view refusal;  ///< why it may not be read
};
[[nodiscard]] FoundInclude find_include(const KernelSource& source, const std::string& from, const std::string& name);

}  // namespace yolk
