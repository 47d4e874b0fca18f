// SPDX-License-Identifier: Apache-2.0
// Programs of elements as modules: each operation, alone and in a long chain, is exact and has no branch of its own.
// SwiftShader's compiler takes twice as long for each branch in a loop.
#include "yolk/internal/shaders/element_module.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <span>
#include <spirv/unified1/spirv.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/shaders/catalogue.hpp"
#include "yolk/internal/shaders/exactness.hpp"

namespace yolk {
namespace {

constexpr std::size_t kHeader = 5;
constexpr std::size_t kOperations = 30;  // of exact_operations.h

struct ElementFunction {
    std::string name;
    std::size_t operands = 1;
};

/// The library's functions by their names: "elementwise_add(u1;u1;".
std::vector<ElementFunction> element_functions(std::span<const std::uint32_t> library) {
    constexpr std::string_view kPrefix = "elementwise_", kOperand = "u1;";
    std::vector<ElementFunction> all;
    for (std::size_t at = kHeader; at < library.size(); at += library[at] >> spv::WordCountShift) {
        if ((library[at] & spv::OpCodeMask) != spv::OpName) continue;
        const std::string name(reinterpret_cast<const char*>(&library[at + 2]));
        const std::size_t end = name.find('(');
        if (!name.starts_with(kPrefix) || end == std::string::npos) continue;
        const std::string word = name.substr(kPrefix.size(), end - kPrefix.size());
        all.push_back({word, (name.size() - end - 1) / kOperand.size()});
    }
    return all;
}

/// Each step on the one before it.
ElementCode chain_of(const ElementFunction& function, std::uint32_t steps) {
    ElementCode code{.runs = {{}}, .inputs = {{.runs = {0}}}, .steps = {}};
    for (std::uint32_t s = 0; s < steps; ++s)
        code.steps.push_back({function.name, std::vector<std::uint32_t>(function.operands, s)});
    return code;
}

std::size_t branches_of(const std::vector<std::uint32_t>& module) {
    std::size_t count = 0;
    for (std::size_t at = kHeader; at < module.size(); at += module[at] >> spv::WordCountShift)
        count += (module[at] & spv::OpCodeMask) == spv::OpSelectionMerge ? 1U : 0U;
    return count;
}

TEST(element_module, steps_are_exact_and_have_no_branches) {
    constexpr std::size_t kOfMain = 1;  // an invocation behind the last element returns
    for (const auto library : {kernels::kElementwise.spirv, kernels::kElementwiseQuads.spirv,
                               kernels::kElementwiseTexel.spirv, kernels::kElementwiseQuadsTexel.spirv}) {
        const std::vector<ElementFunction> functions = element_functions(library);
        EXPECT_EQ(functions.size(), kOperations);
        for (const ElementFunction& function : functions) {
            for (const std::uint32_t steps : {1U, 64U}) {
                ElementCode code = chain_of(function, steps);
                code.is_unrolled = steps == 1;
                const auto module = make_element_module(library, code);
                ASSERT_TRUE(module.has_value()) << function.name << ": " << module.error().message;
                EXPECT_EQ(branches_of(*module), kOfMain) << function.name << ", " << steps;
                const auto found = find_inexact(*module);
                ASSERT_TRUE(found.has_value());
                for (const InexactInstruction& one : *found)
                    EXPECT_TRUE(one.by_parameters) << function.name << ": " << to_string(one);
            }
        }
    }
}

TEST(element_module, what_it_cannot_be_made_of_is_refused) {
    const auto message = [](std::span<const std::uint32_t> library, const ElementCode& code) {
        const auto made = make_element_module(library, code);
        return made ? std::string("made") : made.error().message;
    };
    const std::span<const std::uint32_t> library = kernels::kElementwise.spirv;
    const ElementCode sum = chain_of({"add", 2}, 1);
    EXPECT_EQ(message(library, sum), "made");
    EXPECT_THAT(message(library, chain_of({"no_such"}, 1)), ::testing::HasSubstr("no_such"));
    EXPECT_THAT(message(library, {}), ::testing::HasSubstr("0 inputs and 0 steps"));
    EXPECT_THAT(message({}, sum), ::testing::HasSubstr("no SPIR-V"));
    EXPECT_NE(message(library.first(library.size() / 2), sum), "made");
}

}  // namespace
}  // namespace yolk
