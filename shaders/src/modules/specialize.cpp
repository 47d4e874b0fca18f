// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/shaders/specialize.hpp"

#include <fmt/format.h>

#include <spirv-tools/libspirv.h>
#include <algorithm>
#include <set>
#include <span>
#include <spirv-tools/optimizer.hpp>
#include <spirv/unified1/spirv.hpp>
#include <string>
#include <unordered_map>

#include "spirv_words.hpp"
#include "yolk/internal/core/hash.hpp"

namespace yolk {
namespace {

struct Instruction {
    std::uint32_t opcode = 0;
    std::size_t begin = 0;
    std::size_t words = 0;
};

std::vector<Instruction> instructions_of(std::span<const std::uint32_t> spirv) {
    std::vector<Instruction> all;
    for (std::size_t at = kSpirvHeaderWords; at < spirv.size();) {
        const Instruction instruction{spirv[at] & 0xFFFFU, at, spirv[at] >> 16U};
        if (instruction.words == 0) break;
        all.push_back(instruction);
        at += instruction.words;
    }
    return all;
}

/// All that NoContraction may decorate.
bool is_float_arithmetic(std::uint32_t opcode) noexcept {
    switch (opcode) {
        case spv::OpFNegate:
        case spv::OpFAdd:
        case spv::OpFSub:
        case spv::OpFMul:
        case spv::OpFDiv:
        case spv::OpFRem:
        case spv::OpFMod:
        case spv::OpVectorTimesScalar:
        case spv::OpMatrixTimesScalar:
        case spv::OpVectorTimesMatrix:
        case spv::OpMatrixTimesVector:
        case spv::OpMatrixTimesMatrix:
        case spv::OpOuterProduct:
        case spv::OpDot: return true;
        default: return false;
    }
}

/// Types, constants and variables come right behind the annotations.
bool ends_annotations(std::uint32_t opcode) noexcept {
    return (opcode >= spv::OpTypeVoid && opcode <= spv::OpTypeForwardPointer) ||
           (opcode >= spv::OpConstantTrue && opcode <= spv::OpSpecConstantOp) || opcode == spv::OpVariable ||
           opcode == spv::OpUndef || opcode == spv::OpFunction;
}

/// Marks all floating-point arithmetic NoContraction. SPIRV-Tools' loop unroller gives the copies of an instruction no
/// decorations, so what was `precise` in the first iteration is not in the others. fma() is no arithmetic instruction
/// and stays what it is, and fast kernels write it where they want it.
std::vector<std::uint32_t> without_contraction(std::span<const std::uint32_t> spirv) {
    const std::vector<Instruction> instructions = instructions_of(spirv);
    std::set<std::uint32_t> marked;
    std::vector<std::uint32_t> decorations;
    std::size_t end_of_annotations = spirv.size();
    for (const Instruction& i : instructions) {
        if (ends_annotations(i.opcode)) end_of_annotations = std::min(end_of_annotations, i.begin);
        if (i.opcode == spv::OpDecorate && spirv[i.begin + 2] == spv::DecorationNoContraction)
            marked.insert(spirv[i.begin + 1]);
    }
    for (const Instruction& i : instructions) {
        if (!is_float_arithmetic(i.opcode) || marked.contains(spirv[i.begin + 2])) continue;
        decorations.insert(decorations.end(), {(3U << 16U) | spv::OpDecorate, spirv[i.begin + 2],
                                               static_cast<std::uint32_t>(spv::DecorationNoContraction)});
    }
    std::vector<std::uint32_t> all(spirv.begin(), spirv.end());
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(end_of_annotations), decorations.begin(), decorations.end());
    return all;
}

/// No pass that rewrites arithmetic: SPIRV-Tools' simplification takes (x + c) - c for x where the decoration got lost.
/// What the order is for: SSA form first, or the unroller sees loads and stores of its counter; arrays to values last,
/// when every index is a constant.
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
    optimizer.RegisterPass(spvtools::CreateLocalSingleBlockLoadStoreElimPass())
        .RegisterPass(spvtools::CreateLocalSingleStoreElimPass())
        .RegisterPass(spvtools::CreateAggressiveDCEPass())
        .RegisterPass(spvtools::CreateSSARewritePass())
        .RegisterPass(spvtools::CreateCCPPass())
        .RegisterPass(spvtools::CreateLoopUnrollPass(true))
        .RegisterPass(spvtools::CreateDeadBranchElimPass())
        // The copies of a loop's body are blocks of their own; merged, they cost the later passes a tenth.
        .RegisterPass(spvtools::CreateBlockMergePass())
        .RegisterPass(spvtools::CreateCCPPass())
        .RegisterPass(spvtools::CreateScalarReplacementPass(0))
        .RegisterPass(spvtools::CreateLocalAccessChainConvertPass())
        .RegisterPass(spvtools::CreateLocalSingleBlockLoadStoreElimPass())
        .RegisterPass(spvtools::CreateSSARewritePass())
        .RegisterPass(spvtools::CreateDeadBranchElimPass())
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
    if (optimizer.Run(kernel.spirv.data(), kernel.spirv.size(), &specialized, options))
        return without_contraction(specialized);
    return Error{ErrorKind::Driver, fmt::format("SPIRV-Tools could not specialize the kernel [{}]: {}", kernel.name,
                                                messages.empty() ? "no message." : messages)};
}

std::uint64_t specializer_fingerprint() {
    // The second is a hash of this file, which names the passes; from CMake.
    const std::string of = fmt::format("{} {}", spvSoftwareVersionDetailsString(), YOLK_SPECIALIZER_SOURCE);
    return hash64(std::as_bytes(std::span(of)));
}

}  // namespace yolk
