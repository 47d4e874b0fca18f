// SPDX-License-Identifier: Apache-2.0
// One small graph for each operation that has a derivative (several where operands are repeated or shared), with inputs
// that stay away from its kinks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "yolk/graph.hpp"
#include "yolk/internal/hyper/control.hpp"

namespace yolk::hyper {

struct DerivativeCase {
    std::string operation;
    std::vector<ValueType> inputs;
    std::function<Result<std::vector<Atom>>(GraphBuilder&, const std::vector<Atom>&)> build;
    double low = -2.0, high = 2.0;  ///< of the inputs
    bool moves = true;              ///< its derivative is not 0 everywhere
    std::string refused{};          ///< a part of the message, where it has no derivative
    std::string note{};             ///< what is special about it
};

inline ValueType tensor(Shape shape) { return {ValueKind::Tensor, std::move(shape)}; }
inline ValueType scalar() { return {ValueKind::Number, {}}; }

/// The operation on all inputs.
inline DerivativeCase plain_case(std::string operation, std::vector<ValueType> inputs, double low = -2.0,
                                 double high = 2.0, Attributes attributes = {}) {
    auto build = [operation, attributes](GraphBuilder& builder,
                                         const std::vector<Atom>& x) -> Result<std::vector<Atom>> {
        return builder.add({.operation = find_operation(operation), .operands = x, .attributes = attributes});
    };
    return {operation, std::move(inputs), build, low, high};
}

inline DerivativeCase still_case(std::string operation, std::vector<ValueType> inputs) {
    DerivativeCase of = plain_case(std::move(operation), std::move(inputs));
    of.moves = false;
    return of;
}

[[nodiscard]] std::vector<DerivativeCase> derivative_cases();

/// Of operations on texts, which no difference shows: how the outputs move, and what comes back, by hand.
struct TextDerivativeCase {
    std::string operation;
    std::function<TracedValues(std::span<const Traced>)> function;
    std::vector<Value> inputs, edits;
    std::vector<Value> moved;     ///< of each output
    std::vector<Value> feedback;  ///< on each output
    std::vector<Value> back;      ///< to each input
};
[[nodiscard]] std::vector<TextDerivativeCase> text_derivative_cases();

/// The graph of a case: inputs "x0", "x1", ...
inline Graph graph_of(const DerivativeCase& of) {
    GraphBuilder builder(of.operation + (of.note.empty() ? "" : ", " + of.note));
    std::vector<Atom> inputs;
    for (std::size_t i = 0; i < of.inputs.size(); ++i)
        inputs.emplace_back(builder.input("x" + std::to_string(i), of.inputs[i]));
    auto outputs = of.build(builder, inputs);
    if (!outputs) return Graph{.name = outputs.error().message};
    return std::move(builder).finish(*std::move(outputs));
}

}  // namespace yolk::hyper
