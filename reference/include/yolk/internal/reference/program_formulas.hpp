// SPDX-License-Identifier: Apache-2.0
// Programs of elements and of rows, step by step. A Value is what they are written over: Word, whose bits are the
// kernels', or oracle::Bounded. Found by a Value's namespace: step_value(operation, x) and (operation, x, y) of both
// kinds of operations, chosen(condition, x, y), and reduced(operation, row).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "yolk/elementwise.hpp"
#include "yolk/row_program.hpp"
#include "yolk/twin.hpp"

namespace yolk::reference {

/// Where element `element` of a space lies in an input that lacks some of its dimensions.
[[nodiscard]] inline std::size_t place_in(std::span<const std::uint32_t> extents, std::uint32_t dimensions,
                                          std::size_t element) {
    std::size_t place = 0, stride = 1;
    for (std::size_t d = extents.size(); d-- > 0; element /= extents[d]) {
        if ((dimensions >> d & 1U) == 0) continue;
        place += element % extents[d] * stride;
        stride *= extents[d];
    }
    return place;
}

/// A program's values at one element, as kernels have them: what a step reads is computed again for each reduction, so
/// that only the row of one takes memory.
template <class Value, class Desc>
class ProgramElement {
   public:
    ProgramElement(const Desc& desc, const HostViews& views)
        : desc_(desc), views_(views), first_step_(desc.inputs.size() + desc.numbers.size()) {
        values_.resize(first_step_ + desc.steps.size());
        for (std::size_t n = 0; n < desc.numbers.size(); ++n) values_[desc.inputs.size() + n] = Value(desc.numbers[n]);
    }
    /// Value `number`, of an element of the space. What it needs of reductions must have been set.
    [[nodiscard]] Value at(std::size_t number, std::size_t element) {
        for (std::size_t i = 0; i < desc_.inputs.size(); ++i)
            values_[i] = Value(views_.in<float>(i)[place_in(desc_.extents, desc_.inputs[i], element)]);
        for (std::size_t v = first_step_; v <= number; ++v) {
            const auto& step = desc_.steps[v - first_step_];
            if constexpr (std::is_same_v<Desc, ElementwiseDesc>) {
                values_[v] = made(step.operation, step.operands);
            } else if (!is_reduction(step)) {
                values_[v] = std::visit([&](auto operation) { return made(operation, step.operands); }, step.operation);
            }
        }
        return values_[number];
    }
    [[nodiscard]] std::size_t last() const { return values_.size() - 1; }
    [[nodiscard]] std::size_t of_step(std::size_t step) const { return first_step_ + step; }
    /// What a reduction gives for the row at hand.
    void set(std::size_t number, Value value) { values_[number] = value; }

   private:
    template <class StepOperation>
    [[nodiscard]] Value made(StepOperation operation, std::span<const std::uint32_t> operands) const {
        const Value& x = values_[operands[0]];
        if (operands.size() == 1) return step_value(operation, x);
        const Value& y = values_[operands[1]];
        return operands.size() == 2 ? step_value(operation, x, y) : chosen(x, y, values_[operands[2]]);
    }

    const Desc& desc_;
    const HostViews& views_;
    std::size_t first_step_;
    std::vector<Value> values_;
};

template <class Value>
void formula(const ElementwiseDesc& desc, const HostViews& views) {
    const std::span<Value> out = views.out<Value>(desc.inputs.size());
    ProgramElement<Value, ElementwiseDesc> element(desc, views);
    for (std::size_t e = 0; e < out.size(); ++e) out[e] = element.at(element.last(), e);
}

/// Rows lie in a space of [outer, columns, inner] elements.
template <class Value>
void formula(const RowProgramDesc& desc, const HostViews& views) {
    const std::size_t columns = desc.extents[desc.row];
    std::size_t outer = 1, inner = 1;
    for (std::size_t d = 0; d < desc.extents.size(); ++d) {
        if (d < desc.row) outer *= desc.extents[d];
        if (d > desc.row) inner *= desc.extents[d];
    }
    const std::span<Value> out = views.out<Value>(desc.inputs.size());
    if (columns == 0 || out.empty()) return;
    const bool varies = varies_along_row(desc).back();
    ProgramElement<Value, RowProgramDesc> element(desc, views);
    std::vector<Value> reduced_row(columns);
    for (std::size_t row = 0; row < outer * inner; ++row) {
        const auto place = [&, first = row / inner * columns * inner + row % inner](std::size_t k) {
            return first + k * inner;
        };
        for (std::size_t s = 0; s < desc.steps.size(); ++s) {
            if (!is_reduction(desc.steps[s])) continue;
            for (std::size_t k = 0; k < columns; ++k) reduced_row[k] = element.at(desc.steps[s].operands[0], place(k));
            element.set(element.of_step(s), reduced(std::get<RowOperation>(desc.steps[s].operation), reduced_row));
        }
        if (!varies) out[row] = element.at(element.last(), place(0));
        for (std::size_t k = 0; varies && k < columns; ++k) out[place(k)] = element.at(element.last(), place(k));
    }
}

}  // namespace yolk::reference
