// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/shaders/default_constants.hpp"

#include <gtest/gtest.h>

#include <map>
#include <spirv/unified1/spirv.hpp>

#include "yolk/internal/abi/probe.h"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

using Words = std::vector<std::uint32_t>;

/// Of the specialization constants of 32 bits, by id.
std::map<std::uint32_t, std::uint32_t> defaults_of(std::span<const std::uint32_t> spirv) {
    std::map<std::uint32_t, std::uint32_t> ids, defaults;
    for (std::size_t at = 5; at < spirv.size(); at += spirv[at] >> 16U) {
        const std::uint32_t opcode = spirv[at] & 0xFFFFU;
        if (opcode == spv::OpDecorate && spirv[at + 2] == spv::DecorationSpecId) ids[spirv[at + 1]] = spirv[at + 3];
        if (opcode == spv::OpSpecConstant) defaults[ids.at(spirv[at + 2])] = spirv[at + 3];
    }
    return defaults;
}

TEST(default_constants, are_those_that_are_given_and_nothing_else_changes) {
    for (const KernelModule& kernel :
         {KernelModule(kernels::kProbeCooperativeKhr), KernelModule(kernels::kProbeCooperativeNv)}) {
        const auto before = defaults_of(kernel.spirv);
        ASSERT_TRUE(before.contains(abi::probe::kSpecShapeM) && before.contains(abi::probe::kSpecShapeK));
        const std::vector<SpecConstant> constants{
            {abi::probe::kSpecShapeM, 17}, {abi::probe::kSpecShapeK, 33}, {1000, 5}};
        const Words made = with_default_constants(kernel.spirv, constants);
        auto expected = before;
        expected[abi::probe::kSpecShapeM] = 17;
        expected[abi::probe::kSpecShapeK] = 33;
        EXPECT_EQ(defaults_of(made), expected);
        ASSERT_EQ(made.size(), kernel.spirv.size());
        std::size_t changed = 0;
        for (std::size_t i = 0; i < made.size(); ++i) changed += made[i] != kernel.spirv[i] ? 1U : 0U;
        EXPECT_EQ(changed, 2U);
    }
}

TEST(default_constants, may_be_booleans) {
    const auto instruction = [](std::uint32_t opcode, Words operands) {
        operands.insert(operands.begin(), static_cast<std::uint32_t>(operands.size() + 1) << 16U | opcode);
        return operands;
    };
    Words module{spv::MagicNumber, 0x10000, 0, 10, 0};
    for (const Words& words : {instruction(spv::OpDecorate, {4, spv::DecorationSpecId, 9}),
                               instruction(spv::OpTypeBool, {3}), instruction(spv::OpSpecConstantFalse, {3, 4})})
        module.insert(module.end(), words.begin(), words.end());
    const SpecConstant yes{9, 1};
    const SpecConstant no{9, 0};
    const Words is_true = with_default_constants(module, std::span(&yes, 1));
    EXPECT_EQ(is_true[module.size() - 3], 3U << 16U | static_cast<std::uint32_t>(spv::OpSpecConstantTrue));
    EXPECT_EQ(with_default_constants(is_true, std::span(&no, 1)), module);
    EXPECT_EQ(with_default_constants(is_true, {}), is_true);
}

}  // namespace
}  // namespace yolk
