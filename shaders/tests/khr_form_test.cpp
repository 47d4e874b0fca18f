// SPDX-License-Identifier: Apache-2.0
// Modules of the KHR form, as the build has made them from those of the NV form.
#include "khr_form.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "yolk/internal/shaders/catalogue.hpp"

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

std::vector<std::uint32_t> words_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    std::vector<std::uint32_t> words(bytes.size() / sizeof(std::uint32_t));
    if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(words[0]));
    return words;
}

struct Forms {
    const KernelModule* khr;
    std::vector<std::uint32_t> nv;  ///< what the compiler has made of the text
    HalfForm halves;
};
const std::vector<Forms>& forms() {
    static const std::vector<Forms> all = [] {
        constexpr std::uint32_t kNeeds = kNeedsCooperativeKhr | kNeedsCooperativeBf16 | kNeedsCooperativeI8;
        std::vector<Forms> found;
        for (const KernelModule* kernel : kernels::all()) {
            if ((kernel->needs & kNeeds) == 0) continue;
            found.push_back({kernel, words_of(std::string(YOLK_SPIRV_FOLDER "/") + std::string(kernel->name) + ".nv"),
                             kernel->needs == kNeedsCooperativeBf16 ? HalfForm::BF16 : HalfForm::F16});
        }
        return found;
    }();
    return all;
}

std::string problem_of(std::span<const std::uint32_t> nv, HalfForm halves = HalfForm::F16) {
    const KhrForm made = to_khr_form(nv, halves);
    EXPECT_EQ(made.spirv.empty(), !made.problem.empty());
    return made.problem;
}

TEST(khr_form, every_kernel_of_the_nv_form_has_one_of_the_same_text) {
    std::map<std::string, std::span<const std::uint32_t>> embedded;
    for (const KernelModule* kernel : kernels::all()) {
        if (kernel->needs == kNeedsCooperativeNv) embedded[std::string(kernel->name)] = kernel->spirv;
    }
    EXPECT_THAT(embedded, SizeIs(4));
    EXPECT_THAT(forms(), SizeIs(10));
    for (const auto& [name, spirv] : embedded) {
        const auto is_its_own = [&](const Forms& one) {
            return one.khr->needs == kNeedsCooperativeKhr && one.nv == std::vector(spirv.begin(), spirv.end());
        };
        EXPECT_EQ(std::ranges::count_if(forms(), is_its_own), 1) << name;
    }
}

TEST(khr_form, embedded_modules_are_what_it_makes_of_those_of_the_nv_form) {
    for (const auto& [khr, nv, halves] : forms()) {
        const KhrForm made = to_khr_form(nv, halves);
        EXPECT_EQ(made.problem, "") << khr->name;
        EXPECT_EQ(made.spirv, std::vector<std::uint32_t>(khr->spirv.begin(), khr->spirv.end())) << khr->name;
    }
}

// Opcodes from the grammar of SPIR-V: 5358 to 5362 are the NV form, 4456 to 4460 the KHR form, in the same order.
TEST(khr_form, differs_in_types_layouts_and_nothing_else) {
    for (const auto& [khr, nv, halves] : forms()) {
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
        for (const Instruction& one : instructions_of(nv)) ++of_nv[one.opcode];
        for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(counts[4456 + i], of_nv[5358 + i]) << khr->name << " " << i;
        for (const auto& [opcode, count] : of_nv) {
            if (opcode >= 5358 && opcode <= 5362) continue;
            if (opcode == 43 || opcode == 52)
                EXPECT_GT(counts[opcode], count) << "numbers of uses, and of layouts";
            else if (halves == HalfForm::BF16 && (opcode == 10 || opcode == 17))
                EXPECT_EQ(counts[opcode], count + 1) << "bf16 has an extension, and two capabilities for one";
            else
                EXPECT_EQ(counts[opcode], count) << opcode;
        }
    }
}

// Floats of 16 bits say that they are bf16 (encoding 0), and multiplications of integers that all four are signed.
TEST(khr_form, names_bf16_and_signs) {
    for (const auto& [khr, nv, halves] : forms()) {
        std::vector<std::uint32_t> of_floats, of_products;
        for (const Instruction& one : instructions_of(khr->spirv)) {
            if (one.opcode == 22 && one.operands[1] == 16)
                of_floats.assign(one.operands.begin() + 2, one.operands.end());
            if (one.opcode == 4459) of_products.assign(one.operands.begin() + 5, one.operands.end());
        }
        EXPECT_EQ(of_floats, halves == HalfForm::BF16 ? std::vector{0U} : std::vector<std::uint32_t>{}) << khr->name;
        EXPECT_EQ(of_products, khr->needs == kNeedsCooperativeI8 ? std::vector{0xFU} : std::vector<std::uint32_t>{})
            << khr->name;
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
    const auto changed_of = [](std::vector<std::uint32_t> other, std::uint32_t opcode, std::size_t operand,
                               std::uint32_t id) {
        for (std::size_t at = 5; at < other.size(); at += other[at] >> 16U) {
            if ((other[at] & 0xFFFFU) == opcode) other[at + 1 + operand] = id;
        }
        return other;
    };
    const auto changed = [&](std::uint32_t opcode, std::size_t operand, std::uint32_t id) {
        return changed_of(words, opcode, operand, id);
    };
    EXPECT_THAT(problem_of(changed(5359, 4, 1)), HasSubstr("a layout that is not a constant"));
    for (const Instruction& one : instructions_of(words)) {
        if (one.opcode != 5361) continue;
        EXPECT_THAT(problem_of(changed(5361, 3, one.operands[2])), HasSubstr("is two operands"));
    }
    for (const auto& [khr, nv, halves] : forms()) {
        if (khr->needs != kNeedsCooperativeI8) continue;
        EXPECT_THAT(problem_of(changed_of(nv, 21, 2, 0)), HasSubstr("unsigned integers")) << khr->name;
        EXPECT_THAT(problem_of(nv, HalfForm::BF16), HasSubstr("no 16-bit floats")) << khr->name;
    }
    // A constant of the type of 16-bit floats, which is that of the first matrices.
    for (const Instruction& one : instructions_of(words)) {
        if (one.opcode != 22 || one.operands[1] != 16) continue;
        EXPECT_THAT(problem_of(changed(43, 0, one.operands[0]), HalfForm::BF16),
                    HasSubstr("computes with 16-bit floats"));
    }
}

}  // namespace
}  // namespace yolk
