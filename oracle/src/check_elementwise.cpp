// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "check_tools.hpp"
#include "yolk/oracle/check.hpp"
#include "yolk/oracle/elementwise.hpp"

namespace yolk::oracle {
namespace {

const char* layout_name(SecondOperand second) {
    switch (second) {
        case SecondOperand::Full: return "full";
        case SecondOperand::Shared: return "shared";
        case SecondOperand::MemberRows: return "member rows";
        case SecondOperand::Row: return "row";
    }
    return "";
}

class ElementwiseProblem final : public Problem {
   public:
    ElementwiseProblem(const ElementwiseDesc& desc, bool in_place, std::uint64_t seed)
        : desc_(desc), in_place_(in_place), seed_(seed) {}

    [[nodiscard]] std::string name() const override {
        std::string name =
            fmt::format("{} [{}, {}, {}]", to_string(desc_.operation), desc_.members, desc_.rows, desc_.columns);
        if (is_binary(desc_.operation)) name += fmt::format(" with {}", layout_name(desc_.second));
        if (in_place_) name += " in place";
        return name;
    }
    [[nodiscard]] TuningSpace space(const DeviceInfo& info) const override {
        return elementwise_space(info, desc_).space();
    }
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& info) const override {
        return elementwise_space(info, desc_).configuration(default_elementwise_config(info, desc_));
    }
    [[nodiscard]] Result<std::unique_ptr<PlannedProblem>> plan(const Device& device,
                                                               const Configuration& configuration) const override {
        ElementwiseDesc desc = desc_;
        desc.config = elementwise_space(device.info(), desc_).config(configuration);
        YOLK_TRY(ElementwisePlan plan, plan_elementwise(device, desc));
        return planned(std::move(plan),
                       [binary = is_binary(desc_.operation), in_place = in_place_](
                           const ElementwisePlan& of, std::span<const BufferView> views,
                           const BufferView& scratch) -> Result<PlannedProblem::Record> {
                           const BufferView second = binary ? views[1] : BufferView{};
                           const BufferView out = in_place ? views[0] : views.back();
                           YOLK_TRY(BoundElementwise bound,
                                    of.bind({.first = views[0], .second = second, .out = out}, scratch));
                           return recorded(std::move(bound));
                       });
    }
    [[nodiscard]] std::vector<ProblemBuffer> buffers() const override {
        std::vector<ProblemBuffer> buffers;
        const std::vector<float> values = first();
        buffers.push_back(in_place_ ? in_out_buffer("first", values) : input_buffer("first", values));
        if (is_binary(desc_.operation)) buffers.push_back(input_buffer("second", second()));
        if (!in_place_) buffers.push_back(output_buffer("out", sizeof(float) * values.size()));
        return buffers;
    }
    [[nodiscard]] std::vector<Expected> expected() const override {
        const std::vector<float> x = first();
        const std::vector<float> y = second();
        return {{.twin = words_of(elementwise_twin(desc_, x, y)), .oracle = elementwise_oracle(desc_, x, y)}};
    }
    [[nodiscard]] Work work() const override {
        const double count = static_cast<double>(desc_.members) * desc_.rows * desc_.columns;
        return {.operations = count, .bytes = 4.0 * (2.0 * count + static_cast<double>(second_count()))};
    }

   private:
    [[nodiscard]] std::size_t second_count() const {
        if (!is_binary(desc_.operation)) return 0;
        const bool per_member = desc_.second == SecondOperand::Full || desc_.second == SecondOperand::MemberRows;
        const bool per_row = desc_.second == SecondOperand::Full || desc_.second == SecondOperand::Shared;
        return std::size_t{per_member ? desc_.members : 1} * (per_row ? desc_.rows : 1) * desc_.columns;
    }
    // Both signs, the interval of interest, what is flushed, both ends of the range (products stay finite), zeros, one.
    [[nodiscard]] std::vector<float> values(std::size_t count, std::uint32_t stream) const {
        constexpr std::array kSpecial{0.0F,      -0.0F,     1.0F,      -1.0F,   0x1p-101F,
                                      0x1p-100F, 0x1p-126F, 0x1p-140F, 0x1p60F, -0x1p-63F};
        constexpr std::array kScales{4.0F, 4.0F, 4.0F, 100.0F, 0x1p-41F, 0x1p-99F, 0x1p62F};
        Draws draws(seed_, stream);
        std::vector<float> values(count);
        for (float& value : values) {
            value = draws.uniform(-1.0F, 1.0F) * draws.one_of(kScales);
            if (draws.below(16) == 0) value = draws.one_of(kSpecial);
        }
        return values;
    }
    [[nodiscard]] std::vector<float> first() const {
        return values(std::size_t{desc_.members} * desc_.rows * desc_.columns, 1);
    }
    [[nodiscard]] std::vector<float> second() const { return values(second_count(), 2); }

    ElementwiseDesc desc_;
    bool in_place_;
    std::uint64_t seed_;
};

constexpr std::array kUnary{ElementwiseOperation::Copy,      ElementwiseOperation::Relu, ElementwiseOperation::Gelu,
                            ElementwiseOperation::Silu,      ElementwiseOperation::Tanh, ElementwiseOperation::Sigmoid,
                            ElementwiseOperation::Exp,       ElementwiseOperation::Log,  ElementwiseOperation::Negate,
                            ElementwiseOperation::ScaleShift};
constexpr std::array kBinary{ElementwiseOperation::Add, ElementwiseOperation::Subtract, ElementwiseOperation::Multiply,
                             ElementwiseOperation::Maximum};
constexpr std::array kLayouts{SecondOperand::Full, SecondOperand::Shared, SecondOperand::MemberRows,
                              SecondOperand::Row};

struct ElementwiseSize {
    std::uint32_t members, rows, columns;
};

// Empty three ways, one element, tails of one to three, around the default workgroup's 64 and 256 elements, primes.
constexpr auto kElementwiseSizes = std::to_array<ElementwiseSize>({{0, 3, 5},
                                                                   {3, 0, 5},
                                                                   {3, 5, 0},
                                                                   {1, 1, 1},
                                                                   {1, 1, 3},
                                                                   {1, 5, 13},
                                                                   {1, 1, 63},
                                                                   {3, 1, 85},
                                                                   {2, 16, 8},
                                                                   {1, 1, 257},
                                                                   {7, 11, 13}});

Problems elementwise_cases(std::uint64_t seed) {
    Problems problems;
    const auto add = [&](const ElementwiseDesc& desc, bool in_place) {
        problems.push_back(std::make_unique<ElementwiseProblem>(desc, in_place, seed + problems.size()));
    };
    for (std::size_t i = 0; i < kUnary.size(); ++i) {
        add({.operation = kUnary[i], .members = 5, .rows = 23, .columns = 9, .scale = -0.37F, .shift = 1.25F},
            i % 2 == 0);
    }
    add({.operation = ElementwiseOperation::ScaleShift, .members = 1, .rows = 31, .columns = 3, .scale = 0x1p-100F},
        false);
    // Rows that quads divide, and rows that they do not.
    for (const ElementwiseOperation operation : kBinary) {
        for (const SecondOperand second : kLayouts) {
            const std::uint32_t columns =
                second == SecondOperand::Full || operation == ElementwiseOperation::Add ? 7 : 12;
            add({.operation = operation, .members = 3, .rows = 5, .columns = columns, .second = second},
                operation == ElementwiseOperation::Subtract);
        }
    }
    for (const ElementwiseSize& size : kElementwiseSizes) {
        const std::size_t i = problems.size();
        add({.operation = ElementwiseOperation::Gelu,
             .members = size.members,
             .rows = size.rows,
             .columns = size.columns},
            false);
        add({.operation = ElementwiseOperation::Add,
             .members = size.members,
             .rows = size.rows,
             .columns = size.columns,
             .second = kLayouts[i / 2 % kLayouts.size()]},
            true);
    }
    return problems;
}

Problems elementwise_benchmarks() {
    Problems problems;
    for (const ElementwiseOperation operation : {ElementwiseOperation::Gelu, ElementwiseOperation::Add}) {
        problems.push_back(std::make_unique<ElementwiseProblem>(
            ElementwiseDesc{
                .operation = operation, .members = 64, .rows = 64, .columns = 256, .second = SecondOperand::MemberRows},
            false, 1));
    }
    return problems;
}

}  // namespace

std::unique_ptr<Problem> make_elementwise_problem(const ElementwiseDesc& desc) {
    return std::make_unique<ElementwiseProblem>(desc, false, 1);
}

// Each operation is a pipeline for each configuration.
const Family& elementwise_family() noexcept {
    static constexpr Family kFamily{.name = "elementwise",
                                    .exactness = "E+P",
                                    .cases = &elementwise_cases,
                                    .benchmarks = &elementwise_benchmarks,
                                    .configurations_per_case = 2};
    return kFamily;
}

}  // namespace yolk::oracle
