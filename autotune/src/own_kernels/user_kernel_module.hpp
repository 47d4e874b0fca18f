// SPDX-License-Identifier: Apache-2.0
// A user's shader, compiled, compared with what space.json says of it, and made ready to run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "user_kernel_file.hpp"
#include "yolk/device.hpp"
#include "yolk/internal/runtime/grid.hpp"
#include "yolk/internal/shaders/kernel_compiler.hpp"
#include "yolk/internal/shaders/module_interface.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

struct CompiledKernel {
    std::string name;
    std::vector<std::uint32_t> spirv;
    ModuleInterface interface;
};
using SharedKernel = std::shared_ptr<const CompiledKernel>;

/// Whether it declares arithmetic that a device may be faster at than at fp32: fp16, bytes, integer dot products.
[[nodiscard]] bool is_above_fp32(const CompiledKernel& kernel);

/// Errors: BadInput: what the compiler says, resources that are no buffers of set 0; Unsupported: capabilities that
/// Yolk does not enable on this device.
[[nodiscard]] Result<SharedKernel> compile_user_kernel(const KernelSource& source, const KernelCompileOptions& options,
                                                       const DeviceInfo& info);

/// Every binding of the shader has a buffer of its type; with `all_used` every buffer is one of the shader's, too.
[[nodiscard]] Result<void> check_buffers(const CompiledKernel& kernel, std::span<const KernelBuffer> buffers,
                                         bool all_used);
[[nodiscard]] Result<void> check_push_constants(const CompiledKernel& kernel, std::span<const KernelPush> declared);
/// The value as the shader's constant has it. Error: the shader has none of this id; the value does not fit its type.
[[nodiscard]] Result<SpecConstant> spec_constant(const CompiledKernel& kernel, std::uint32_t id,
                                                 const ExpressionValue& value);
/// Workgroup, shared memory and local variables with these constants, against the device's limits (Unsupported).
[[nodiscard]] Result<void> check_workgroup(const CompiledKernel& kernel, std::span<const SpecConstant> constants,
                                           const DeviceLimits& limits);

/// A launch with values.
struct KernelRun {
    GroupCount groups;
    std::vector<std::uint32_t> push_words;
    bool has_order = false;  ///< KernelSpace::workgroups_wait
};
/// Errors: BadInput: an expression that cannot be computed, no workgroup at all, a push constant that does not fit its
/// type; Unsupported: more workgroups than the device takes.
[[nodiscard]] Result<KernelRun> run_of(const KernelLaunch& launch, std::span<const ExpressionValue> values,
                                       const DeviceLimits& limits);

/// Views of its bind(): one per buffer. Scratch stands in for bindings that the shader does not have.
[[nodiscard]] Result<std::unique_ptr<oracle::PlannedProblem>> plan_user_kernel(const Device& device,
                                                                               const SharedKernel& kernel,
                                                                               std::span<const SpecConstant> constants,
                                                                               KernelRun run,
                                                                               std::span<const KernelBuffer> buffers);

}  // namespace yolk::autotune
