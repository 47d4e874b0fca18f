// SPDX-License-Identifier: Apache-2.0
#include "spirv_module.hpp"

#include <optional>
#include <spirv/unified1/spirv.hpp>

#include "spirv_words.hpp"

namespace yolk {
namespace {

/// What the instructions before leave to the next.
struct ModuleReader {
    SpirvModule module = {};
    SpirvFunction* function = nullptr;
    std::optional<std::size_t> block = {};
    std::uint32_t file = 0, line = 0;

    void add(std::uint32_t op, std::span<const std::uint32_t> words);
    void note(const SpirvInstruction& one);
    void place_in_function(const SpirvInstruction& one, std::size_t index);
    void link_blocks();
};

constexpr std::uint32_t kFirstUnknown =
    4456;  // of the KHR form of cooperative matrices, newer than Debian 12's headers

bool is_type(std::uint32_t op) noexcept {
    return (op >= spv::OpTypeVoid && op <= spv::OpTypeForwardPointer) || op == spv::OpTypeCooperativeMatrixNV ||
           op == kFirstUnknown;
}

/// Newer instructions than the headers: types, and what begins with a type has a result.
void find_result(SpirvInstruction& one, const SpirvModule& module) {
    bool has_result = false, has_type = false;
    spv::HasResultAndType(static_cast<spv::Op>(one.op), &has_result, &has_type);
    if (!has_result && one.op >= kFirstUnknown) {
        const SpirvInstruction* const first = module.definition(one.word(1));
        has_type = first != nullptr && is_type(first->op);
        has_result = has_type || one.op == kFirstUnknown;
    }
    if (has_type) one.type = one.word(1);
    if (has_result) one.result = one.word(has_type ? 2 : 1);
}

bool ends_block(std::uint32_t op) noexcept {
    switch (op) {
        case spv::OpBranch:
        case spv::OpBranchConditional:
        case spv::OpSwitch:
        case spv::OpReturn:
        case spv::OpReturnValue:
        case spv::OpKill:
        case spv::OpUnreachable:
        case spv::OpTerminateInvocation: return true;
        default: return false;
    }
}

void ModuleReader::note(const SpirvInstruction& one) {
    switch (one.op) {
        case spv::OpString: module.strings[one.word(1)] = literal_string(one.words.subspan(2)); break;
        case spv::OpName: module.names[one.word(1)] = literal_string(one.words.subspan(2)); break;
        case spv::OpEntryPoint: module.entries.push_back(one.word(2)); break;
        case spv::OpDecorate:
            if (one.word(2) == spv::DecorationNoContraction) module.uncontracted.insert(one.word(1));
            break;
        case spv::OpExtInstImport: {
            const std::string set = literal_string(one.words.subspan(2));
            if (set == "GLSL.std.450") module.glsl_sets.insert(one.word(1));
            if (set.starts_with("NonSemantic.")) module.harmless_sets.insert(one.word(1));
            break;
        }
        case spv::OpLine:
            file = one.word(1);
            line = one.word(2);
            break;
        case spv::OpNoLine:
        case spv::OpFunctionEnd: line = 0; break;
        default: break;
    }
}

void ModuleReader::place_in_function(const SpirvInstruction& one, std::size_t index) {
    if (one.op == spv::OpFunction) {
        function = &module.functions[one.result];
        function->id = one.result;
        block.reset();
    }
    if (function == nullptr) return;
    if (one.op == spv::OpFunctionParameter) function->parameters.push_back(index);
    if (one.op == spv::OpLabel) {
        block = function->blocks.size();
        function->block_of_label[one.result] = *block;
        function->blocks.push_back({.label = one.result, .first = index + 1, .end = index + 1});
    }
    if (block) function->blocks[*block].end = index + 1;
    if (ends_block(one.op)) block.reset();
    if (one.op == spv::OpFunctionEnd) function = nullptr;
}

void ModuleReader::add(std::uint32_t op, std::span<const std::uint32_t> words) {
    SpirvInstruction one{.op = op, .words = words};
    find_result(one, module);
    if (words.size() > 2 || op == spv::OpNoLine || op == spv::OpFunctionEnd) note(one);
    one.file = file;
    one.line = line;
    const std::size_t index = module.instructions.size();
    place_in_function(one, index);
    one.function = function == nullptr ? 0 : function->id;
    if (one.result != 0) module.definitions[one.result] = index;
    module.instructions.push_back(one);
}

void ModuleReader::link_blocks() {
    for (auto& [id, one] : module.functions) {
        for (std::size_t from = 0; from < one.blocks.size(); ++from) {
            const SpirvBlock& block_from = one.blocks[from];
            if (block_from.end == block_from.first) continue;
            for (const std::uint32_t label : successors(module.instructions[block_from.end - 1])) {
                const auto to = one.block_of_label.find(label);
                if (to != one.block_of_label.end()) one.blocks[to->second].predecessors.push_back(from);
            }
        }
    }
}

}  // namespace

std::vector<std::uint32_t> successors(const SpirvInstruction& terminator) {
    switch (terminator.op) {
        case spv::OpBranch: return {terminator.word(1)};
        case spv::OpBranchConditional: return {terminator.word(2), terminator.word(3)};
        case spv::OpSwitch: {
            std::vector<std::uint32_t> labels{terminator.word(2)};
            for (std::size_t i = 4; i < terminator.words.size(); i += 2) labels.push_back(terminator.word(i));
            return labels;
        }
        default: return {};
    }
}

Result<SpirvModule> SpirvModule::read(std::span<const std::uint32_t> spirv) {
    if (spirv.size() < kSpirvHeaderWords || spirv[0] != spv::MagicNumber)
        return bad_input("The module is no SPIR-V: it does not begin with SPIR-V's header.");
    ModuleReader reader;
    for (std::size_t at = kSpirvHeaderWords; at < spirv.size();) {
        const std::size_t count = spirv[at] >> spv::WordCountShift;
        if (count == 0 || count > spirv.size() - at)
            return bad_input("The module is no SPIR-V: word {} begins no instruction.", at);
        reader.add(spirv[at] & spv::OpCodeMask, spirv.subspan(at, count));
        at += count;
    }
    reader.link_blocks();
    return std::move(reader.module);
}

}  // namespace yolk
