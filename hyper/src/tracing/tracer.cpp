// SPDX-License-Identifier: Apache-2.0
#include "tracer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "caught.hpp"
#include "equations.hpp"
#include "group_value.hpp"
#include "outputs.hpp"
#include "refresh.hpp"
#include "yolk/internal/hyper/control.hpp"
#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper {
namespace {

std::shared_ptr<Tracer>& current_slot() {
    thread_local std::shared_ptr<Tracer> slot;
    return slot;
}

std::vector<std::string>& tags_slot() {
    thread_local std::vector<std::string> tags;
    return tags;
}

bool has_tensor(const ValueType& type) {
    if (type.kind == ValueKind::Tensor) return true;
    return std::ranges::any_of(type.fields, [](const auto& field) { return has_tensor(field.second); });
}

}  // namespace

std::shared_ptr<Tracer> Tracer::create(std::string name, Registrar registrar, HostRunner runner,
                                       std::shared_ptr<PendingCalls> calls) {
    auto tracer = std::make_shared<Tracer>();
    tracer->trace_.graph.name = std::move(name);
    tracer->registrar_ = std::move(registrar);
    tracer->runner_ = std::move(runner);
    tracer->calls_under_way_ = std::move(calls);
    return tracer;
}

std::shared_ptr<Tracer> Tracer::create_body(std::string name, std::shared_ptr<Tracer> parent, Registrar registrar) {
    auto tracer = create(std::move(name), std::move(registrar));
    tracer->body_ = true;
    if (parent != nullptr) {
        tracer->hyperfunction_ = parent->hyperfunction_;
        tracer->call_ = parent->call_;
        if (parent->error_) tracer->stick(*parent->error_);
    }
    tracer->parent_ = std::move(parent);
    return tracer;
}

std::shared_ptr<Tracer> Tracer::current() { return current_slot(); }

std::shared_ptr<Tracer> Tracer::failed(Error error) {
    auto tracer = std::make_shared<Tracer>();
    tracer->stick(std::move(error));
    return tracer;
}

Tracer::Scope::Scope(std::shared_ptr<Tracer> tracer) : outer_(std::move(current_slot())) {
    current_slot() = std::move(tracer);
}
Tracer::Scope::~Scope() { current_slot() = std::move(outer_); }

Tag::Tag(std::string name) { tags_slot().push_back(std::move(name)); }
Tag::~Tag() { tags_slot().pop_back(); }
std::span<const std::string> current_tags() { return tags_slot(); }

Traced Tracer::variable(Value value, std::string name, bool from_parameter) {
    const VariableId id(static_cast<std::uint32_t>(trace_.graph.variables.size()));
    trace_.graph.variables.push_back({type_of(value), std::move(name)});
    trace_.values.push_back(value);
    from_parameter_.push_back(from_parameter || body_);
    return {std::move(value), id, shared_from_this()};
}

Traced Tracer::input(const std::string& name, Value value) {
    Traced traced = variable(std::move(value), name, false);
    trace_.graph.inputs.emplace_back(name, traced.variable_);
    return traced;
}

Traced Tracer::parameters(const std::string& group, const Value& value) {
    if (value == Value(Tensor())) return Traced(value);  // no parameters, no variable
    Traced traced = variable(value, group, true);
    trace_.graph.parameters.push_back({traced.variable_, group});
    groups_.emplace(group, traced.variable_);
    return traced;
}

Traced Tracer::parameters(const AnyHyperfunction& function) {
    if (parent_ != nullptr) return parent_->parameters(function);
    // Asked for at each call: another hyperfunction of the same name is found out here.
    auto values =
        registrar_
            ? registrar_(function)
            : Result<Value>(bad_input("Hyperfunction '{}' was called outside a system; use call() with its parameters.",
                                      function.name()));
    if (!values) {
        stick(std::move(values).error());
        return Traced(Tensor::filled({1}, 0.0F));
    }
    const auto known = groups_.find(function.name());
    if (known != groups_.end()) return {trace_.values[known->second.value], known->second, shared_from_this()};
    return parameters(function.name(), *values);
}

std::optional<Traced> Tracer::unpacked(const Traced& record, const std::string& name) {
    if (record.tracer_.get() != this || error_ || over_) return std::nullopt;
    const auto& equations = trace_.graph.equations;
    const auto made = std::find_if(equations.rbegin(), equations.rend(), [&](const Equation& equation) {
        return std::ranges::find(equation.results, record.variable_) != equation.results.end();
    });
    if (made == equations.rend() || made->operation->name != "pack") return std::nullopt;
    const auto& names = std::get<std::vector<std::string>>(*find_attribute(*made, "names"));
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) return std::nullopt;
    const Atom& atom = made->operands[static_cast<std::size_t>(found - names.begin())];
    if (const Value* literal = std::get_if<Value>(&atom)) return Traced(*literal);
    const VariableId id = std::get<VariableId>(atom);
    Traced value(trace_.values[id.value], id, shared_from_this());
    value.late_ = is_late(id);
    return value;
}

void Tracer::stick(Error error) {
    if (!error_) error_ = std::move(error);
}

std::string Tracer::place() const {
    return hyperfunction_.empty() ? std::string() : fmt::format(" in hyperfunction '{}'", hyperfunction_);
}

bool Tracer::from_parameter(const Traced& value) const {
    return value.tracer_.get() == this && from_parameter_[value.variable_.value];
}

void Tracer::note_read(const Traced& value, std::string_view how, Line line) {
    if (body_ && !over_) {
        return stick(bad_input(
            "A value inside body '{}' was read {}{} ({}): the body is traced once, for all steps and examples, "
            "before there are values. Compute with traced values.",
            trace_.graph.name, how, place(), line_of(line)));
    }
    const bool depends = from_parameter(value);
    std::string note =
        fmt::format("variable {} was read {}{} ({})", value.variable_.value, how, place(), line_of(line));
    if (depends) {
        trace_.cuts.push_back(note);
        note +=
            "; it depends on a parameter, so values computed from it are valid for this candidate only: compute with "
            "traced values, concat, split and select instead";
        warnings_.push_back(fmt::format("System '{}': {}.", trace_.graph.name, note));
    }
    trace_.notes.push_back(std::move(note) + '.');
}

bool Tracer::steer(bool truth, bool from_parameter, Line line) {
    // After an error the values are stand-ins: a loop that waits for one of them to change must end, too.
    if (error_ && !over_) return refused_++ % 2 != 0;
    if (!from_parameter) {
        if (!std::exchange(steered_, true)) trace_.notes.emplace_back("control flow followed values of the example.");
        return truth;
    }
    if (body_) {
        stick(bad_input(
            "Control flow depends on a value inside body '{}'{} ({}): the body is traced once, before there are "
            "values. Use select, where, switch_on or while_loop there.",
            trace_.graph.name, place(), line_of(line)));
        return refused_++ % 2 != 0;
    }
    stick(bad_input(
        "Control flow depends on a parameter{} ({}): an if, while, ?:, && or || on a value that another candidate "
        "would "
        "change. Choose by data flow instead, with less() and select(), or put the choice into a host function.",
        place(), line_of(line)));
    return refused_++ % 2 != 0;
}

std::size_t Tracer::nesting() const noexcept {
    std::size_t deep = 0;
    for (const Tracer* around = parent_.get(); around != nullptr; around = around->parent_.get()) ++deep;
    return deep;
}

bool Tracer::is_around(const Tracer* other) const {
    for (const Tracer* around = parent_.get(); around != nullptr; around = around->parent_.get()) {
        if (around == other) return true;
    }
    return false;
}

Result<Atom> Tracer::atom_of(const Traced& value) {
    if (value.tracer_ == nullptr) return Atom(value.value());
    if (value.tracer_.get() == this) return Atom(value.variable_);
    if (is_around(value.tracer_.get())) {
        const std::pair<const Tracer*, std::uint32_t> key{value.tracer_.get(), value.variable_.value};
        const auto known = captures_.find(key);
        if (known != captures_.end()) return Atom(known->second);
        const Traced inside = input(fmt::format("captured {}", captured_.size()), value.value());
        captured_.push_back(value);
        captures_.emplace(key, inside.variable_);
        return Atom(inside.variable_);
    }
    if (value.tracer_->error()) return *value.tracer_->error();
    return bad_input(
        "A value of another trace (of '{}') was used in that of '{}'; take values from this run's inputs, or read() "
        "them.",
        value.tracer_->trace_.graph.name, trace_.graph.name);
}

Result<std::vector<Value>> Tracer::evaluate(const Equation& equation, std::span<const Value> operands) {
    if (equation.host != nullptr && runner_) {
        YOLK_TRY(Value result, runner_(equation.host, host_call_of(operands[0], operands.subspan(1))));
        return std::vector<Value>{std::move(result)};
    }
    return evaluate_heard(trace_.graph.equations.size(), equation, operands);
}

Result<std::vector<Value>> Tracer::stand_ins(const Equation& equation, std::span<const Value> operands,
                                             const Value& stand_in) const {
    if (equation.host != nullptr) {
        if (!has_tensor(type_of(stand_in))) return std::vector<Value>{stand_in};
        return bad_input(
            "{} was called inside body '{}'; what is called there cannot give a tensor, whose shape is not known "
            "before it runs. Call it outside, or let it give numbers or text.",
            described(*equation.host), trace_.graph.name);
    }
    std::vector<ValueType> types;
    for (const Value& operand : operands) types.push_back(type_of(operand));
    YOLK_TRY(const std::vector<ValueType> results, checked_types(equation, types));
    std::vector<Value> values;
    for (const ValueType& type : results) values.push_back(blank_of(type));
    return values;
}

std::vector<Traced> Tracer::record(Equation equation, std::span<const Traced> operands, std::size_t result_count,
                                   const Value& stand_in) {
    const auto give_up = [&](Error error) {
        stick(std::move(error));
        return std::vector<Traced>(result_count, Traced(stand_in));
    };
    if (error_) return std::vector<Traced>(result_count, Traced(stand_in));
    bool depends = false;
    for (const Traced& operand : operands) {
        auto atom = atom_of(operand);
        if (!atom) return give_up(std::move(atom).error());
        equation.operands.push_back(*std::move(atom));
        depends = depends || from_parameter(operand);
    }
    if (equation.hyperfunction.empty()) {
        equation.hyperfunction = hyperfunction_;
        equation.call = call_;
    }
    equation.tags = tags_slot();
    if (comes_late(equation)) return record_late(std::move(equation), result_count, depends, stand_in);
    const std::optional<std::size_t> kept = keep(equation);
    std::vector<Value> values;
    for (const Traced& operand : operands) values.push_back(operand.value());
    auto results = body_ ? stand_ins(equation, values, stand_in) : evaluate(equation, values);
    if (!results && keeps_calls_) failed_equation_ = equation;
    if (!results && equation.host == nullptr) {
        return give_up(
            std::move(results).error().while_doing(fmt::format("tracing equation {}", trace_.graph.equations.size())));
    }
    if (!results && equation.made_at)
        return give_up(std::move(results).error().while_doing("running " + line_of(equation)));
    if (!results) return give_up(std::move(results).error());
    std::vector<Traced> traced;
    for (Value& result : *results) {
        traced.push_back(variable(std::move(result), {}, depends));
        equation.results.push_back(traced.back().variable_);
    }
    if (kept) kept_calls_[*kept].result = Atom(traced.front().variable_);
    trace_.graph.equations.push_back(std::move(equation));
    return traced;
}

Traced Tracer::call(const AnyHyperfunction& function, const Traced& parameters, std::span<const Traced> operands,
                    Line line) {
    const AnyHyperfunction::Parts& parts = function.parts();
    const auto give_up = [&](Error error) {
        stick(std::move(error));
        return Traced(parts.stand_in);
    };
    if (operands.size() != parts.arity) {
        Equation called;
        if (line.line() > 0) called.made_at = line;
        const std::string where = line_of(called);
        return give_up(bad_input("Hyperfunction '{}'{} was called with {} operands; it takes {}.", function.name(),
                                 where.empty() ? where : " (" + where + ")", operands.size(), parts.arity));
    }
    if (error_) return Traced(parts.stand_in);
    const std::size_t kept = kept_calls_.size();                 // those that its body makes come behind it
    const bool is_kept = keeps_calls_ && parts.host == nullptr;  // a host function's is kept as an equation
    if (is_kept) {
        kept_calls_.push_back({.hyperfunction = function.name(),
                               .host = nullptr,
                               .operands = plain_atoms(operands),
                               .position = trace_.graph.equations.size()});
    }
    const std::string outer_name = std::exchange(hyperfunction_, function.name());
    const std::uint32_t outer_call = std::exchange(call_, next_call(function.name()));
    Traced result(parts.stand_in);
    if (parts.host != nullptr) {
        std::vector<Traced> all{parameters};
        all.insert(all.end(), operands.begin(), operands.end());
        Equation equation{.operation = find_operation("host_call"), .host = parts.host};
        if (line.line() > 0) equation.made_at = line;
        result = record(std::move(equation), all, 1, parts.stand_in)[0];
    } else {
        auto body = caught([&] { return fmt::format("Hyperfunction '{}'", function.name()); },
                           [&]() -> Result<Traced> { return parts.tensor(parameters, operands); });
        if (body) {
            result = *std::move(body);
        } else {
            stick(std::move(body).error());
        }
    }
    if (is_kept && !error_) kept_calls_[kept].result = plain_atoms(std::span(&result, 1)).front();
    hyperfunction_ = outer_name;
    call_ = outer_call;
    return result;
}

std::uint32_t Tracer::next_call(const std::string& hyperfunction) {
    return parent_ != nullptr ? parent_->next_call(hyperfunction) : calls_[hyperfunction]++;
}

Result<Tracer::TracedBody> Tracer::finish_body(std::span<const Traced> outputs) {
    std::vector<Atom> atoms;
    for (const Traced& output : outputs) {
        auto atom = atom_of(output);
        if (!atom) {
            stick(std::move(atom).error());
            break;
        }
        atoms.push_back(*std::move(atom));
    }
    registrar_ = {};
    over_ = true;
    if (error_) return *error_;
    stick(
        bad_input("A value from inside body '{}' was used outside of it; let the body return it.", trace_.graph.name));
    trace_.graph.outputs = std::move(atoms);
    captures_.clear();
    return TracedBody{std::exchange(trace_.graph, {}), std::exchange(captured_, {})};
}

bool Tracer::is_plain() const { return population::is_refreshable(trace_); }

Result<TracedExample> Tracer::finish(const Traced& output) {
    if (calls_under_way_ != nullptr) settle_all();
    settle_calls(output);
    if (!error_) {
        auto atom = atom_of(output);
        if (atom) {
            trace_.graph.outputs.push_back(*std::move(atom));
            dissolve_pack(trace_);
        } else {
            stick(std::move(atom).error());
        }
    }
    registrar_ = {};  // values of this trace may outlive what these refer to
    runner_ = {};
    over_ = true;
    if (error_) return *error_;
    stick(
        bad_input("A value of another trace (of '{}'), which is over, was used; take values from this run's inputs, or "
                  "read() them.",
                  trace_.graph.name));
    TracedExample result = std::move(trace_);
    trace_ = {};
    return result;
}

}  // namespace yolk::hyper
