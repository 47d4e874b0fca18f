// SPDX-License-Identifier: Apache-2.0
#include "program_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "body_calls.hpp"
#include "caught.hpp"
#include "equations.hpp"
#include "evaluation.hpp"
#include "output_space.hpp"
#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper::population {

Run::Run(Dispatcher* dispatcher, HostPool* pool, Program& program, Candidates& candidates, std::uint32_t examples,
         HostMemory* memory)
    : dispatcher_(dispatcher), pool_(pool), memory_(memory), program_(program), candidates_(candidates) {
    result_.examples = examples;
    result_.counts.device_equations = program.equations(Placement::Device);
    result_.counts.host_equations = program.equations(Placement::Host);
    for (const ExampleGroup& group : program.groups()) values_.emplace_back(group.graph().variables.size());
}

Result<PopulationOutputs> Run::all() {
    YOLK_TRY(PopulationOutputs room, outputs_of(program_, result_.examples, candidates_.count()));
    room.counts = result_.counts;
    result_ = std::move(room);
    return all_chunks();
}

Result<PopulationOutputs> Run::all_into(const BufferView& means) {
    means_ = means;
    result_.candidates = candidates_.count();
    result_.means.resize(candidates_.count() - means.size_bytes / sizeof(float));
    return all_chunks();
}

Result<PopulationOutputs> Run::all_chunks() {
    if (candidates_.count() == 0) return std::move(result_);
    if (const BufferView mean = candidates_.device_mean(); !mean.empty()) {
        YOLK_TRY_VOID(program_.take_mean(mean));
    } else {
        YOLK_TRY_VOID(program_.stage_mean(candidates_.mean()));
    }
    // States are bound to a chunk's plan, which may not run then.
    YOLK_TRY_VOID(program_.is_device_only() && !candidates_.carry() ? overlapped() : in_turn());
    mark_failed(result_);
    return std::move(result_);
}

Result<void> Run::begin_chunk(std::uint32_t first, std::size_t slot) {
    const std::uint32_t most = program_.members_per_chunk();
    const std::uint32_t left = candidates_.count() - first;
    // What a pool deals out has any size, and plans are kept by size: powers of two keep them few.
    const std::uint32_t fitting = candidates_.are_some() ? std::bit_floor(left) : left;
    chunk_ = {.first = first, .count = left < most ? fitting : most};
    YOLK_TRY(chunk_.plan, program_.chunk_plan(chunk_.count, states_of(chunk_)));
    chunk_.slot = &chunk_.plan->slots[slot];
    chunk_.slot->means_to = {};
    if (const std::uint64_t before = result_.means.size(); !means_.empty() && first + chunk_.count > before) {
        const std::uint64_t begin = std::max<std::uint64_t>(first, before);
        const std::uint64_t count = first + chunk_.count - begin;
        chunk_.slot->means_to = means_.part(sizeof(float) * (begin - before), sizeof(float) * count);
    }
    ++result_.counts.chunks;
    return {};
}

std::vector<BufferView> Run::states_of(const Chunk& chunk) const {
    std::vector<BufferView> states;
    for (std::size_t s = 0; candidates_.carry() && s < program_.sources().size(); ++s) {
        const BufferView all = candidates_.carried(s);
        const std::uint64_t each = all.size_bytes / candidates_.count();
        states.push_back(all.empty() ? all : all.part(each * chunk.first, each * chunk.count));
    }
    return states;
}

Result<void> Run::in_turn() {
    for (std::uint32_t first = 0; first < candidates_.count(); first += chunk_.count) {
        YOLK_TRY_VOID(begin_chunk(first, 0));
        for (const Phase& phase : program_.phases()) {
            if (phase.device) {
                YOLK_TRY_VOID(submit(phase));
                YOLK_TRY_VOID(collect(chunk_, phase));
            } else {
                host_phase(phase);
            }
        }
        judge();
        host_outputs();
        candidates_.forget();
    }
    return {};
}

Result<void> Run::overlapped() {
    const Phase& phase = program_.phases().front();
    std::optional<Chunk> before;
    std::size_t turn = 0;
    const auto run = [&]() -> Result<void> {
        for (std::uint32_t first = 0; first < candidates_.count(); first += chunk_.count, turn ^= 1U) {
            YOLK_TRY_VOID(begin_chunk(first, turn));
            YOLK_TRY_VOID(submit(phase));
            candidates_.forget();
            const std::optional<Chunk> done = std::exchange(before, chunk_);
            if (done) YOLK_TRY_VOID(finish(*done, phase));
        }
        return before ? finish(*std::exchange(before, {}), phase) : Result<void>();
    };
    Result<void> result = run();
    // Nothing may be left running: the buffers are used again.
    if (!result && before) (void)dispatcher_->wait(before->submission).has_value();
    return result;
}

Result<void> Run::finish(const Chunk& chunk, const Phase& phase) {
    YOLK_TRY_VOID(collect(chunk, phase));
    const Chunk next = std::exchange(chunk_, chunk);
    judge();
    host_outputs();
    candidates_.forget();
    chunk_ = next;
    return {};
}

Result<void> Run::submit(const Phase& phase) {
    const DevicePhase& device = chunk_.plan->layout.phases[phase.device_index];
    for (const Upload& upload : device.uploads) fill(upload);
    if (chunk_.plan->layout.staging_bytes > 0) YOLK_TRY_VOID(chunk_.slot->staging.flush());
    const Moment moment{.when = candidates_.when(),
                        .first_member = candidates_.first_member() + static_cast<std::int32_t>(chunk_.first)};
    chunk_.progress = {};
    for (;;) {
        const bool asks = program_.record(*chunk_.plan, *chunk_.slot, phase, moment, chunk_.progress);
        YOLK_TRY(chunk_.submission, dispatcher_->submit(*chunk_.slot->recorder));
        result_.counts.dispatches += chunk_.slot->recorder->dispatch_count();
        result_.counts.submissions += chunk_.slot->recorder->submission_count();
        if (!asks) return {};
        YOLK_TRY_VOID(dispatcher_->wait(chunk_.submission));
        YOLK_TRY(chunk_.progress.answer, program_.answer(*chunk_.plan, *chunk_.slot, phase));
    }
}

Result<void> Run::collect(const Chunk& chunk, const Phase& phase) {
    const DevicePhase& device = chunk.plan->layout.phases[phase.device_index];
    YOLK_TRY_VOID(dispatcher_->wait(chunk.submission));
    if (chunk.plan->layout.readback_bytes > 0) YOLK_TRY_VOID(chunk.slot->readback.invalidate());
    for (const Download& download : device.downloads) {
        if (program_.is_left_out(*chunk.plan, phase, chunk.progress, download)) {
            values_[download.group][download.variable.value].clear();
        } else if (download.output_only && !result_.plain.empty()) {
            take_plain(chunk, download);
        } else {
            take(chunk, download);
        }
    }
    if (program_.makes_means()) take_means(chunk);
    return {};
}

std::uint32_t Run::examples_of(std::uint32_t group, VariableId variable) const {
    return program_.placed(group).variables[variable.value].per_example ? program_.groups()[group].count() : 1;
}

Value Run::operand(std::uint32_t group, const AtomPlace& place, std::uint32_t m, std::uint32_t e) {
    const ExampleGroup& examples = program_.groups()[group];
    if (const auto* id = std::get_if<VariableId>(&atom_at(examples.graph(), place))) {
        const Traits& traits = program_.placed(group).variables[id->value];
        if (traits.source >= 0) return candidates_.natural(static_cast<std::size_t>(traits.source), chunk_.first + m);
        if (traits.varies) {
            const std::uint32_t count = examples_of(group, *id);
            return values_[group][id->value][std::size_t{m} * count + (count == 1 ? 0 : e)];
        }
    }
    return traced_value(examples.examples[e], place);
}

void Run::fail(std::uint32_t m, Error error) {
    if (!failed(m)) result_.errors[chunk_.first + m] = std::move(error);
}

std::string Run::label_of(std::uint32_t group, std::uint32_t m, std::uint32_t e) const {
    return fmt::format("example {}, candidate {}", program_.groups()[group].indices[e],
                       candidates_.before() + chunk_.first + m);
}

void Run::keep(std::uint32_t group, std::size_t equation, std::uint32_t m, std::uint32_t e,
               std::vector<Value> results) {
    const Graph& graph = program_.groups()[group].graph();
    if (Result<void> checked = check_results(graph, equation, results); !checked) {
        return fail(m, std::move(checked).error().while_doing("evaluating " + label_of(group, m, e)));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
        const VariableId id = graph.equations[equation].results[i];
        const std::uint32_t count = examples_of(group, id);
        values_[group][id.value][std::size_t{m} * count + (count == 1 ? 0 : e)] = std::move(results[i]);
    }
}

void Run::host_phase(const Phase& phase) {
    const Value blank;  // a temporary one makes GCC 12 warn of what it does not initialize
    std::vector<EquationRef> calls;
    for (const EquationRef& ref : phase.equations) {
        const Equation& equation = program_.groups()[ref.group].graph().equations[ref.equation];
        for (const VariableId id : equation.results)
            values_[ref.group][id.value].assign(std::size_t{chunk_.count} * examples_of(ref.group, id), blank);
        if (equation.host) {
            calls.push_back(ref);
        } else {
            evaluate(ref);
        }
    }
    call_hosts(calls);
}

void Run::call_hosts(std::span<const EquationRef> equations) {
    struct Origin {
        EquationRef equation;
        std::uint32_t m = 0;
        std::uint32_t e = 0;
    };
    std::vector<PendingHostCall> calls;
    std::vector<Origin> origins;
    for (const EquationRef& ref : equations) {
        const ExampleGroup& group = program_.groups()[ref.group];
        const Equation& equation = group.graph().equations[ref.equation];
        for (std::uint32_t m = 0; m < chunk_.count; ++m) {
            if (failed(m)) continue;
            for (std::uint32_t e = 0; e < group.count(); ++e) {
                const std::uint32_t candidate = candidates_.before() + chunk_.first + m;
                PendingHostCall& call =
                    calls.emplace_back(PendingHostCall{.key = {candidate, ref.group, ref.equation, e},
                                                       .function = equation.host,
                                                       .operands = {},
                                                       .label = with_line(label_of(ref.group, m, e), equation)});
                for (std::size_t i = 0; i < equation.operands.size(); ++i)
                    call.operands.push_back(operand(ref.group, {ref.equation, i}, m, e));
                origins.push_back({ref, m, e});
            }
        }
    }
    std::vector<Result<Value>> results = make_host_calls(pool_, memory_, calls, result_.counts.host_calls);
    for (std::size_t i = 0; i < results.size(); ++i) {
        const auto& [ref, m, e] = origins[i];
        if (!results[i]) {
            fail(m, std::move(results[i]).error());
        } else {
            keep(ref.group, ref.equation, m, e, {*std::move(results[i])});
        }
    }
}

/// Bodies that call host functions wait for them: all candidates and examples at the same time.
void Run::evaluate_on_pool(const EquationRef& ref, const Equation& equation, std::uint32_t examples) {
    const HostFunctionPtr function = as_host_function(equation);
    std::vector<HostTask> tasks;
    std::vector<std::uint32_t> members;
    for (std::uint32_t m = 0; m < chunk_.count; ++m) {
        for (std::uint32_t e = 0; e < examples && !failed(m); ++e) {
            HostTask& task = tasks.emplace_back(HostTask{.function = function});
            for (std::size_t i = 0; i < equation.operands.size(); ++i)
                task.operands.push_back(operand(ref.group, {ref.equation, i}, m, e));
            members.push_back(m);
        }
    }
    const std::vector<Result<Value>> results = pool_->run_all(tasks);
    std::uint32_t e = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
        const std::uint32_t m = members[i];
        e = i > 0 && members[i - 1] == m ? e + 1 : 0;
        if (failed(m)) continue;
        if (results[i]) {
            keep(ref.group, ref.equation, m, e, results_of(*results[i]));
        } else {
            fail(m, Error(results[i].error()).while_doing("evaluating " + label_of(ref.group, m, e)));
        }
    }
}

void Run::evaluate(const EquationRef& ref) {
    const ExampleGroup& group = program_.groups()[ref.group];
    const Equation& equation = group.graph().equations[ref.equation];
    const std::uint32_t examples = equation.results.empty() ? 0 : examples_of(ref.group, equation.results[0]);
    if (pool_ != nullptr && calls_from_bodies(equation)) return evaluate_on_pool(ref, equation, examples);
    for (std::uint32_t m = 0; m < chunk_.count; ++m) {
        for (std::uint32_t e = 0; e < examples && !failed(m); ++e) {
            std::vector<Value> operands;
            for (std::size_t i = 0; i < equation.operands.size(); ++i)
                operands.push_back(operand(ref.group, {ref.equation, i}, m, e));
            auto results =
                caught([&] { return equation.operation->name; }, [&] { return evaluate_equation(equation, operands); });
            if (results) {
                keep(ref.group, ref.equation, m, e, *std::move(results));
                continue;
            }
            fail(m, std::move(results).error().while_doing("evaluating " + label_of(ref.group, m, e)));
        }
    }
}

void Run::judge() {
    for (const Required& required : program_.required()) {
        const auto& [group, index] = required.equation;
        // Where all are fine no values were kept.
        if (required.variable && values_[group][required.variable->value].empty()) continue;
        const ExampleGroup& examples = program_.groups()[group];
        const Equation& equation = examples.graph().equations[index];
        for (std::uint32_t m = 0; m < chunk_.count; ++m) {
            for (std::uint32_t e = 0; e < examples.count() && !failed(m); ++e) {
                const Value value = operand(group, {index, 0}, m, e);
                auto met = evaluate_equation(equation, std::span(&value, 1));
                if (!met) fail(m, std::move(met).error().while_doing("evaluating " + label_of(group, m, e)));
            }
        }
    }
}

Value Run::output(std::uint32_t group, std::uint32_t m, std::uint32_t e) {
    const Graph& graph = program_.groups()[group].graph();
    if (program_.hands_out_one(graph)) return operand(group, {kOutputs, 0}, m, e);
    std::vector<Value> outputs;
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) outputs.push_back(operand(group, {kOutputs, i}, m, e));
    return output_from(graph, std::move(outputs));
}

void Run::host_outputs() {
    for (std::uint32_t g = 0; g < program_.groups().size(); ++g) {
        const ExampleGroup& group = program_.groups()[g];
        for (std::uint32_t e = 0; !program_.output_is_direct(g) && e < group.count(); ++e) {
            Value* to = &result_.values[std::size_t{group.indices[e]} * result_.candidates + chunk_.first];
            for (std::uint32_t m = 0; m < chunk_.count; ++m) to[m] = output(g, m, e);
        }
    }
}

}  // namespace yolk::hyper::population
