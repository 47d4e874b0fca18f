// SPDX-License-Identifier: Apache-2.0
// What environment_facts.comp, compiled with an environment, says of it: constants, the size of State, and whether its
// instructions keep the rules of docs/environments.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "yolk/internal/shaders/environment_compiler.hpp"
#include "yolk/result.hpp"

namespace yolk {

struct EnvironmentInspection {
    EnvironmentFacts facts;
    std::string inexact_reason;  ///< as in CompiledEnvironment
};

/// `spirv`: a valid module with debug information, fresh from the compiler. Errors: what breaks a rule (loops, state
/// outside of State, capabilities), constants outside their ranges.
[[nodiscard]] Result<EnvironmentInspection> inspect_environment(std::span<const std::uint32_t> spirv,
                                                                std::string_view file_name);

}  // namespace yolk
