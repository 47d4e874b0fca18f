// SPDX-License-Identifier: Apache-2.0
// The calls of hyperfunctions that a run made, with what went in and came out.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "heard_calls.hpp"
#include "tracer.hpp"
#include "yolk/hyper/operations.hpp"

namespace yolk::hyper {

/// Variables of this run, or values.
std::vector<Atom> Tracer::plain_atoms(std::span<const Traced> values) const {
    std::vector<Atom> atoms;
    for (const Traced& value : values)
        atoms.push_back(value.tracer_.get() == this ? Atom(value.variable_) : Atom(value.value_));
    return atoms;
}

/// It never came.
bool Tracer::is_missing(const Atom& atom) const {
    const auto* id = std::get_if<VariableId>(&atom);
    return id != nullptr && is_late(*id);
}

/// "question" of an input, "router" of what that hyperfunction gave, otherwise "input 0".
std::string Tracer::name_of(const Atom& operand, std::size_t index) const {
    if (const auto* id = std::get_if<VariableId>(&operand)) {
        if (const std::string& name = trace_.graph.variables[id->value].name; !name.empty()) return name;
        const auto made = std::find_if(kept_calls_.rbegin(), kept_calls_.rend(),
                                       [&](const KeptCall& call) { return call.result == operand; });
        if (made != kept_calls_.rend()) return made->hyperfunction;
    }
    return fmt::format("input {}", index);
}

Result<std::vector<Value>> Tracer::evaluate_heard(std::size_t index, const Equation& equation,
                                                  std::span<const Value> operands) {
    if (!keeps_calls_ || equation.bodies.empty()) return evaluate_equation(equation, operands);
    HeardCalls heard;
    auto results = evaluate_equation(equation, operands);
    keep_inside(index, std::move(heard.calls()));
    return results;
}

void Tracer::keep_inside(std::size_t index, std::vector<HeardCalls::Call> calls) {
    for (HeardCalls::Call& inside : calls) {
        Call call{.hyperfunction = std::move(inside.hyperfunction), .operands = {}, .result = std::move(inside.result)};
        for (std::size_t i = 0; i < inside.operands.size(); ++i)
            call.operands.emplace_back(fmt::format("input {}", i), std::move(inside.operands[i]));
        calls_in_bodies_.emplace(index, std::move(call));
    }
}

void Tracer::settle_calls() {
    auto inside = calls_in_bodies_.begin();
    const auto append_inside = [&](std::size_t before) {
        for (; inside != calls_in_bodies_.end() && inside->first < before; ++inside)
            calls_made_.push_back(std::move(inside->second));
    };
    for (const KeptCall& kept : kept_calls_) {
        append_inside(kept.position);
        if (std::ranges::any_of(kept.operands, [this](const Atom& atom) { return is_missing(atom); })) continue;
        Call call{.hyperfunction = kept.hyperfunction, .operands = {}, .result = {}};
        for (std::size_t i = 0; i < kept.operands.size(); ++i) {
            std::string name = name_of(kept.operands[i], i);
            const auto is_taken = [&](const auto& operand) { return operand.first == name; };
            while (std::ranges::any_of(call.operands, is_taken)) name += fmt::format(" ({})", i);
            call.operands.emplace_back(std::move(name), value_at(kept.operands[i]));
        }
        if (kept.result && !is_missing(*kept.result)) call.result = value_at(*kept.result);
        calls_made_.push_back(std::move(call));
    }
    append_inside(std::numeric_limits<std::size_t>::max());
    kept_calls_.clear();
    calls_in_bodies_.clear();
}

namespace {

HeardCalls*& listening() {
    thread_local HeardCalls* innermost = nullptr;
    return innermost;
}

}  // namespace

HeardCalls::HeardCalls() : outer_(std::exchange(listening(), this)) {}
HeardCalls::~HeardCalls() { listening() = outer_; }

void HeardCalls::hear(const Equation& equation, std::span<const Value> operands, const Result<Value>& result) {
    if (listening() == nullptr || equation.hyperfunction.empty()) return;
    listening()->calls_.push_back({.hyperfunction = equation.hyperfunction,
                                   .operands = {operands.begin(), operands.end()},
                                   .result = result ? std::optional(*result) : std::nullopt});
}

HostFunctionPtr heard_into(HostFunctionPtr function, std::shared_ptr<std::vector<HeardCalls::Call>> calls) {
    HostFunction heard{.name = function->name, .run = {}, .options = function->options, .stand_in = function->stand_in};
    heard.run = [function = std::move(function), calls = std::move(calls)](const HostCall& call) {
        HeardCalls inside;
        Result<Value> result = function->run(call);
        *calls = std::move(inside.calls());
        return result;
    };
    return std::make_shared<const HostFunction>(std::move(heard));
}

}  // namespace yolk::hyper
