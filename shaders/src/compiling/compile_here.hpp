// SPDX-License-Identifier: Apache-2.0
// Compiling users' shaders in this process, which a shader may end or fill: only yolk-worker does (docs/adr/0039).
#pragma once

#include "yolk/internal/shaders/environment_compiler.hpp"
#include "yolk/internal/shaders/kernel_compiler.hpp"

namespace yolk {

/// As compile_kernel and compile_environment, whose errors are these.
[[nodiscard]] Result<std::vector<std::uint32_t>> compile_kernel_here(const KernelSource& source,
                                                                     const KernelCompileOptions& options);
[[nodiscard]] Result<CompiledEnvironment> compile_environment_here(std::string_view source, std::string_view file_name);

/// Beyond these, drivers take minutes or end the process.
struct ModuleLimits {
    std::uint64_t instructions = std::uint64_t{1} << 20U;
    std::uint64_t switch_cases = 1024;                    ///< of one switch
    std::uint64_t local_bytes = std::uint64_t{1} << 40U;  ///< of one invocation; own kernels: see check_workgroup
};
/// An environment runs in the process that trains, inside the loops of a roll-out.
inline constexpr ModuleLimits kEnvironmentLimits{
    .instructions = 20'000, .switch_cases = 1024, .local_bytes = std::uint64_t{64} << 10U};

/// Error (BadInput): what is too large, with the file's line where the module has lines.
[[nodiscard]] Result<void> check_module_limits(std::span<const std::uint32_t> spirv, std::string_view file_name,
                                               const ModuleLimits& limits);

/// The compiler's words for a function that calls itself, with the place of its definition in one of the texts, which
/// the compiler does not say. Other messages come back as they are.
struct NamedText {
    std::string_view name;
    std::string_view text;
};
[[nodiscard]] std::string with_place_of_recursion(std::string_view messages, std::span<const NamedText> texts);

}  // namespace yolk
