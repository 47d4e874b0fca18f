// SPDX-License-Identifier: Apache-2.0
// Modules of the KHR form, as the build has made them from those of the NV form.
#include "khr_form.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string_view>

#include "yolk/shaders/catalogue.hpp"

namespace yolk {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

struct Instruction {
    std::uint32_t opcode = 0;
    std::vector<std::uint32_t> operands;
    friend bool operator==(const Instruction&, const Instruction&) = default;
};

std::vector<Instruction> instructions_of(std::span<const std::uint32_t> spirv) {
    std::vector<Instruction> all;
    for (std::size_t at = 5; at < spirv.size(); at += spirv[at] >> 16U) {
        const auto operands = spirv.subspan(at + 1, (spirv[at] >> 16U) - 1);
        all.push_back({spirv[at] & 0xFFFFU, {operands.begin(), operands.end()}});
    }
    return all;
}

struct Forms {
    const KernelModule* nv;
    const KernelModule* khr;
};
const std::vector<Forms>& forms() {
    static const std::vector<Forms> all{
        {&kernels::kProbeCooperativeNv, &kernels::kProbeCooperativeKhr},
        {&kernels::kMatmulCooperativeNv, &kernels::kMatmulCooperativeKhr},
        {&kernels::kMatmulCooperativeStagedNv, &kernels::kMatmulCooperativeStagedKhr},
    };
    return all;
}

std::string problem_of(std::span<const std::uint32_t> nv) {
    const KhrForm made = to_khr_form(nv);
    EXPECT_EQ(made.spirv.empty(), !made.problem.empty());
    return made.problem;
}

TEST(khr_form, every_kernel_of_the_nv_form_has_one) {
    std::set<const KernelModule*> paired;
    for (const auto& [nv, khr] : forms()) paired.insert({nv, khr});
    for (const KernelModule* kernel : kernels::all()) {
        EXPECT_EQ(paired.contains(kernel), (kernel->needs & (kNeedsCooperativeNv | kNeedsCooperativeKhr)) != 0)
            << kernel->name;
    }
}

TEST(khr_form, embedded_modules_are_what_it_makes_of_those_of_the_nv_form) {
    for (const auto& [nv, khr] : forms()) {
        const KhrForm made = to_khr_form(nv->spirv);
        EXPECT_EQ(made.problem, "") << nv->name;
        EXPECT_EQ(made.spirv, std::vector<std::uint32_t>(khr->spirv.begin(), khr->spirv.end())) << khr->name;
    }
}

// Opcodes from the grammar of SPIR-V: 5358 to 5362 are the NV form, 4456 to 4460 the KHR form, in the same order.
TEST(khr_form, differs_in_types_layouts_and_nothing_else) {
    for (const auto& [nv, khr] : forms()) {
        std::map<std::uint32_t, std::uint32_t> constants;
        for (const Instruction& one : instructions_of(khr->spirv)) {
            EXPECT_FALSE(one.opcode >= 5358 && one.opcode <= 5362) << khr->name;
            if (one.opcode == 43) constants[one.operands[1]] = one.operands[2];
        }
        std::map<std::uint32_t, std::uint32_t> counts;
        std::vector<std::uint32_t> uses;
        for (const Instruction& one : instructions_of(khr->spirv)) {
            ++counts[one.opcode];
            if (one.opcode == 4456) uses.push_back(constants.at(one.operands.at(5)));
        }
        EXPECT_THAT(uses, UnorderedElementsAre(0, 1, 2)) << khr->name << ": a, b and the sums";
        std::map<std::uint32_t, std::uint32_t> of_nv;
        for (const Instruction& one : instructions_of(nv->spirv)) ++of_nv[one.opcode];
        for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(counts[4456 + i], of_nv[5358 + i]) << khr->name << " " << i;
        for (const auto& [opcode, count] : of_nv) {
            if (opcode >= 5358 && opcode <= 5362) continue;
            if (opcode == 43 || opcode == 52)
                EXPECT_GT(counts[opcode], count) << "numbers of uses, and of layouts";
            else
                EXPECT_EQ(counts[opcode], count) << opcode;
        }
    }
}

// What a load of the NV form says is in the load of the KHR form, the layout in front of the stride.
TEST(khr_form, loads_keep_pointer_stride_and_memory_operands) {
    const auto nv = instructions_of(kernels::kMatmulCooperativeNv.spirv);
    const auto khr = instructions_of(kernels::kMatmulCooperativeKhr.spirv);
    std::map<std::uint32_t, std::uint32_t> booleans;  // of the numbers of layouts
    for (const Instruction& one : khr) {
        if (one.opcode == 52 && one.operands[2] == 169) booleans[one.operands[1]] = one.operands[3];
    }
    std::vector<Instruction> loads;
    for (const Instruction& one : khr) {
        if (one.opcode != 4457) continue;
        Instruction back{5359, one.operands};
        back.operands[3] = one.operands[4];
        back.operands[4] = booleans.at(one.operands[3]);
        loads.push_back(back);
    }
    std::vector<Instruction> wanted;
    for (const Instruction& one : nv) {
        if (one.opcode == 5359) wanted.push_back(one);
    }
    EXPECT_THAT(wanted, SizeIs(2));
    EXPECT_EQ(loads, wanted);
}

TEST(khr_form, refuses_what_it_cannot_translate) {
    const auto spirv = kernels::kMatmulCooperativeNv.spirv;
    std::vector<std::uint32_t> words(spirv.begin(), spirv.end());
    EXPECT_THAT(problem_of(words), IsEmpty());
    EXPECT_THAT(problem_of({}), HasSubstr("not a module of SPIR-V"));
    std::vector<std::uint32_t> torn = words;
    torn.push_back(2U << 16U);
    EXPECT_THAT(problem_of(torn), HasSubstr("not a module of SPIR-V"));
    EXPECT_THAT(problem_of(kernels::kConvertWiden.spirv), HasSubstr("multiplies no matrices"));
    EXPECT_THAT(problem_of(kernels::kMatmulCooperativeKhr.spirv), HasSubstr("multiplies no matrices"));
    const auto changed = [&](std::uint32_t opcode, std::size_t operand, std::uint32_t id) {
        std::vector<std::uint32_t> other = words;
        for (std::size_t at = 5; at < other.size(); at += other[at] >> 16U) {
            if ((other[at] & 0xFFFFU) == opcode) other[at + 1 + operand] = id;
        }
        return other;
    };
    EXPECT_THAT(problem_of(changed(5359, 4, 1)), HasSubstr("a layout that is not a constant"));
    for (const Instruction& one : instructions_of(words)) {
        if (one.opcode != 5361) continue;
        EXPECT_THAT(problem_of(changed(5361, 3, one.operands[2])), HasSubstr("is two operands"));
    }
}

}  // namespace
}  // namespace yolk
