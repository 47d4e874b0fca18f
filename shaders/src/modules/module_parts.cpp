// SPDX-License-Identifier: Apache-2.0
#include "module_parts.hpp"

#include <algorithm>
#include <spirv/unified1/spirv.hpp>

#include "spirv_words.hpp"

namespace yolk {
namespace {

using PartWords = std::vector<std::uint32_t>;

void note_global(ModuleParts& parts, std::uint32_t op, const PartWords& words) {
    if (op == spv::OpTypeInt && words.size() == 4 && words[2] == 32 && words[3] == 0) parts.unsigned_type = words[1];
    if (op == spv::OpTypeBool && words.size() == 2) parts.bool_type = words[1];
    if (op == spv::OpTypeVector && words.size() == 4) parts.vectors[{words[2], words[3]}] = words[1];
    if (op == spv::OpTypePointer && words.size() == 4) parts.pointers[{words[2], words[3]}] = words[1];
}

void note_name(ModuleParts& parts, const PartWords& words) {
    const std::string name = literal_string(std::span(words).subspan(2));
    if (!name.empty()) parts.names.emplace(name.substr(0, name.find('(')), words[1]);
}

void add_to_function(ModuleFunction& function, std::uint32_t op, const PartWords& words) {
    bool has_result = false, has_type = false;
    spv::HasResultAndType(static_cast<spv::Op>(op), &has_result, &has_type);
    if (has_result && words.size() > (has_type ? 2U : 1U)) function.made.push_back(words[has_type ? 2 : 1]);
    if (op == spv::OpFunctionCall && words.size() > 3) function.callees.push_back(words[3]);
    if (op == spv::OpFunctionParameter && words.size() > 2) function.parameters.push_back(words[2]);
    function.words.insert(function.words.end(), words.begin(), words.end());
}

}  // namespace

std::uint32_t ModuleParts::named(std::string_view name) const {
    const auto found = names.find(name);
    return found == names.end() ? 0 : found->second;
}

const ModuleFunction* ModuleParts::function(std::uint32_t id) const {
    const auto found = std::ranges::find(functions, id, [](const auto& one) { return one.first; });
    return found == functions.end() ? nullptr : &found->second;
}

std::set<std::uint32_t> ModuleParts::called_from(std::uint32_t id) const {
    std::set<std::uint32_t> called;
    std::vector<std::uint32_t> open{id};
    while (!open.empty()) {
        const std::uint32_t next = open.back();
        open.pop_back();
        if (!called.insert(next).second) continue;
        if (const ModuleFunction* of = function(next)) open.insert(open.end(), of->callees.begin(), of->callees.end());
    }
    return called;
}

Result<std::uint32_t> ModuleParts::member(std::string_view structure, std::string_view name) const {
    const std::uint32_t id = named(structure);
    for (const PartWords& words : preamble) {
        if ((words[0] & spv::OpCodeMask) != spv::OpMemberName || words.size() < 4 || words[1] != id) continue;
        if (literal_string(std::span(words).subspan(3)) == name) return words[2];
    }
    return bad_input("The module has no member '{}' of '{}'.", name, structure);
}

Result<ModuleParts> take_apart(std::span<const std::uint32_t> spirv) {
    if (spirv.size() < kSpirvHeaderWords || spirv[0] != spv::MagicNumber) return bad_input("The module is no SPIR-V.");
    ModuleParts parts;
    parts.header.assign(spirv.begin(), spirv.begin() + kSpirvHeaderWords);
    bool in_function = false;
    for (std::size_t at = kSpirvHeaderWords; at < spirv.size();) {
        const std::size_t count = spirv[at] >> spv::WordCountShift;
        if (count == 0 || count > spirv.size() - at) return bad_input("The module is no SPIR-V: it is cut off.");
        const std::uint32_t op = spirv[at] & spv::OpCodeMask;
        PartWords words(spirv.begin() + static_cast<std::ptrdiff_t>(at),
                        spirv.begin() + static_cast<std::ptrdiff_t>(at + count));
        at += count;
        if (op == spv::OpFunction && count > 2) {
            parts.functions.emplace_back(words[2], ModuleFunction{});
            in_function = true;
        }
        if (in_function) {
            add_to_function(parts.functions.back().second, op, words);
            in_function = op != spv::OpFunctionEnd;
            continue;
        }
        if (op == spv::OpName && count > 2) note_name(parts, words);
        const bool is_type = op >= spv::OpTypeVoid && op <= spv::OpTypeForwardPointer;
        note_global(parts, op, words);
        (is_type || !parts.globals.empty() ? parts.globals : parts.preamble).push_back(std::move(words));
    }
    return parts;
}

}  // namespace yolk
