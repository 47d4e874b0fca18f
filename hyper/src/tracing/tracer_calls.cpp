// SPDX-License-Identifier: Apache-2.0
// The calls that a run made, with what went in and came out, by the texts that they used.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "heard_calls.hpp"
#include "tracer.hpp"
#include "used_texts.hpp"
#include "yolk/internal/hyper/operations.hpp"
#include "yolk/models.hpp"

namespace yolk::hyper {
namespace {

using Operands = std::vector<std::pair<std::string, Value>>;

void add_operand(Operands& operands, std::string name, const Value& value, std::size_t index) {
    const auto is_taken = [&](const auto& operand) { return operand.first == name; };
    while (std::ranges::any_of(operands, is_taken)) name += fmt::format(" ({})", index);
    operands.emplace_back(std::move(name), value);
}

/// Of a model's call its messages; `all` has the parameters first.
Operands messages_of(const ModelCall& model, std::span<const Value> all) {
    Operands operands;
    for (std::size_t i = 0; i < model.roles.size() && model.first_message() + i < all.size(); ++i)
        add_operand(operands, model.roles[i], all[model.first_message() + i], i);
    return operands;
}

std::string name_of_call(const std::string& hyperfunction, const HostFunctionPtr& host) {
    if (host == nullptr || host->model == nullptr) return hyperfunction;
    std::string name = host->model->schema ? "schema_call" : "model_call";
    if (!host->model->model.empty()) name += " of " + host->model->model;
    return host->model->tags.empty() ? name : fmt::format("{} [{}]", name, fmt::join(host->model->tags, ", "));
}

}  // namespace

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
        const auto made = std::find_if(kept_calls_.rbegin(), kept_calls_.rend(), [&](const KeptCall& call) {
            return call.result == operand && (call.host == nullptr || call.host->model == nullptr);
        });
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
    for (HeardCalls::Call& inside : calls) calls_in_bodies_.emplace(index, std::move(inside));
}

std::optional<std::size_t> Tracer::keep(const Equation& equation) {
    if (!keeps_calls_ || equation.host == nullptr) return std::nullopt;
    kept_calls_.push_back({.hyperfunction = equation.hyperfunction,
                           .host = equation.host,
                           .operands = equation.operands,
                           .position = trace_.graph.equations.size()});
    return kept_calls_.size() - 1;
}

Tracer::Call Tracer::settled_call(const KeptCall& kept) const {
    Call call{.name = name_of_call(kept.hyperfunction, kept.host), .operands = {}, .result = {}};
    std::vector<Value> values;
    for (const Atom& operand : kept.operands) values.push_back(value_at(operand));
    if (kept.host != nullptr && kept.host->model != nullptr) {
        call.operands = messages_of(*kept.host->model, values);
    } else {
        const std::size_t first = kept.host != nullptr ? 1 : 0;
        for (std::size_t i = first; i < values.size(); ++i)
            add_operand(call.operands, name_of(kept.operands[i], i - first), values[i], i - first);
    }
    if (kept.result && !is_missing(*kept.result)) call.result = value_at(*kept.result);
    return call;
}

namespace {

Tracer::Call call_inside(const HeardCalls::Call& heard) {
    const Equation& equation = *heard.equation;
    Tracer::Call call{
        .name = name_of_call(equation.hyperfunction, equation.host), .operands = {}, .result = heard.result};
    if (equation.host->model != nullptr) {
        std::vector<Value> all{Value("")};  // where parameters are
        all.insert(all.end(), heard.operands.begin(), heard.operands.end());
        call.operands = messages_of(*equation.host->model, all);
        return call;
    }
    for (std::size_t i = 0; i < heard.operands.size(); ++i)
        add_operand(call.operands, fmt::format("input {}", i), heard.operands[i], i);
    return call;
}

}  // namespace

Tracer::UsedText Tracer::calls_of(const GraphParameter& text, const Atom& output) const {
    const CarriedText carried =
        carried_from(trace_.graph, text.variable, failed_equation_ ? &*failed_equation_ : nullptr);
    UsedText used{.group = text.group, .calls = {}};
    auto inside = calls_in_bodies_.begin();
    const auto append_inside = [&](std::size_t before) {
        for (; inside != calls_in_bodies_.end() && inside->first < before; ++inside) {
            if (carried.readers.contains(inside->second.equation)) used.calls.push_back(call_inside(inside->second));
        }
    };
    std::vector<Atom> answers;  // of its own hyperfunction's calls: what a call inside of one gave is not said twice
    for (const KeptCall& kept : kept_calls_) {
        append_inside(kept.position);
        if (std::ranges::any_of(kept.operands, [this](const Atom& atom) { return is_missing(atom); })) continue;
        const auto has_it = [&](const Atom& atom) { return carried.has(atom); };
        const bool is_own = kept.host == nullptr && kept.hyperfunction == text.group;
        // What only makes a text of the text tells nothing: the calls that are given it do.
        const bool uses = kept.host != nullptr ? std::ranges::any_of(kept.operands, has_it)
                                               : is_own && !(kept.result && has_it(*kept.result));
        if (!uses || (kept.result && std::ranges::find(answers, *kept.result) != answers.end())) continue;
        if (is_own && kept.result) answers.push_back(*kept.result);
        used.calls.push_back(settled_call(kept));
    }
    append_inside(std::numeric_limits<std::size_t>::max());
    if (used.calls.empty() && !carried.has(output)) used.group.clear();
    return used;
}

void Tracer::settle_calls(const Traced& output) {
    const Atom answer = plain_atoms(std::span(&output, 1)).front();
    for (const GraphParameter& parameter : trace_.graph.parameters) {
        if (!keeps_calls_ || trace_.graph.variables[parameter.variable.value].type.kind != ValueKind::Text) continue;
        if (UsedText used = calls_of(parameter, answer); !used.group.empty()) used_texts_.push_back(std::move(used));
    }
    kept_calls_.clear();
    calls_in_bodies_.clear();
    failed_equation_.reset();
}

}  // namespace yolk::hyper
