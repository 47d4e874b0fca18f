// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "check_tools.hpp"
#include "error_bounds.hpp"
#include "exact_math_table.hpp"
#include "yolk/abi/exact_math.h"
#include "yolk/oracle/families.hpp"
#include "yolk/oracle/operation_problem.hpp"
#include "yolk/reference/elementwise.hpp"

namespace yolk::oracle {
namespace {

// Calls element(x, y) for each element in the order of the first operand; y is 0 for unary operations.
template <class Element>
void for_each_element(const ElementwiseDesc& desc, std::span<const float> first, std::span<const float> second,
                      Element&& element) {
    const std::size_t rows = desc.rows, columns = desc.columns;
    for (std::size_t m = 0; m < desc.members; ++m) {
        for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t c = 0; c < columns; ++c) {
                const std::size_t full = (m * rows + r) * columns + c;
                std::size_t where = c;
                if (desc.second == SecondOperand::Full) where = full;
                if (desc.second == SecondOperand::Shared) where = r * columns + c;
                if (desc.second == SecondOperand::MemberRows) where = m * columns + c;
                element(first[full], is_binary(desc.operation) ? second[where] : 0.0F);
            }
        }
    }
}

// Which row of the table of exact functions an operation is; null where it moves bits or is no function of one element.
const ExactFunction* function_of(ElementwiseOperation operation) {
    namespace abi_em = abi::exact_math;
    const auto named = [](std::uint32_t id) { return &*std::ranges::find(exact_functions(), id, &ExactFunction::id); };
    switch (operation) {
        case ElementwiseOperation::Relu: return named(abi_em::kRelu);
        case ElementwiseOperation::Silu: return named(abi_em::kSilu);
        case ElementwiseOperation::Tanh: return named(abi_em::kTanh);
        case ElementwiseOperation::Sigmoid: return named(abi_em::kSigmoid);
        case ElementwiseOperation::Exp: return named(abi_em::kExp);
        case ElementwiseOperation::Log: return named(abi_em::kLog);
        default: return nullptr;
    }
}

OracleValue value_of(const ElementwiseDesc& desc, float first, float second) {
    const double x = first, y = second;
    if (desc.operation == ElementwiseOperation::Gelu) return gelu_oracle(x);
    if (const ExactFunction* function = function_of(desc.operation)) {
        const double value = function->reference(first);
        return {value, function->absolute_error + function->relative_error * std::abs(value)};
    }
    switch (desc.operation) {
        case ElementwiseOperation::Negate: return {0.0 - x, 0.0};
        case ElementwiseOperation::Maximum: return {std::max(x, y), 0.0};
        case ElementwiseOperation::Multiply:
            return {x * y, kFp32Rounding * std::abs(x * y) + kProductFloor * (1.0 + std::abs(x) + std::abs(y))};
        case ElementwiseOperation::Add: return {x + y, kFp32Rounding * std::abs(x + y) + 2.0 * kProductFloor};
        case ElementwiseOperation::Subtract: return {x - y, kFp32Rounding * std::abs(x - y) + 2.0 * kProductFloor};
        case ElementwiseOperation::ScaleShift: {
            const double product = desc.scale * x;
            const double sum = product + desc.shift;
            // The rounding of the product is rounded again with the sum: 1 + 2^-24 of it.
            return {sum, kFp32Rounding * (std::abs(sum) + (1.0 + kFp32Rounding) * std::abs(product)) +
                             kProductFloor * (2.0 + std::abs(static_cast<double>(desc.scale)))};
        }
        default: return {x, 0.0};
    }
}

/// In double, for finite operands whose result is finite. The tolerance counts roundings (one per sum and product) and
/// what the flushes below 2^-100 may take, or is the stated error of the exact function.
std::vector<OracleValue> elementwise_oracle(const ElementwiseDesc& desc, std::span<const float> first,
                                            std::span<const float> second) {
    std::vector<OracleValue> values;
    values.reserve(first.size());
    for_each_element(desc, first, second, [&](float x, float y) { values.push_back(value_of(desc, x, y)); });
    return values;
}

class ElementwiseProblem final : public OperationProblem<ElementwiseDesc> {
   public:
    ElementwiseProblem(const ElementwiseDesc& desc, bool in_place, std::uint64_t seed)
        : OperationProblem(desc, in_place ? "in place" : ""), in_place_(in_place), seed_(seed) {}

    /// In place, the first view is the output.
    [[nodiscard]] std::vector<ProblemBuffer> buffers() const override {
        std::vector<ProblemBuffer> all = OperationProblem::buffers();
        if (!in_place_) return all;
        all.front().role = BufferRole::InOut;
        all.pop_back();
        return all;
    }
    [[nodiscard]] std::vector<Expected> expected() const override {
        const std::vector<float> x = first();
        const std::vector<float> y = second();
        return {
            {.twin = words_of(reference::elementwise_twin(desc(), x, y)), .oracle = elementwise_oracle(desc(), x, y)}};
    }
    [[nodiscard]] Work work() const override {
        const double count = static_cast<double>(desc().members) * desc().rows * desc().columns;
        return {.operations = count, .bytes = 4.0 * (2.0 * count + static_cast<double>(second_count()))};
    }

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        return {bytes_of_values(first()), bytes_of_values(second())};
    }
    [[nodiscard]] ElementwiseViews views_of(const ElementwiseDesc& desc,
                                            std::span<const BufferView> views) const override {
        return {.first = views[0],
                .second = is_binary(desc.operation) ? views[1] : BufferView{},
                .out = in_place_ ? views[0] : views.back()};
    }

   private:
    [[nodiscard]] std::size_t second_count() const {
        if (!is_binary(desc().operation)) return 0;
        const bool per_member = desc().second == SecondOperand::Full || desc().second == SecondOperand::MemberRows;
        const bool per_row = desc().second == SecondOperand::Full || desc().second == SecondOperand::Shared;
        return std::size_t{per_member ? desc().members : 1} * (per_row ? desc().rows : 1) * desc().columns;
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
        return values(std::size_t{desc().members} * desc().rows * desc().columns, 1);
    }
    [[nodiscard]] std::vector<float> second() const { return values(second_count(), 2); }

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

std::unique_ptr<Problem> make_elementwise_problem(const ElementwiseDesc& desc) {
    return std::make_unique<ElementwiseProblem>(desc, false, 1);
}

}  // namespace

// Each operation is a pipeline for each configuration.
const Family& elementwise_family() noexcept {
    static constexpr Family kFamily{.name = "elementwise",
                                    .exactness = "E+P",
                                    .cases = &elementwise_cases,
                                    .benchmarks = &elementwise_benchmarks,
                                    .configurations_per_case = 2,
                                    .operation = &kOperationText<ElementwiseDesc, &make_elementwise_problem>};
    return kFamily;
}

}  // namespace yolk::oracle
