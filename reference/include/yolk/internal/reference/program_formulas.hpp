// SPDX-License-Identifier: Apache-2.0
// Programs of elements and of rows, step by step. A Value is what they are written over: Word, whose bits are the
// kernels', or oracle::Bounded. Found by a Value's namespace: step_value(operation, x) and (operation, x, y) of both
// kinds of operations, chosen(condition, x, y), and reduced(operation, row).
#pragma once

#include <algorithm>
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

/// One value of a program for the elements at hand.
template <class Value>
using ValueRow = std::vector<Value>;

/// What a step makes of them.
template <class Value, class StepOperation>
[[nodiscard]] ValueRow<Value> step_row(StepOperation operation, std::span<const std::uint32_t> operands,
                                       const std::vector<ValueRow<Value>>& values) {
    const ValueRow<Value>& x = values[operands[0]];
    if constexpr (std::is_same_v<StepOperation, RowOperation>) {
        if (is_reduction(operation)) return ValueRow<Value>(x.size(), reduced(operation, x));
    }
    ValueRow<Value> made(x.size());
    for (std::size_t k = 0; k < x.size(); ++k) {
        switch (operands.size()) {
            case 1: made[k] = step_value(operation, x[k]); break;
            case 2: made[k] = step_value(operation, x[k], values[operands[1]][k]); break;
            default: made[k] = chosen(x[k], values[operands[1]][k], values[operands[2]][k]);
        }
    }
    return made;
}

/// The last value, of `count` elements; element k is place(k) of the space.
template <class Value, class Desc, class Place>
[[nodiscard]] ValueRow<Value> program_row(const Desc& desc, const HostViews& views, std::size_t count, Place&& place) {
    std::vector<ValueRow<Value>> values;
    for (std::size_t i = 0; i < desc.inputs.size(); ++i) {
        const std::span<const Value> input = views.in<Value>(i);
        ValueRow<Value>& row = values.emplace_back(count);
        for (std::size_t k = 0; k < count; ++k) row[k] = input[place_in(desc.extents, desc.inputs[i], place(k))];
    }
    for (const float number : desc.numbers) values.emplace_back(count, Value(number));
    for (const auto& step : desc.steps) {
        if constexpr (std::is_same_v<Desc, ElementwiseDesc>) {
            values.push_back(step_row(step.operation, step.operands, values));
        } else {
            values.push_back(
                std::visit([&](auto operation) { return step_row(operation, step.operands, values); }, step.operation));
        }
    }
    return std::move(values.back());
}

template <class Value>
void formula(const ElementwiseDesc& desc, const HostViews& views) {
    constexpr std::size_t kAtOnce = 4096;  // so that values take little memory
    const std::span<Value> out = views.out<Value>(desc.inputs.size());
    for (std::size_t first = 0; first < out.size(); first += kAtOnce) {
        const std::size_t count = std::min(kAtOnce, out.size() - first);
        const auto made = program_row<Value>(desc, views, count, [&](std::size_t k) { return first + k; });
        std::ranges::copy(made, out.subspan(first).begin());
    }
}

/// Rows lie in a space of [outer, columns, inner] elements. What is the same for all of a row is repeated along it.
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
    for (std::size_t row = 0; row < outer * inner; ++row) {
        const std::size_t first = row / inner * columns * inner + row % inner;
        const auto place = [&](std::size_t k) { return first + k * inner; };
        const auto made = program_row<Value>(desc, views, columns, place);
        if (!varies) out[row] = made.front();
        for (std::size_t k = 0; varies && k < columns; ++k) out[place(k)] = made[k];
    }
}

}  // namespace yolk::reference
