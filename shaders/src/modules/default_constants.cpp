// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/shaders/default_constants.hpp"

#include <spirv/unified1/spirv.hpp>
#include <unordered_map>

#include "spirv_words.hpp"

namespace yolk {

std::vector<std::uint32_t> with_default_constants(std::span<const std::uint32_t> spirv,
                                                  std::span<const SpecConstant> constants) {
    std::unordered_map<std::uint32_t, std::uint32_t> value_of_id, value_of_result;
    for (const SpecConstant& constant : constants) value_of_id[constant.id] = constant.value;
    std::vector<std::uint32_t> code(spirv.begin(), spirv.end());
    // Decorations come before the constants.
    for (std::size_t at = kSpirvHeaderWords; at < code.size() && code[at] >> 16U != 0; at += code[at] >> 16U) {
        const std::uint32_t opcode = code[at] & 0xFFFFU;
        if (opcode == spv::OpDecorate && code[at + 2] == spv::DecorationSpecId) {
            if (const auto given = value_of_id.find(code[at + 3]); given != value_of_id.end())
                value_of_result[code[at + 1]] = given->second;
            continue;
        }
        if (opcode != spv::OpSpecConstant && opcode != spv::OpSpecConstantTrue && opcode != spv::OpSpecConstantFalse)
            continue;
        const auto given = value_of_result.find(code[at + 2]);
        if (given == value_of_result.end()) continue;
        if (opcode == spv::OpSpecConstant) {
            code[at + 3] = given->second;
        } else {
            const std::uint32_t boolean = given->second != 0 ? spv::OpSpecConstantTrue : spv::OpSpecConstantFalse;
            code[at] = (code[at] & 0xFFFF0000U) | boolean;
        }
    }
    return code;
}

}  // namespace yolk
