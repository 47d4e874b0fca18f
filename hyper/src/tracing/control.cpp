// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "article.hpp"
#include "caught.hpp"
#include "equations.hpp"
#include "graph_queries.hpp"
#include "tracer.hpp"
#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper {
namespace {

using BodyFunction = std::function<TracedValues(std::span<const Traced>)>;

/// Traces the bodies of one equation, and gives all of them the same further inputs for what any of them captures.
class BodyTracer {
   public:
    explicit BodyTracer(std::shared_ptr<Tracer> parent) : parent_(std::move(parent)) {}

    Result<void> add(const std::string& name, std::span<const Traced> inputs, const BodyFunction& function) {
        const auto tracer = Tracer::create_body(name, parent_);
        if (tracer->nesting() > kMostNesting) {
            return bad_input(
                "Body '{}' is inside {} others; bodies may be {} deep. Use scan or while_loop in place of "
                "functions that call themselves.",
                name, tracer->nesting() - 1, kMostNesting);
        }
        std::vector<Traced> inside;
        for (std::size_t i = 0; i < inputs.size(); ++i)
            inside.push_back(tracer->input(fmt::format("{}", i), blank_of(inputs[i].type())));
        const Tracer::Scope scope(tracer);
        YOLK_TRY(const TracedValues outputs, caught([&] { return fmt::format("Body '{}'", name); },
                                                    [&]() -> Result<TracedValues> { return function(inside); }));
        YOLK_TRY(Tracer::TracedBody body, tracer->finish_body(outputs));
        bodies_.push_back(std::move(body.graph));
        std::vector<std::size_t> places;  // in captured_, of this body's
        for (const Traced& value : body.captured) places.push_back(place_of(value));
        places_.push_back(std::move(places));
        return {};
    }

    /// Where the outputs of one body are integers and `types` has numbers, it makes numbers of them.
    void make_numbers(std::size_t body, std::span<const ValueType> types) {
        Graph& graph = bodies_[body];
        for (std::size_t i = 0; i < std::min(graph.outputs.size(), types.size()); ++i) {
            Atom& output = graph.outputs[i];
            if (types[i].kind != ValueKind::Number || type_of(graph, output).kind != ValueKind::Integer) continue;
            const VariableId number(static_cast<std::uint32_t>(graph.variables.size()));
            graph.variables.push_back({{ValueKind::Number, {}}, {}});
            graph.equations.push_back(
                {.operation = find_operation("to_number"), .operands = {output}, .results = {number}});
            output = Atom(number);
        }
    }
    /// What a loop has to begin with where one of `init` is an integer that the step makes a number of: numbers. Of
    /// numbers that the step gives integers for, it makes numbers itself.
    std::optional<TracedValues> begun_with_numbers(std::span<const Traced> init, std::size_t step) {
        const std::vector<ValueType> given = output_types(bodies_[step]);
        std::vector<ValueType> types;
        TracedValues numbers(init.begin(), init.end());
        bool any = false;
        for (std::size_t i = 0; i < init.size(); ++i) {
            types.push_back(init[i].type());
            if (i >= given.size() || types[i].kind != ValueKind::Integer || given[i].kind != ValueKind::Number)
                continue;
            numbers[i] = to_number(init[i]);
            any = true;
        }
        if (any) return numbers;
        make_numbers(step, types);
        return std::nullopt;
    }
    /// Branches of which one gives a number where another gives an integer give numbers.
    void give_one_kind() {
        std::vector<ValueType> types = bodies_.empty() ? std::vector<ValueType>() : output_types(bodies_.front());
        for (const Graph& body : bodies_) {
            for (std::size_t i = 0; i < std::min(types.size(), body.outputs.size()); ++i) {
                if (type_of(body, body.outputs[i]).kind == ValueKind::Number) types[i].kind = ValueKind::Number;
            }
        }
        for (std::size_t i = 0; i < bodies_.size(); ++i) make_numbers(i, types);
    }

    /// The bodies, each with all captured values behind its own inputs.
    std::vector<std::shared_ptr<const Graph>> bodies() {
        std::vector<std::shared_ptr<const Graph>> all;
        for (std::size_t i = 0; i < bodies_.size(); ++i) {
            Graph& body = bodies_[i];
            auto inputs = std::move(body.inputs);
            const std::size_t own = inputs.size() - places_[i].size();
            body.inputs.assign(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(own));
            for (std::size_t place = 0; place < captured_.size(); ++place) {
                const auto found = std::ranges::find(places_[i], place);
                if (found != places_[i].end()) {
                    body.inputs.push_back(inputs[own + static_cast<std::size_t>(found - places_[i].begin())]);
                    continue;
                }
                const std::string name = fmt::format("unused {}", place);
                body.inputs.emplace_back(name, VariableId(static_cast<std::uint32_t>(body.variables.size())));
                body.variables.push_back({captured_[place].type(), name});
            }
            all.push_back(std::make_shared<const Graph>(std::move(body)));
        }
        return all;
    }
    [[nodiscard]] const std::vector<Traced>& captured() const noexcept { return captured_; }

   private:
    std::size_t place_of(const Traced& value) {
        const auto same = [&](const Traced& other) { return Tracer::same_variable(value, other); };
        const auto found = std::ranges::find_if(captured_, same);
        if (found != captured_.end()) return static_cast<std::size_t>(found - captured_.begin());
        captured_.push_back(value);
        return captured_.size() - 1;
    }

    std::shared_ptr<Tracer> parent_;
    std::vector<Graph> bodies_{};
    std::vector<std::vector<std::size_t>> places_{};
    std::vector<Traced> captured_{};
};

/// What comes back after an error: in the tracer where there is one, otherwise in one that holds nothing else.
TracedValues given_up(const std::shared_ptr<Tracer>& tracer, Error error, std::span<const Value> stand_ins) {
    const auto holder = tracer != nullptr ? tracer : Tracer::failed(error);
    holder->stick(std::move(error));
    TracedValues values;
    for (const Value& value : stand_ins)
        values.push_back(tracer != nullptr ? Traced(value) : holder->input("error", value));
    return values;
}

/// Records the equation, or runs it at once where nothing is traced.
TracedValues recorded(const std::shared_ptr<Tracer>& tracer, Equation equation, std::span<const Traced> operands,
                      std::span<const Value> stand_ins) {
    if (tracer != nullptr) {
        if (tracer->error()) return {stand_ins.begin(), stand_ins.end()};
        TracedValues values = tracer->record(std::move(equation), operands, stand_ins.size(), Value(0.0));
        return tracer->error() ? TracedValues(stand_ins.begin(), stand_ins.end()) : values;
    }
    std::vector<Value> values;
    for (const Traced& operand : operands) values.push_back(Tracer::value_of(operand));
    auto results = evaluate_equation(equation, values);
    if (!results) return given_up(nullptr, std::move(results).error(), stand_ins);
    return {results->begin(), results->end()};
}

/// An error of a body, with the line of the equation that has it.
Error of_line(Error error, const Line& line) {
    return std::move(error).while_doing("tracing the bodies at " + line_of(line));
}

std::vector<Value> stand_ins_of(std::span<const Traced> like) {
    std::vector<Value> values;
    for (const Traced& value : like) values.push_back(blank_of(value.type()));
    return values;
}

std::vector<Value> stand_ins_of(const Graph& body, std::size_t first) {
    std::vector<Value> values;
    for (std::size_t i = first; i < body.outputs.size(); ++i) {
        const auto* id = std::get_if<VariableId>(&body.outputs[i]);
        values.push_back(id != nullptr ? blank_of(body.variables[id->value].type) : std::get<Value>(body.outputs[i]));
    }
    return values;
}

void append(std::vector<Traced>& all, std::span<const Traced> more) { all.insert(all.end(), more.begin(), more.end()); }

std::int64_t integer(std::uint64_t value) { return static_cast<std::int64_t>(value); }

TracedValues switch_any(const Traced& key, const std::vector<BodyFunction>& branches, const Line& line) {
    const auto tracer = tracer_for(std::span(&key, 1));
    BodyTracer bodies(tracer);
    for (std::size_t i = 0; i < branches.size(); ++i) {
        const auto added = bodies.add(fmt::format("branch {}", i), {}, branches[i]);
        if (!added) return given_up(tracer, of_line(added.error(), line), std::vector<Value>{Value(0.0)});
    }
    bodies.give_one_kind();
    Equation equation{.operation = find_operation("switch"), .bodies = bodies.bodies()};
    if (equation.bodies.empty()) {
        return given_up(tracer, bad_input("switch_on: no branches were given; it takes one or more."),
                        std::vector<Value>{Value(0.0)});
    }
    std::vector<Traced> operands{key};
    append(operands, bodies.captured());
    const std::vector<Value> stand_ins = stand_ins_of(*equation.bodies[0], 0);
    equation.made_at = line;
    return recorded(tracer, std::move(equation), operands, stand_ins);
}

}  // namespace

TracedValues while_loop(std::span<const Traced> init, const std::function<Traced(std::span<const Traced>)>& condition,
                        const BodyFunction& step, std::uint64_t limit, Line line) {
    const auto tracer = tracer_for(init);
    BodyTracer bodies(tracer);
    auto added =
        bodies.add("condition", init, [&](std::span<const Traced> values) { return TracedValues{condition(values)}; });
    if (added) added = bodies.add("step", init, step);
    if (!added) return given_up(tracer, of_line(added.error(), line), stand_ins_of(init));
    if (const auto numbers = bodies.begun_with_numbers(init, 1))
        return while_loop(*numbers, condition, step, limit, line);
    Equation equation{.operation = find_operation("while_loop"),
                      .attributes = {{"carries", integer(init.size())}, {"limit", integer(limit)}},
                      .bodies = bodies.bodies()};
    std::vector<Traced> operands(init.begin(), init.end());
    append(operands, bodies.captured());
    equation.made_at = line;
    return recorded(tracer, std::move(equation), operands, stand_ins_of(init));
}

Traced while_loop(const Traced& init, const std::function<Traced(const Traced&)>& condition,
                  const std::function<Traced(const Traced&)>& step, std::uint64_t limit, Line line) {
    return while_loop(
        std::span(&init, 1), [&](std::span<const Traced> values) { return condition(values[0]); },
        [&](std::span<const Traced> values) { return TracedValues{step(values[0])}; }, limit, line)[0];
}

Traced switch_on(const Traced& key, const std::vector<std::function<Traced()>>& branches, Line line) {
    std::vector<BodyFunction> all;
    for (const auto& branch : branches)
        all.push_back([&branch](std::span<const Traced>) { return TracedValues{branch()}; });
    return switch_any(key, all, line)[0];
}

TracedValues switch_on(const Traced& key, const std::vector<std::function<TracedValues()>>& branches, Line line) {
    std::vector<BodyFunction> all;
    for (const auto& branch : branches) all.push_back([&branch](std::span<const Traced>) { return branch(); });
    return switch_any(key, all, line);
}

Traced switch_on(const Traced& key, const NamedBranches& branches, Line line) {
    std::vector<std::string> names;
    std::vector<std::function<Traced()>> all;
    for (const auto& [name, branch] : branches) {
        names.push_back(name);
        all.push_back(branch);
    }
    return switch_on(word_index(key, std::move(names), line), all, line);
}

Scanned scan(std::span<const Traced> init, std::span<const Traced> sequences,
             const std::function<Scanned(std::span<const Traced>, std::span<const Traced>)>& step,
             const ScanOptions& options, Line line) {
    std::vector<Traced> operands(init.begin(), init.end());
    append(operands, sequences);
    const auto tracer = tracer_for(operands);
    const auto give_up = [&](Error error) {
        return Scanned{given_up(tracer, std::move(error), stand_ins_of(init)), {Traced(Tensor::filled({1}, 0.0F))}};
    };
    std::optional<std::uint64_t> length = options.length;
    std::vector<Traced> inputs(init.begin(), init.end());
    for (const Traced& sequence : sequences) {
        const Shape& shape = sequence.shape();
        if (shape.rank() == 0) {
            return give_up(bad_input("scan: a sequence is {}; sequences are tensors [length, ...].",
                                     with_article(sequence.type())));
        }
        if (!length) length = shape[0];
        const auto rest = shape.extents().subspan(1);
        inputs.emplace_back(Tensor::filled(
            rest.empty() ? Shape{1} : Shape(std::vector<std::uint64_t>(rest.begin(), rest.end())), 0.0F));
    }
    if (!length) return give_up(bad_input("scan: without sequences it takes the number of steps: {.length = 10}."));
    BodyTracer bodies(tracer);
    std::size_t carries = init.size();
    const auto added = bodies.add("step", inputs, [&](std::span<const Traced> values) {
        Scanned outputs = step(values.first(init.size()), values.subspan(init.size()));
        carries = outputs.carries.size();
        append(outputs.carries, outputs.results);
        return outputs.carries;
    });
    if (!added) return give_up(of_line(added.error(), line));
    if (carries != init.size()) {
        return give_up(bad_input("scan: the step gives {} carries for {}.", carries, init.size()));
    }
    if (const auto numbers = bodies.begun_with_numbers(init, 0)) return scan(*numbers, sequences, step, options, line);
    Equation equation{.operation = find_operation("scan"),
                      .attributes = {{"carries", integer(init.size())},
                                     {"sequences", integer(sequences.size())},
                                     {"length", integer(*length)},
                                     {"reverse", integer(options.reverse ? 1 : 0)}},
                      .bodies = bodies.bodies()};
    append(operands, bodies.captured());
    std::vector<Value> stand_ins = stand_ins_of(init);
    for (const Value& element : stand_ins_of(*equation.bodies[0], init.size())) stand_ins.push_back(element);
    equation.made_at = line;
    const TracedValues all = recorded(tracer, std::move(equation), operands, stand_ins);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(init.size());
    return Scanned{{all.begin(), middle}, {middle, all.end()}};
}

std::pair<Traced, Traced> scan(const Traced& init, const Traced& sequence,
                               const std::function<std::pair<Traced, Traced>(const Traced&, const Traced&)>& step,
                               const ScanOptions& options, Line line) {
    const Scanned all = scan(
        std::span(&init, 1), std::span(&sequence, 1),
        [&](std::span<const Traced> carries, std::span<const Traced> elements) {
            const auto [carry, result] = step(carries[0], elements[0]);
            return Scanned{{carry}, {result}};
        },
        options, line);
    return {all.carries[0], all.results[0]};
}

Traced stop_gradient(const Traced& x, Line line) { return apply("stop_gradient", {x}, {}, line); }
Traced checkpoint(const Traced& x, std::string key, std::string collection, Line line) {
    return apply("checkpoint", {x}, {{"key", std::move(key)}, {"collection", std::move(collection)}}, line);
}
Traced depends(const Traced& value, std::initializer_list<Traced> others, Line line) {
    std::vector<Traced> operands{value};
    operands.insert(operands.end(), others.begin(), others.end());
    return apply("depends", operands, {}, 1, line)[0];
}
Traced factor(const Traced& weight, Line line) { return apply("factor", {weight}, {}, line); }
Traced to_number(const Traced& x, Line line) { return apply("to_number", {x}, {}, line); }

Traced custom_call(const std::string& name, std::span<const Traced> operands,
                   const std::function<Traced(std::span<const Traced>)>& function, Line line) {
    const auto tracer = tracer_for(operands);
    BodyTracer bodies(tracer);
    const auto added =
        bodies.add(name, operands, [&](std::span<const Traced> values) { return TracedValues{function(values)}; });
    if (!added) return given_up(tracer, of_line(added.error(), line), std::vector<Value>{Value(0.0)})[0];
    Equation equation{.operation = find_operation("call"), .bodies = bodies.bodies(), .hyperfunction = name};
    if (tracer != nullptr) equation.call = tracer->next_call(name);
    std::vector<Traced> all(operands.begin(), operands.end());
    append(all, bodies.captured());
    const std::vector<Value> stand_ins = stand_ins_of(*equation.bodies[0], 0);
    equation.made_at = line;
    return recorded(tracer, std::move(equation), all, stand_ins)[0];
}

Result<Graph> trace(const std::string& name, std::span<const std::pair<std::string, ValueType>> inputs,
                    const std::function<TracedValues(std::span<const Traced>)>& function) {
    using Functions = std::map<std::string, std::shared_ptr<const AnyHyperfunction::Parts>>;
    const auto registrar = [functions = Functions()](const AnyHyperfunction& called) mutable -> Result<Value> {
        const auto known = functions.emplace(called.name(), called.shared_parts()).first;
        if (known->second.get() != &called.parts()) return two_of_one_name(*known->second, called.parts());
        const ParameterSpec& spec = called.parts().spec;
        return spec.is_text ? Value("") : Value(Tensor::filled(spec.shape, 0.0F));
    };
    const auto tracer = Tracer::create_body(name, nullptr, registrar);
    const Tracer::Scope scope(tracer);
    std::vector<Traced> inside;
    for (const auto& [key, type] : inputs) inside.push_back(tracer->input(key, blank_of(type)));
    YOLK_TRY(const TracedValues outputs, caught([&] { return fmt::format("Function '{}'", name); },
                                                [&]() -> Result<TracedValues> { return function(inside); }));
    YOLK_TRY(Tracer::TracedBody body, tracer->finish_body(outputs));
    return std::move(body.graph);
}

}  // namespace yolk::hyper
