// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/shaders/module_interface.hpp"

#include <algorithm>
#include <map>
#include <spirv/unified1/spirv.hpp>
#include <utility>

#include "spirv_words.hpp"

namespace yolk {
namespace {

constexpr int kDeepest = 64;  // of types and constants

using Words = std::vector<std::uint32_t>;

bool is_constant(std::uint32_t op) {
    return (op >= spv::OpConstantTrue && op <= spv::OpConstantNull) ||
           (op >= spv::OpSpecConstantTrue && op <= spv::OpSpecConstantOp);
}

/// How many operands an instruction that is read here has at least, opcode included; 0: it is not read.
std::size_t least_words(std::uint32_t op) {
    switch (op) {
        case spv::OpCapability: return 2;
        case spv::OpName:
        case spv::OpDecorate:
        case spv::OpExecutionMode:
        case spv::OpExecutionModeId: return 3;
        case spv::OpMemberName:
        case spv::OpMemberDecorate:
        case spv::OpVariable: return 4;
        case spv::OpArrayLength: return 5;
        default: break;
    }
    if (op >= spv::OpTypeVoid && op <= spv::OpTypeForwardPointer) return 2;
    return is_constant(op) ? 3 : 0;
}

/// The values of 32-bit operations on constants; nothing for those not known here.
std::optional<std::uint32_t> fold(std::uint32_t op, std::uint32_t a, std::uint32_t b) {
    const auto sa = static_cast<std::int32_t>(a);
    const auto sb = static_cast<std::int32_t>(b);
    const bool divides = b != 0 && !(sa == INT32_MIN && sb == -1);
    switch (op) {
        case spv::OpIAdd: return a + b;
        case spv::OpISub: return a - b;
        case spv::OpIMul: return a * b;
        case spv::OpUDiv: return b == 0 ? std::nullopt : std::optional(a / b);
        case spv::OpUMod: return b == 0 ? std::nullopt : std::optional(a % b);
        case spv::OpSDiv: return divides ? std::optional(static_cast<std::uint32_t>(sa / sb)) : std::nullopt;
        case spv::OpSRem: return divides ? std::optional(static_cast<std::uint32_t>(sa % sb)) : std::nullopt;
        case spv::OpShiftRightLogical: return b < 32 ? std::optional(a >> b) : std::nullopt;
        case spv::OpShiftLeftLogical: return b < 32 ? std::optional(a << b) : std::nullopt;
        case spv::OpBitwiseOr:
        case spv::OpLogicalOr: return a | b;
        case spv::OpBitwiseAnd:
        case spv::OpLogicalAnd: return a & b;
        case spv::OpBitwiseXor:
        case spv::OpLogicalNotEqual: return a ^ b;
        case spv::OpIEqual:
        case spv::OpLogicalEqual: return a == b;
        case spv::OpINotEqual: return a != b;
        case spv::OpUGreaterThan: return a > b;
        case spv::OpUGreaterThanEqual: return a >= b;
        case spv::OpULessThan: return a < b;
        case spv::OpULessThanEqual: return a <= b;
        case spv::OpSGreaterThan: return sa > sb;
        case spv::OpSGreaterThanEqual: return sa >= sb;
        case spv::OpSLessThan: return sa < sb;
        case spv::OpSLessThanEqual: return sa <= sb;
        default: return std::nullopt;
    }
}

}  // namespace

/// Ids are SPIR-V's; instructions are kept whole, opcode first.
struct ModuleInterface::Parsed {
    std::map<std::uint32_t, std::string> names;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> member_names;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> decorations;  ///< (id, decoration) to first value
    /// (struct, member, decoration) to first value
    std::map<std::array<std::uint32_t, 3>, std::uint32_t> member_decorations;
    std::map<std::uint32_t, Words> types;
    std::map<std::uint32_t, Words> constants;
    std::vector<Words> variables;
    std::vector<std::uint32_t> with_length;  ///< variables whose array's length is asked for
    std::optional<Words> local_size;
    std::vector<std::uint32_t> capabilities;

    void read(std::uint32_t op, Words words);
    [[nodiscard]] std::optional<std::uint32_t> decoration(std::uint32_t id, std::uint32_t which) const {
        const auto found = decorations.find({id, which});
        return found == decorations.end() ? std::nullopt : std::optional(found->second);
    }
    [[nodiscard]] const Words* type(std::uint32_t id) const {
        const auto found = types.find(id);
        return found == types.end() ? nullptr : &found->second;
    }
    [[nodiscard]] ScalarType scalar(std::uint32_t type_id) const;
    [[nodiscard]] ScalarType element(std::uint32_t type_id, int depth = 0) const;
    [[nodiscard]] bool is_readonly(std::uint32_t variable, std::uint32_t block) const;
    [[nodiscard]] std::optional<std::uint64_t> value(std::uint32_t id, std::span<const SpecConstant> given,
                                                     int depth = 0) const;
    [[nodiscard]] std::optional<std::uint64_t> operation(const Words& words, std::span<const SpecConstant> given,
                                                         int depth) const;
    [[nodiscard]] std::optional<std::uint64_t> bytes(std::uint32_t type_id, std::span<const SpecConstant> given,
                                                     int depth = 0) const;
    void add_binding(const Words& variable, ModuleInterface& to) const;
    void add_push_constants(std::uint32_t block, ModuleInterface& to) const;
};

void ModuleInterface::Parsed::read(std::uint32_t op, Words words) {
    if (op == spv::OpCapability) capabilities.push_back(words[1]);
    if (op == spv::OpName) names[words[1]] = literal_string(std::span(words).subspan(2));
    if (op == spv::OpMemberName) member_names[{words[1], words[2]}] = literal_string(std::span(words).subspan(3));
    if (op == spv::OpDecorate) decorations[{words[1], words[2]}] = words.size() > 3 ? words[3] : 0;
    if (op == spv::OpMemberDecorate)
        member_decorations[{words[1], words[2], words[3]}] = words.size() > 4 ? words[4] : 0;
    const bool sizes = (op == spv::OpExecutionMode && words[2] == spv::ExecutionModeLocalSize) ||
                       (op == spv::OpExecutionModeId && words[2] == spv::ExecutionModeLocalSizeId);
    if (op == spv::OpVariable) variables.push_back(words);
    if (op == spv::OpArrayLength) with_length.push_back(words[3]);
    const bool is_type = op >= spv::OpTypeVoid && op <= spv::OpTypeForwardPointer;
    const std::uint32_t id = is_type ? words[1] : words[2 < words.size() ? 2 : 1];
    words[0] = op;
    if (sizes && words.size() >= 6) local_size = words;
    if (is_type) types[id] = words;
    if (is_constant(op)) constants[id] = std::move(words);
}

ScalarType ModuleInterface::Parsed::scalar(std::uint32_t type_id) const {
    const Words* const words = type(type_id);
    if (words == nullptr) return ScalarType::Other;
    if ((*words)[0] == spv::OpTypeBool) return ScalarType::Bool;
    if ((*words)[0] == spv::OpTypeFloat && words->size() > 2 && (*words)[2] == 32) return ScalarType::F32;
    if ((*words)[0] == spv::OpTypeInt && words->size() > 3 && (*words)[2] == 32)
        return (*words)[3] != 0 ? ScalarType::I32 : ScalarType::U32;
    return ScalarType::Other;
}

ScalarType ModuleInterface::Parsed::element(std::uint32_t type_id, int depth) const {
    const Words* const words = type(type_id);
    if (words == nullptr || depth > kDeepest || words->size() < 3) return scalar(type_id);
    switch ((*words)[0]) {
        case spv::OpTypeRuntimeArray:
        case spv::OpTypeArray:
        case spv::OpTypeVector:
        case spv::OpTypeMatrix: return element((*words)[2], depth + 1);
        default: return scalar(type_id);
    }
}

bool ModuleInterface::Parsed::is_readonly(std::uint32_t variable, std::uint32_t block) const {
    if (decoration(variable, spv::DecorationNonWritable)) return true;
    const Words* const words = type(block);
    if (words == nullptr || (*words)[0] != spv::OpTypeStruct || words->size() < 3) return false;
    for (std::uint32_t member = 0; member + 2 < words->size(); ++member) {
        if (!member_decorations.contains({block, member, spv::DecorationNonWritable})) return false;
    }
    return true;
}

std::optional<std::uint64_t> ModuleInterface::Parsed::operation(const Words& words, std::span<const SpecConstant> given,
                                                                int depth) const {
    if (words.size() < 5) return std::nullopt;
    const std::uint32_t op = words[3];
    if (op == spv::OpCompositeExtract && words.size() == 6) {
        const auto composite = constants.find(words[4]);
        if (composite == constants.end() || composite->second.size() <= 3 + std::size_t{words[5]}) return std::nullopt;
        return value(composite->second[3 + words[5]], given, depth + 1);
    }
    const std::optional<std::uint64_t> a = value(words[4], given, depth + 1);
    if (!a) return std::nullopt;
    const auto a32 = static_cast<std::uint32_t>(*a);
    if (op == spv::OpNot) return ~a32;
    if (op == spv::OpSNegate) return 0U - a32;
    if (op == spv::OpLogicalNot) return a32 == 0 ? 1U : 0U;
    if (words.size() < 6) return std::nullopt;
    if (op == spv::OpSelect && words.size() == 7) return value(words[a32 != 0 ? 5 : 6], given, depth + 1);
    const std::optional<std::uint64_t> b = value(words[5], given, depth + 1);
    if (!b) return std::nullopt;
    return fold(op, a32, static_cast<std::uint32_t>(*b));
}

std::optional<std::uint64_t> ModuleInterface::Parsed::value(std::uint32_t id, std::span<const SpecConstant> given,
                                                            int depth) const {
    const auto found = constants.find(id);
    if (found == constants.end() || depth > kDeepest) return std::nullopt;
    const Words& words = found->second;
    if (const std::optional<std::uint32_t> spec = decoration(id, spv::DecorationSpecId)) {
        const auto value = std::ranges::find(given, *spec, &SpecConstant::id);
        if (value != given.end()) return value->value;
    }
    switch (words[0]) {
        case spv::OpConstantTrue:
        case spv::OpSpecConstantTrue: return 1;
        case spv::OpConstantFalse:
        case spv::OpSpecConstantFalse:
        case spv::OpConstantNull: return 0;
        case spv::OpConstant:
        case spv::OpSpecConstant: return words.size() == 4 ? std::optional<std::uint64_t>(words[3]) : std::nullopt;
        case spv::OpSpecConstantOp: return operation(words, given, depth);
        default: return std::nullopt;
    }
}

std::optional<std::uint64_t> ModuleInterface::Parsed::bytes(std::uint32_t type_id, std::span<const SpecConstant> given,
                                                            int depth) const {
    constexpr std::uint64_t kTooMany = std::uint64_t{1} << 40U;
    const Words* const words = type(type_id);
    if (words == nullptr || depth > kDeepest) return std::nullopt;
    const auto product = [&](std::optional<std::uint64_t> count) -> std::optional<std::uint64_t> {
        const std::optional<std::uint64_t> one = bytes((*words)[2], given, depth + 1);
        if (!count || !one) return std::nullopt;
        return *one > 0 && *count > kTooMany / *one ? kTooMany : *count * *one;
    };
    switch ((*words)[0]) {
        case spv::OpTypeBool: return 4;
        case spv::OpTypeInt:
        case spv::OpTypeFloat: return (*words)[2] / 8;
        case spv::OpTypeVector:
        case spv::OpTypeMatrix: return product((*words)[3]);
        case spv::OpTypeArray: return product(value((*words)[3], given));
        case spv::OpTypeStruct: {
            std::uint64_t sum = 0;
            for (std::size_t i = 2; i < words->size(); ++i) {
                const std::optional<std::uint64_t> member = bytes((*words)[i], given, depth + 1);
                if (!member) return std::nullopt;
                sum = std::min(sum + *member, kTooMany);
            }
            return sum;
        }
        default: return std::nullopt;
    }
}

void ModuleInterface::Parsed::add_binding(const Words& variable, ModuleInterface& to) const {
    const std::uint32_t storage = variable[3];
    const Words* const pointer = type(variable[1]);
    if (pointer == nullptr || pointer->size() < 4) return;
    const std::uint32_t block = (*pointer)[3];
    const Words* const block_words = type(block);
    const bool is_struct = block_words != nullptr && (*block_words)[0] == spv::OpTypeStruct;
    const auto name_of = [this](std::uint32_t id) {
        const auto found = names.find(id);
        return found == names.end() ? std::string() : found->second;
    };
    InterfaceBinding binding{
        .name = name_of(variable[2]).empty() ? name_of(block) : name_of(variable[2]),
        .set = decoration(variable[2], spv::DecorationDescriptorSet).value_or(0),
        .binding = decoration(variable[2], spv::DecorationBinding).value_or(0),
        .is_uniform = storage == spv::StorageClassUniform && !decoration(block, spv::DecorationBufferBlock),
        .is_buffer = is_struct && storage != spv::StorageClassUniformConstant,
        .is_readonly = is_readonly(variable[2], block),
        .asks_length = std::ranges::find(with_length, variable[2]) != with_length.end()};
    if (is_struct && block_words->size() == 3) binding.element = element((*block_words)[2]);
    to.bindings.push_back(std::move(binding));
}

void ModuleInterface::Parsed::add_push_constants(std::uint32_t block, ModuleInterface& to) const {
    const Words* const words = type(block);
    if (words == nullptr || (*words)[0] != spv::OpTypeStruct) return;
    for (std::uint32_t member = 0; member + 2 < words->size(); ++member) {
        const auto offset = member_decorations.find({block, member, spv::DecorationOffset});
        const auto name = member_names.find({block, member});
        const std::uint32_t begin = offset == member_decorations.end() ? 0 : offset->second;
        const auto size = static_cast<std::uint32_t>(bytes((*words)[member + 2], {}).value_or(4));
        to.push_bytes = std::max(to.push_bytes, begin + size);
        to.push_constants.push_back({.name = name == member_names.end() ? std::string() : name->second,
                                     .offset_bytes = begin,
                                     .type = scalar((*words)[member + 2])});
    }
}

const char* to_string(ScalarType type) noexcept {
    switch (type) {
        case ScalarType::F32: return "f32";
        case ScalarType::I32: return "i32";
        case ScalarType::U32: return "u32";
        case ScalarType::Bool: return "bool";
        case ScalarType::Other: break;
    }
    return "another type";
}

Result<ModuleInterface> read_interface(std::span<const std::uint32_t> spirv) {
    auto parsed = std::make_shared<ModuleInterface::Parsed>();
    for (std::size_t at = kSpirvHeaderWords; at < spirv.size();) {
        const std::size_t count = spirv[at] >> spv::WordCountShift;
        if (count == 0 || count > spirv.size() - at) return bad_input("The compiled shader is no SPIR-V.");
        const std::uint32_t op = spirv[at] & spv::OpCodeMask;
        if (const std::size_t least = least_words(op); least != 0 && count >= least) {
            const auto words = spirv.subspan(at, count);
            parsed->read(op, Words(words.begin(), words.end()));
        }
        at += count;
    }
    ModuleInterface interface;
    interface.capabilities = parsed->capabilities;
    interface.asks_group_count = std::ranges::any_of(parsed->decorations, [](const auto& decoration) {
        return decoration.first.second == spv::DecorationBuiltIn && decoration.second == spv::BuiltInNumWorkgroups;
    });
    for (const Words& variable : parsed->variables) {
        const Words* const pointer = parsed->type(variable[1]);
        switch (variable[3]) {
            case spv::StorageClassUniformConstant:
            case spv::StorageClassUniform:
            case spv::StorageClassStorageBuffer: parsed->add_binding(variable, interface); break;
            case spv::StorageClassPushConstant:
                if (pointer != nullptr && pointer->size() > 3) parsed->add_push_constants((*pointer)[3], interface);
                break;
            default: break;
        }
    }
    std::ranges::sort(interface.bindings, {}, &InterfaceBinding::binding);
    for (const auto& [id, words] : parsed->constants) {
        const std::optional<std::uint32_t> spec = parsed->decoration(id, spv::DecorationSpecId);
        if (!spec) continue;
        const auto name = parsed->names.find(id);
        interface.constants.push_back({.id = *spec,
                                       .name = name == parsed->names.end() ? std::string() : name->second,
                                       .type = parsed->scalar(words[1])});
    }
    std::ranges::sort(interface.constants, {}, &InterfaceConstant::id);
    interface.parsed = std::move(parsed);
    return interface;
}

namespace {

/// The ids of the constants that a workgroup's size is made of: BuiltIn WorkgroupSize, else LocalSizeId; empty: the
/// size is literal. Nothing: a constant that is not a vector of three.
std::optional<std::vector<std::uint32_t>> size_ids(const ModuleInterface::Parsed& parsed) {
    std::vector<std::uint32_t> ids;
    for (const auto& [key, value] : parsed.decorations) {
        if (key.second != spv::DecorationBuiltIn || value != spv::BuiltInWorkgroupSize) continue;
        const auto composite = parsed.constants.find(key.first);
        if (composite == parsed.constants.end() || composite->second.size() != 6) return std::nullopt;
        ids.assign(composite->second.begin() + 3, composite->second.end());
    }
    const bool by_id = parsed.local_size && (*parsed.local_size)[0] == spv::OpExecutionModeId;
    if (ids.empty() && by_id) ids.assign(parsed.local_size->begin() + 3, parsed.local_size->begin() + 6);
    return ids;
}

}  // namespace

std::optional<WorkgroupUse> ModuleInterface::workgroup(std::span<const SpecConstant> given) const {
    const std::optional<std::vector<std::uint32_t>> ids = size_ids(*parsed);
    if (!ids || (ids->empty() && !parsed->local_size)) return std::nullopt;
    WorkgroupUse use;
    for (std::size_t i = 0; i < 3; ++i) {
        if (ids->empty()) {
            use.size[i] = (*parsed->local_size)[3 + i];
            continue;
        }
        const std::optional<std::uint64_t> value = parsed->value((*ids)[i], given);
        if (!value) return std::nullopt;
        use.size[i] = static_cast<std::uint32_t>(*value);
    }
    for (const Words& variable : parsed->variables) {
        if (variable[3] != spv::StorageClassWorkgroup) continue;
        const Words* const pointer = parsed->type(variable[1]);
        if (pointer == nullptr || pointer->size() < 4) return std::nullopt;
        const std::optional<std::uint64_t> size = parsed->bytes((*pointer)[3], given);
        if (!size) return std::nullopt;
        use.shared_bytes += *size;
    }
    return use;
}

std::uint64_t ModuleInterface::local_bytes(std::span<const SpecConstant> given) const {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40U;
    std::uint64_t sum = 0;
    for (const Words& variable : parsed->variables) {
        const bool is_local = variable[3] == spv::StorageClassFunction || variable[3] == spv::StorageClassPrivate;
        const Words* const pointer = parsed->type(variable[1]);
        if (!is_local || pointer == nullptr || pointer->size() < 4) continue;
        sum = std::min(sum + parsed->bytes((*pointer)[3], given).value_or(0), kMost);
    }
    return sum;
}

}  // namespace yolk
