// SPDX-License-Identifier: Apache-2.0
#include "yolk/shaders/specialize.hpp"

#include <fmt/format.h>

#include <spirv-tools/optimizer.hpp>
#include <string>
#include <unordered_map>

namespace yolk {
namespace {

/// Two rounds of unrolling: the second finds the trip counts of loops that the first made constant. What each pass is
/// for: SSA form first, or the unroller sees loads and stores of its counter; arrays to values last, when every index
/// is a constant.
void register_passes(spvtools::Optimizer& optimizer,
                     const std::unordered_map<std::uint32_t, std::vector<std::uint32_t>>& values) {
    optimizer.RegisterPass(spvtools::CreateSetSpecConstantDefaultValuePass(values))
        .RegisterPass(spvtools::CreateFreezeSpecConstantValuePass())
        .RegisterPass(spvtools::CreateFoldSpecConstantOpAndCompositePass())
        .RegisterPass(spvtools::CreateDeadBranchElimPass())
        .RegisterPass(spvtools::CreateMergeReturnPass())
        .RegisterPass(spvtools::CreateInlineExhaustivePass())
        .RegisterPass(spvtools::CreateEliminateDeadFunctionsPass())
        .RegisterPass(spvtools::CreatePrivateToLocalPass());
    for (int round = 0; round < 2; ++round) {
        optimizer.RegisterPass(spvtools::CreateLocalSingleBlockLoadStoreElimPass())
            .RegisterPass(spvtools::CreateLocalSingleStoreElimPass())
            .RegisterPass(spvtools::CreateSSARewritePass())
            .RegisterPass(spvtools::CreateCCPPass())
            .RegisterPass(spvtools::CreateLoopUnrollPass(true))
            .RegisterPass(spvtools::CreateDeadBranchElimPass());
    }
    optimizer.RegisterPass(spvtools::CreateCCPPass())
        .RegisterPass(spvtools::CreateScalarReplacementPass(0))
        .RegisterPass(spvtools::CreateLocalAccessChainConvertPass())
        .RegisterPass(spvtools::CreateLocalSingleBlockLoadStoreElimPass())
        .RegisterPass(spvtools::CreateLocalSingleStoreElimPass())
        .RegisterPass(spvtools::CreateSSARewritePass())
        .RegisterPass(spvtools::CreateCCPPass())
        .RegisterPass(spvtools::CreateDeadBranchElimPass())
        .RegisterPass(spvtools::CreateSimplificationPass())
        .RegisterPass(spvtools::CreateAggressiveDCEPass())
        .RegisterPass(spvtools::CreateBlockMergePass());
}

}  // namespace

Result<std::vector<std::uint32_t>> specialize(const KernelModule& kernel, std::span<const SpecConstant> constants) {
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> values;
    for (const SpecConstant& constant : constants) values[constant.id] = {constant.value};
    std::string messages;
    spvtools::Optimizer optimizer(SPV_ENV_VULKAN_1_2);
    optimizer.SetMessageConsumer([&](spv_message_level_t level, const char*, const spv_position_t&, const char* text) {
        if (level <= SPV_MSG_ERROR) messages += fmt::format("{} ", text);
    });
    register_passes(optimizer, values);
    std::vector<std::uint32_t> specialized;
    spvtools::OptimizerOptions options;
    options.set_run_validator(false);  // a test validates every module of the catalogue
    if (optimizer.Run(kernel.spirv.data(), kernel.spirv.size(), &specialized, options)) return specialized;
    return Error{ErrorKind::Driver, fmt::format("SPIRV-Tools could not specialize the kernel [{}]: {}", kernel.name,
                                                messages.empty() ? "no message." : messages)};
}

}  // namespace yolk
