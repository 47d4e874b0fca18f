// SPDX-License-Identifier: Apache-2.0
// Operations on traced values: recorded where one of them is traced, computed at once otherwise.
#include "tracer.hpp"
#include "yolk/internal/hyper/foreign_code.hpp"
#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper {
namespace {

/// What an operation comes back with after an error: a tensor where one went in, so that a function that goes on finds
/// the kind of value it expects.
Value stand_in_for(std::span<const Traced> operands) {
    for (const Traced& operand : operands) {
        if (Tracer::known_value_of(operand).tensor() != nullptr) return Tensor::filled({1}, 0.0F);
    }
    return 0.0;
}

}  // namespace

std::shared_ptr<Tracer> tracer_for(std::span<const Traced> operands) {
    // The run that goes on comes first: it is the one that can say that a value is another's.
    if (auto current = Tracer::current()) return current;
    for (const Traced& operand : operands) {
        if (Tracer::tracer_of(operand) != nullptr) return Tracer::tracer_of(operand);
    }
    return nullptr;
}

std::vector<Traced> apply(std::string_view name, std::span<const Traced> operands, Attributes attributes,
                          std::size_t result_count, Line line) {
    Equation equation{.operation = find_operation(name), .attributes = std::move(attributes)};
    if (line.line() > 0) equation.made_at = line;
    bool literal = true;
    for (const Traced& operand : operands) literal = literal && Tracer::tracer_of(operand) == nullptr;
    const auto tracer = tracer_for(operands);
    // What has effects (a factor) belongs to the run, even where it is a literal.
    const bool belongs = tracer != nullptr && equation.operation != nullptr && equation.operation->has_effects;
    if (!literal || belongs) return tracer->record(std::move(equation), operands, result_count, stand_in_for(operands));
    std::vector<Value> values;
    for (const Traced& operand : operands) values.push_back(Tracer::value_of(operand));
    auto results = evaluate_equation(equation, values);
    if (results) return {results->begin(), results->end()};
    return refuse(std::move(results).error(), operands, result_count);
}

std::vector<Traced> refuse(Error error, std::span<const Traced> operands, std::size_t result_count) {
    const auto tracer = tracer_for(operands);
    const Value stand_in = stand_in_for(operands);
    const auto holder = tracer != nullptr ? tracer : Tracer::failed(error);
    holder->stick(std::move(error));
    // A literal cannot say that it is none, so outside a trace the value belongs to the tracer that holds the error.
    if (tracer == nullptr) return std::vector<Traced>(result_count, holder->input("error", stand_in));
    return std::vector<Traced>(result_count, Traced(stand_in));
}

Traced apply(std::string_view name, std::initializer_list<Traced> operands, Attributes attributes, Line line) {
    return apply(name, std::span(operands.begin(), operands.size()), std::move(attributes), 1, line)[0];
}

const Error* error_of(const Traced& value) {
    const auto& tracer = Tracer::tracer_of(value);
    return tracer != nullptr && tracer->error() ? &*tracer->error() : nullptr;
}

const Value* literal_of(const Traced& value) {
    return Tracer::tracer_of(value) == nullptr ? &Tracer::known_value_of(value) : nullptr;
}

std::optional<Error> take_error(std::span<const Traced> results) {
    const auto tracer = tracer_for(results);
    return tracer != nullptr ? tracer->take_error() : std::nullopt;
}

}  // namespace yolk::hyper
