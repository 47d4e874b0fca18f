// SPDX-License-Identifier: Apache-2.0
// Programs of rows as modules: what is written for them is exact and has no branch, and functions that a program does
// not use are not in its module.
#include "yolk/internal/shaders/row_module.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <span>
#include <spirv/unified1/spirv.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/abi/row_program.h"
#include "yolk/internal/shaders/catalogue.hpp"
#include "yolk/internal/shaders/exactness.hpp"

namespace yolk {
namespace {

constexpr std::size_t kHeader = 5;

struct Library {
    std::span<const std::uint32_t> spirv;
    bool is_last = false;  ///< for rows along the last dimension
};
const std::vector<Library>& libraries() {
    static const std::vector<Library> kAll{
        {kernels::kRowProgramByGroup.spirv},      {kernels::kRowProgramByGroup.spirv, true},
        {kernels::kRowProgramByInvocation.spirv}, {kernels::kRowProgramByInvocationTexel.spirv, true},
        {kernels::kRowProgramQuads.spirv, true},  {kernels::kRowProgramQuadsTexel.spirv, true}};
    return kAll;
}

/// Names of functions, as far as their parenthesis.
std::vector<std::string> functions_of(std::span<const std::uint32_t> module) {
    std::vector<std::string> all;
    for (std::size_t at = kHeader; at < module.size(); at += module[at] >> spv::WordCountShift) {
        if ((module[at] & spv::OpCodeMask) != spv::OpName) continue;
        const std::string name(reinterpret_cast<const char*>(&module[at + 2]));
        if (const std::size_t end = name.find('('); end != std::string::npos) all.push_back(name.substr(0, end));
    }
    return all;
}

RowCode::Step step(std::string function, std::vector<std::uint32_t> operands) {
    const bool is_reduction = function == "sum" || function == "max" || function == "min" || function == "argmax";
    return {.function = std::move(function), .operands = std::move(operands), .is_reduction = is_reduction};
}

/// Three inputs, one of which varies along the row and two that do not: 0, 1, 2; one number: 3.
RowCode with_steps(std::vector<RowCode::Step> steps, bool is_last = false) {
    return {.runs = {{{false, false}, true}, {{true, false}, false}},
            .inputs = {{{0}, true}, {{1}, false}, {{}, false}},
            .numbers = 1,
            .steps = std::move(steps),
            .is_last = is_last};
}

void expect_exact(std::span<const std::uint32_t> module) {
    const auto found = find_inexact(module);
    ASSERT_TRUE(found.has_value()) << found.error().message;
    for (const InexactInstruction& one : *found) {
        if (!one.function.starts_with("program_") && !one.function.starts_with("main")) continue;
        EXPECT_TRUE(one.by_parameters) << to_string(one);
    }
}

TEST(row_module, every_reduction_in_every_place_is_exact) {
    for (const auto& [library, is_last] : libraries()) {
        for (const char* const reduction : {"sum", "max", "min", "argmax"}) {
            RowCode code = with_steps({step("row_product", {0, 1}), step(reduction, {4})}, is_last);
            for (std::uint32_t place = 0; place < abi::row_program::kMostReductions; ++place) {
                const auto module = make_row_module(library, code);
                ASSERT_TRUE(module.has_value()) << module.error().message;
                expect_exact(*module);
                const std::string name = std::string("row_") + reduction + "_" + std::to_string(place);
                EXPECT_THAT(functions_of(*module), ::testing::Contains(name));
                code.steps.insert(code.steps.begin() + 1, step("sum", {4}));
                code.steps.back().operands = {4};
            }
        }
    }
}

TEST(row_module, only_what_is_used_is_in_it) {
    for (const auto& [library, is_last] : libraries()) {
        const auto of_rows =
            make_row_module(library, with_steps({step("sum", {0}), step("elementwise_add", {4, 2})}, is_last));
        ASSERT_TRUE(of_rows.has_value()) << of_rows.error().message;
        const std::vector<std::string> functions = functions_of(*of_rows);
        EXPECT_THAT(functions,
                    ::testing::IsSupersetOf({"row_sum_0", "program_term_0", "write_row", "elementwise_add"}));
        for (const char* const other : {"row_max_0", "row_sum_1", "program_term_1", "write_elements", "elementwise_exp",
                                        "row_product", "program_element"})
            EXPECT_THAT(functions, ::testing::Not(::testing::Contains(std::string(other))));
        const auto of_elements =
            make_row_module(library, with_steps({step("max", {0}), step("row_total", {0, 4})}, is_last));
        ASSERT_TRUE(of_elements.has_value()) << of_elements.error().message;
        EXPECT_THAT(functions_of(*of_elements), ::testing::IsSupersetOf({"write_elements", "program_element"}));
        EXPECT_THAT(functions_of(*of_elements), ::testing::Not(::testing::Contains(std::string("write_row"))));
    }
}

TEST(row_module, values_of_rows_do_not_vary) {
    const RowCode code = with_steps({step("elementwise_multiply", {1, 3}), step("max", {0}),
                                     step("row_difference", {0, 5}), step("elementwise_add", {5, 4})});
    EXPECT_EQ(varies_along_row(code), (std::vector<bool>{true, false, false, false, false, false, true, false}));
}

TEST(row_module, what_it_cannot_be_made_of_is_refused) {
    const auto message = [](std::span<const std::uint32_t> library, const RowCode& code) {
        const auto made = make_row_module(library, code);
        return made ? std::string("made") : made.error().message;
    };
    const std::span<const std::uint32_t> library = libraries()[0].spirv;
    const RowCode sum = with_steps({step("sum", {0})});
    EXPECT_EQ(message(library, sum), "made");
    EXPECT_THAT(message(library, with_steps({step("elementwise_add", {0, 1})})), ::testing::HasSubstr("0 reductions"));
    EXPECT_THAT(message(library, with_steps(std::vector(5, step("sum", {0})))), ::testing::HasSubstr("5 reductions"));
    EXPECT_THAT(message(library, with_steps({step("sum", {0}), step("no_such", {4})})),
                ::testing::HasSubstr("'no_such' with 1 operands"));
    EXPECT_THAT(message(library, with_steps({step("sum", {0}), step("elementwise_add", {4})})),
                ::testing::HasSubstr("'elementwise_add' with 1 operands"));
    EXPECT_THAT(message(kernels::kRowProgramQuads.spirv, sum), ::testing::HasSubstr("only along the last dimension"));
    EXPECT_THAT(message({}, sum), ::testing::HasSubstr("no SPIR-V"));
    EXPECT_THAT(message(kernels::kElementwise.spirv, sum), ::testing::HasSubstr("lacks a part"));
    EXPECT_NE(message(library.first(library.size() / 2), sum), "made");
}

}  // namespace
}  // namespace yolk
