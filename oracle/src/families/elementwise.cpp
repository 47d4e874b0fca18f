// SPDX-License-Identifier: Apache-2.0
#include "yolk/elementwise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "check_tools.hpp"
#include "program_oracle.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"

namespace yolk::oracle {
namespace {

class ElementwiseProblem final : public OperationProblem<ElementwiseDesc> {
   public:
    explicit ElementwiseProblem(const ElementwiseDesc& desc, std::uint64_t seed = 1, bool in_place = false)
        : OperationProblem(desc, in_place ? "in place" : ""), seed_(seed), in_place_(in_place) {}

    [[nodiscard]] Work work() const override { return count(~0U) == 0 ? Work{} : OperationProblem::work(); }
    /// In place, the first view is the output.
    [[nodiscard]] std::vector<ProblemBuffer> buffers() const override {
        std::vector<ProblemBuffer> all = OperationProblem::buffers();
        if (!in_place_) return all;
        all.front().role = BufferRole::InOut;
        all.pop_back();
        return all;
    }

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        std::vector<ByteVector> all;
        for (const std::uint32_t dimensions : desc().inputs) {
            const auto stream = static_cast<std::uint32_t>(all.size() + 1);
            all.push_back(bytes_of_values(desc().steps.size() == 1 ? drawn_for_one(count(dimensions), stream)
                                                                   : drawn(count(dimensions), stream)));
        }
        return all;
    }
    [[nodiscard]] double operations() const override { return static_cast<double>(count(~0U) * desc().steps.size()); }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& /*made*/) const override {
        return {program_bounds(desc(), given, count(~0U))};
    }
    [[nodiscard]] ElementType element(const ViewShape& /*shape*/) const override { return ElementType::F32; }
    [[nodiscard]] ElementwiseViews views_of(const ElementwiseDesc& desc,
                                            std::span<const BufferView> views) const override {
        return {.inputs = views.first(desc.inputs.size()), .out = in_place_ ? views[0] : views.back()};
    }

   private:
    [[nodiscard]] std::size_t count(std::uint32_t dimensions) const {
        std::size_t product = 1;
        for (std::size_t d = 0; d < desc().extents.size(); ++d)
            product *= (dimensions >> d & 1U) != 0 ? desc().extents[d] : 1;
        return product;
    }
    /// Both signs, zeros, one, what is flushed: with these the steps of the table stay finite.
    [[nodiscard]] std::vector<float> drawn(std::size_t wanted, std::uint32_t stream) const {
        constexpr std::array kSpecial{0.0F, -0.0F, 1.0F, -1.0F, 0x1p-101F, 0x1p-126F, 0x1p-140F, 2.5F};
        Draws draws(seed_, stream);
        std::vector<float> values = draws.uniforms(wanted, -4.0F, 4.0F);
        for (float& value : values) value = draws.below(8) == 0 ? draws.one_of(kSpecial) : value;
        return values;
    }
    /// For one operation also both ends of the range (products stay finite). No operand makes a NaN: those are tested
    /// apart (primitives/tests/elementwise_special_test.cpp).
    [[nodiscard]] std::vector<float> drawn_for_one(std::size_t wanted, std::uint32_t stream) const {
        using enum ElementwiseOperation;
        constexpr std::array kSpecial{0.0F,      -0.0F,     1.0F,      -1.0F,   0x1p-101F,
                                      0x1p-100F, 0x1p-126F, 0x1p-140F, 0x1p60F, -0x1p-63F};
        constexpr std::array kScales{4.0F, 4.0F, 4.0F, 100.0F, 0x1p-41F, 0x1p-99F, 0x1p62F};
        const ElementwiseOperation operation = desc().steps[0].operation;
        const std::uint32_t often = operation >= LessThan ? 2 : 16;  // comparisons meet equal operands, `where` zeros
        const bool are_positive = stream == 1 && (operation == Sqrt || operation == Rsqrt || operation == Power);
        Draws draws(seed_, stream);
        std::vector<float> values(wanted);
        for (float& value : values) {
            value = draws.uniform(-1.0F, 1.0F) * draws.one_of(kScales);
            if (draws.below(often) == 0) value = draws.one_of(kSpecial);
            if (are_positive) value = std::abs(value);
            if (stream == 2 && operation == Divide && std::abs(value) < 0x1p-100F) value = 3.0F;
        }
        return values;
    }

    std::uint64_t seed_;
    bool in_place_;
};

// Every operation, behind others; each way in which an input may lie. Empty three ways, one element, tails of one to
// three, around the default workgroup's 64 and 256 elements, primes, quads and not; as many dimensions, inputs and
// steps as are allowed.
constexpr auto kProgramCases = std::to_array<std::string_view>({
    "extents=0-3-5 inputs=7,4 steps=add:0:1,relu:2",
    "extents=3-0-5 inputs=7,4 steps=add:0:1,relu:2",
    "extents=3-5-0 inputs=7,4 steps=add:0:1,relu:2",
    "extents=3-0-5 inputs=7 steps=gelu:0",
    "extents=1 inputs=1 steps=negate:0",
    "extents=3 inputs=1 steps=tanh:0,copy:1",
    "extents=63 inputs=1,1 steps=multiply:0:1,sigmoid:2",
    "extents=64 inputs=1,0 steps=multiply:0:1,silu:2",
    "extents=65 inputs=1,1 steps=subtract:0:1,gelu:2",
    "extents=255 inputs=1,1 steps=add:0:1,sin:2,cos:3",
    "extents=257 inputs=1,1 steps=add:0:1,exp:2,log:3",
    "extents=256 inputs=1,1 steps=maximum:0:1,minimum:2:0,absolute:3",
    "extents=7-11-13 inputs=7,3,4 steps=subtract:0:1,multiply:3:2,floor:4,round:3,subtract:6:5",
    "extents=3-5-12 inputs=7,6,5 steps=absolute:1,sqrt:3,add:4:2,multiply:5:0",
    "extents=3-5-8 inputs=3,5,0 steps=multiply:0:0,exp:1,add:3:4,rsqrt:5,multiply:6:2",
    "extents=5-23-9 inputs=7,2 steps=exp:1,divide:0:2,tanh:3",
    "extents=4-6-4 inputs=7,4,1 steps=sigmoid:0,sigmoid:1,power:3:4,multiply:5:2",
    "extents=31-4 inputs=3,3,2 steps=less_than:0:1,less_or_equal:1:2,maximum:3:4,where:5:0:1",
    "extents=31-3 inputs=3,3,2 steps=greater_than:0:1,greater_or_equal:1:2,minimum:3:4,where:5:2:1",
    "extents=16-16 inputs=3,2,0 steps=equal_to:0:1,not_equal_to:0:2,subtract:3:4,where:0:5:1",
    "extents=2-3-2-3-2-3 inputs=63,41,10 steps=add:0:1,multiply:3:2,maximum:4:1",
    "extents=2-1-2-1-2-1-2-1-2-1-2-1-2-1-2-3 inputs=65535,65280,255 steps=subtract:0:1,multiply:3:2,sigmoid:4",
    "extents=5-4 inputs=3,1,2,0,3,1,2,0,3,1,2,0,3,1,2 steps=add:0:1,add:15:2,add:16:3,add:17:4,add:18:5,add:19:6,"
    "add:20:7,add:21:8,add:22:9,add:23:10,add:24:11,add:25:12,add:26:13,add:27:14",
    "extents=17-5 inputs=3 numbers=1 steps=multiply:0:1",
    "extents=17-8 inputs=3,1 numbers=4 steps=multiply:0:2,add:6:3,where:1:7:4,maximum:8:5",
});

ElementwiseDesc program_of(std::string_view text) {
    ElementwiseDesc desc = operation_of<ElementwiseDesc>().fields.parse(text).value();
    constexpr std::array kNumbers{-0.37F, 1.25F, 0x1p-100F, -0.0F};
    std::copy_n(kNumbers.begin(), desc.numbers.size(), desc.numbers.begin());
    return desc;
}

/// All steps are ones that drivers compile quickly.
ElementwiseDesc longest_program() {
    ElementwiseDesc desc{.extents = {9, 12}, .inputs = {3, 2}};
    while (desc.steps.size() < kMostProgramSteps) {
        const auto last = static_cast<std::uint32_t>(desc.inputs.size() + desc.steps.size()) - 1;
        const bool is_even = desc.steps.size() % 2 == 0;
        desc.steps.push_back(is_even ? ElementwiseStep{ElementwiseOperation::Subtract, {0, last}}
                                     : ElementwiseStep{ElementwiseOperation::Absolute, {last}});
    }
    return desc;
}

/// Every operation alone, with operands that are whole and that are repeated, of lengths that quads divide and that
/// they do not.
std::vector<ElementwiseDesc> single_steps() {
    constexpr std::array<std::uint32_t, 4> kLies{7, 6, 5, 4};
    std::vector<ElementwiseDesc> all;
    for (std::uint32_t number = 0; number < enum_words(ElementwiseOperation{}).size(); ++number) {
        const std::uint32_t columns = number % 2 == 0 ? 9 : 12;
        ElementwiseDesc desc = one_step(static_cast<ElementwiseOperation>(number), {5, 23, columns});
        for (std::size_t i = 1; i < desc.inputs.size(); ++i) desc.inputs[i] = kLies[(number + i) % kLies.size()];
        all.push_back(std::move(desc));
    }
    return all;
}

Problems elementwise_cases(std::uint64_t seed) {
    Problems problems;
    const auto add = [&](const ElementwiseDesc& desc, bool in_place) {
        problems.push_back(std::make_unique<ElementwiseProblem>(desc, seed + problems.size(), in_place));
    };
    for (const std::string_view text : kProgramCases) add(program_of(text), false);
    add(longest_program(), false);
    for (const ElementwiseDesc& desc : single_steps()) add(desc, problems.size() % 2 == 0);
    return problems;
}

Problems elementwise_benchmarks() {
    return problems_of<ElementwiseProblem>(
        {program_of("extents=4096-256 inputs=3,3,2 steps=multiply:0:1,add:3:2,silu:4"),
         program_of("extents=64-64-256 inputs=7,3,3,4,4 steps=subtract:0:1,multiply:5:2,multiply:6:3,add:7:4,gelu:8"),
         program_of("extents=64-64-256 inputs=7,5 steps=add:0:1"),
         program_of("extents=64-64-256 inputs=7 steps=gelu:0"),
         program_of("extents=64-64-256 inputs=7,5 steps=divide:0:1"),
         program_of("extents=64-64-256 inputs=7,5 steps=power:0:1"),
         program_of("extents=64-64-256 inputs=6,7,7 steps=where:0:1:2")});
}

}  // namespace

const Family& elementwise_family() noexcept {
    static constexpr Family kFamily{.name = "elementwise",
                                    .exactness = "E+P",
                                    .cases = &elementwise_cases,
                                    .benchmarks = &elementwise_benchmarks,
                                    .configurations_per_case = 2,
                                    .operation = &kOperationText<ElementwiseDesc, &make_problem<ElementwiseProblem>>};
    return kFamily;
}

}  // namespace yolk::oracle
