// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "check_tools.hpp"
#include "elementwise_oracle.hpp"
#include "yolk/elementwise.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"

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

std::vector<OracleValue> oracle_values(const ElementwiseDesc& desc, std::span<const float> first,
                                       std::span<const float> second) {
    std::vector<OracleValue> values;
    values.reserve(first.size());
    for_each_element(desc, first, second, [&](float x, float y) { values.push_back(elementwise_oracle(desc, x, y)); });
    return values;
}

class ElementwiseProblem final : public OperationProblem<ElementwiseDesc> {
   public:
    explicit ElementwiseProblem(const ElementwiseDesc& desc, bool in_place = false, std::uint64_t seed = 1)
        : OperationProblem(desc, in_place ? "in place" : ""), in_place_(in_place), seed_(seed) {}

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
        return {bytes_of_values(first()), bytes_of_values(second())};
    }
    [[nodiscard]] double operations() const override { return static_cast<double>(elements(0)); }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& /*made*/) const override {
        return {oracle_values(desc(), given.in<float>(0), given.in<float>(1))};
    }
    [[nodiscard]] ElementwiseViews views_of(const ElementwiseDesc& desc,
                                            std::span<const BufferView> views) const override {
        return {.first = views[0],
                .second = is_binary(desc.operation) ? views[1] : BufferView{},
                .out = in_place_ ? views[0] : views.back()};
    }

   private:
    // Both signs, the interval of interest, what is flushed, both ends of the range (products stay finite), zeros, one.
    [[nodiscard]] std::vector<float> values(std::size_t count, std::uint32_t stream) const {
        constexpr std::array kSpecial{0.0F,      -0.0F,     1.0F,      -1.0F,   0x1p-101F,
                                      0x1p-100F, 0x1p-126F, 0x1p-140F, 0x1p60F, -0x1p-63F};
        constexpr std::array kScales{4.0F, 4.0F, 4.0F, 100.0F, 0x1p-41F, 0x1p-99F, 0x1p62F};
        // Comparisons meet equal operands.
        const std::uint32_t often = desc().operation >= ElementwiseOperation::LessThan ? 2 : 16;
        Draws draws(seed_, stream);
        std::vector<float> values(count);
        for (float& value : values) {
            value = draws.uniform(-1.0F, 1.0F) * draws.one_of(kScales);
            if (draws.below(often) == 0) value = draws.one_of(kSpecial);
        }
        return values;
    }
    // Neither operand makes a NaN: those are tested apart (primitives/tests/elementwise_special_test.cpp).
    [[nodiscard]] std::vector<float> first() const {
        std::vector<float> drawn = values(elements(0), 1);
        const ElementwiseOperation operation = desc().operation;
        if (operation == ElementwiseOperation::Sqrt || operation == ElementwiseOperation::Rsqrt ||
            operation == ElementwiseOperation::Power) {
            for (float& value : drawn) value = std::abs(value);
        }
        return drawn;
    }
    [[nodiscard]] std::vector<float> second() const {
        std::vector<float> drawn = values(is_binary(desc().operation) ? elements(1) : 0, 2);
        if (desc().operation != ElementwiseOperation::Divide) return drawn;
        for (float& value : drawn) {
            if (std::abs(value) < 0x1p-100F) value = 3.0F;
        }
        return drawn;
    }

    bool in_place_;
    std::uint64_t seed_;
};

using Operations = std::vector<ElementwiseOperation>;
Operations all_operations(bool binary) {
    Operations operations;
    for (std::uint32_t id = 0; id < abi::elementwise::kOperationCount; ++id) {
        const auto operation = static_cast<ElementwiseOperation>(id);
        if (is_binary(operation) == binary) operations.push_back(operation);
    }
    return operations;
}
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
    const Operations unary = all_operations(false);
    for (std::size_t i = 0; i < unary.size(); ++i) {
        add({.operation = unary[i], .members = 5, .rows = 23, .columns = 9, .scale = -0.37F, .shift = 1.25F},
            i % 2 == 0);
    }
    add({.operation = ElementwiseOperation::ScaleShift, .members = 1, .rows = 31, .columns = 3, .scale = 0x1p-100F},
        false);
    // Rows that quads divide, and rows that they do not.
    for (const ElementwiseOperation operation : all_operations(true)) {
        for (const SecondOperand second : kLayouts) {
            // The layouts of the later operations are the same code: two of them each.
            const bool is_odd = static_cast<std::uint32_t>(operation) % 2 != 0;
            const bool is_later = operation > ElementwiseOperation::Maximum;
            if (is_later && (second == SecondOperand::Shared || second == SecondOperand::Row) != is_odd) continue;
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
    for (const ElementwiseOperation operation : {ElementwiseOperation::Gelu, ElementwiseOperation::Add,
                                                 ElementwiseOperation::Divide, ElementwiseOperation::Power}) {
        problems.push_back(std::make_unique<ElementwiseProblem>(
            ElementwiseDesc{
                .operation = operation, .members = 64, .rows = 64, .columns = 256, .second = SecondOperand::MemberRows},
            false, 1));
    }
    return problems;
}

}  // namespace

// Each operation is a pipeline for each configuration.
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
