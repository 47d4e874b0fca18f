// SPDX-License-Identifier: Apache-2.0
// Equations that are recorded before their values are there: host calls on the pool, and what reads their results.
#include <fmt/format.h>

#include <algorithm>

#include "body_calls.hpp"
#include "equations.hpp"
#include "group_value.hpp"
#include "heard_calls.hpp"
#include "pending_calls.hpp"
#include "tracer.hpp"

namespace yolk::hyper {

bool Tracer::is_late(VariableId variable) const { return late_variables_.contains(variable.value); }

bool Tracer::comes_late(const Equation& equation) const {
    if (body_ || calls_under_way_ == nullptr) return false;
    if (equation.host != nullptr || calls_from_bodies(equation)) return true;
    return std::ranges::any_of(equation.operands, [this](const Atom& atom) {
        const auto* id = std::get_if<VariableId>(&atom);
        return id != nullptr && is_late(*id);
    });
}

std::vector<Traced> Tracer::record_late(Equation equation, std::size_t result_count, bool from_parameter,
                                        const Value& stand_in) {
    const std::size_t index = trace_.graph.equations.size();
    std::vector<Traced> traced;
    for (std::size_t i = 0; i < result_count; ++i) {
        traced.push_back(variable(stand_in, {}, from_parameter));  // its type is known when the value is
        traced.back().late_ = true;
        late_variables_.emplace(traced.back().variable_.value, index);
        equation.results.push_back(traced.back().variable_);
    }
    std::size_t missing = 0;
    for (const Atom& atom : equation.operands) {
        const auto* id = std::get_if<VariableId>(&atom);
        if (id == nullptr || !is_late(*id)) continue;
        ++missing;
        late_readers_[id->value].push_back(index);
    }
    if (const auto kept = keep(equation)) kept_calls_[*kept].result = Atom(equation.results.front());
    trace_.graph.equations.push_back(std::move(equation));
    late_equations_.emplace(index, missing);
    if (missing == 0) begin_late(index);
    advance(/*wait=*/false);
    return traced;
}

/// All operands are there.
void Tracer::begin_late(std::size_t index) {
    const Equation& equation = trace_.graph.equations[index];
    if (equation.host == nullptr && !calls_from_bodies(equation)) {
        late_ready_.insert(index);
        return;
    }
    std::vector<Value> operands;
    for (const Atom& atom : equation.operands) operands.push_back(value_at(atom));
    if (equation.host == nullptr) return begin_bodies(index, std::move(operands));
    const Value parameters = std::move(operands.front());
    operands.erase(operands.begin());
    HostTask task = host_task_of(equation.host, parameters, std::move(operands), line_of(equation));
    ++calls_out_;
    calls_under_way_->begin(std::move(task), [weak = weak_from_this(), index](Result<Value> result) {
        const auto tracer = weak.lock();
        if (tracer == nullptr) return;
        --tracer->calls_out_;
        if (result) {
            tracer->arrive(index, std::vector<Value>{*std::move(result)});
        } else {
            tracer->fail_late(index, std::move(result).error());
        }
        tracer->run_ready();
    });
}

/// An equation whose bodies call host functions.
void Tracer::begin_bodies(std::size_t index, std::vector<Value> operands) {
    HostTask task{.function = as_host_function(trace_.graph.equations[index]), .operands = std::move(operands)};
    const auto inside = std::make_shared<std::vector<HeardCalls::Call>>();
    if (keeps_calls_) task.function = heard_into(std::move(task.function), inside);
    ++calls_out_;
    calls_under_way_->begin(std::move(task), [weak = weak_from_this(), index, inside](Result<Value> result) {
        const auto tracer = weak.lock();
        if (tracer == nullptr) return;
        --tracer->calls_out_;
        tracer->keep_inside(index, std::move(*inside));
        if (result) {
            tracer->arrive(index, results_of(*result));
        } else {
            tracer->fail_late(index, std::move(result).error().while_doing(fmt::format("tracing equation {}", index)));
        }
        tracer->run_ready();
    });
}

Value Tracer::value_at(const Atom& atom) const {
    const auto* id = std::get_if<VariableId>(&atom);
    return id != nullptr ? trace_.values[id->value] : std::get<Value>(atom);
}

void Tracer::arrive(std::size_t index, std::vector<Value> results) {
    const Equation& equation = trace_.graph.equations[index];
    if (results.size() != equation.results.size()) {
        return fail_late(index, bad_input("{}: {} results came back; {} were recorded.", equation.operation->name,
                                          results.size(), equation.results.size()));
    }
    late_equations_.erase(index);
    for (std::size_t i = 0; i < results.size(); ++i) {
        const std::uint32_t id = equation.results[i].value;
        trace_.graph.variables[id].type = type_of(results[i]);
        trace_.values[id] = results[i];
        late_values_.emplace(id, std::move(results[i]));
        late_variables_.erase(id);
        const auto readers = late_readers_.extract(id);
        if (readers.empty()) continue;
        for (const std::size_t reader : readers.mapped()) {
            if (--late_equations_.at(reader) == 0 && reader < late_failure_) begin_late(reader);
        }
    }
}

/// What reads its results never runs.
void Tracer::fail_late(std::size_t index, Error error) {
    if (index >= late_failure_) return;
    late_failure_ = index;
    late_error_ = std::move(error);
}

void Tracer::run_ready() {
    while (!late_ready_.empty()) {
        const std::size_t index = *late_ready_.begin();
        late_ready_.erase(late_ready_.begin());
        if (index >= late_failure_) continue;
        const Equation& equation = trace_.graph.equations[index];
        std::vector<Value> operands;
        for (const Atom& atom : equation.operands) operands.push_back(value_at(atom));
        auto results = evaluate_heard(index, equation, operands);
        if (results) {
            arrive(index, *std::move(results));
        } else {
            fail_late(index, std::move(results).error().while_doing(fmt::format("tracing equation {}", index)));
        }
    }
}

void Tracer::advance(bool wait) {
    run_ready();
    calls_under_way_->receive(wait);
}

Value Tracer::settled(VariableId id, const Value& stand_in) {
    while (late_variables_.contains(id.value) && late_variables_.at(id.value) < late_failure_) advance(/*wait=*/true);
    const auto known = late_values_.find(id.value);
    if (known != late_values_.end()) return known->second;
    if (late_error_) stick(*late_error_);
    return stand_in;
}

/// The first error in the order of the equations is the trace's. Calls behind it have come back as well: what they
/// refer to may go.
void Tracer::settle_all() {
    while (calls_out_ > 0 || !late_ready_.empty()) advance(/*wait=*/calls_out_ > 0);
    if (late_error_) error_ = std::move(late_error_);
}

}  // namespace yolk::hyper
