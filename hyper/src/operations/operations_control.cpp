// SPDX-License-Identifier: Apache-2.0
// Operations that run bodies: branches and loops. On the host each body is a graph that is called.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "article.hpp"
#include "graph_queries.hpp"
#include "operation_lists.hpp"
#include "valid_graph.hpp"
#include "yolk/internal/hyper/foreign_code.hpp"
#include "yolk/stop.hpp"

namespace yolk::hyper {

thread_local bool LoopsHeedStop::on_ = false;

namespace {

using BodyTypes = std::span<const ValueType>;

Result<void> expect_bodies(const Equation& equation, std::size_t count) {
    const bool whole = std::ranges::all_of(equation.bodies, [](const auto& body) { return body != nullptr; });
    if (equation.bodies.size() == count && whole) return {};
    return bad_input("{}: {} bodies were given; it has {}, none empty.", equation.operation->name,
                     equation.bodies.size(), count);
}

ValueType output_type(const Graph& body, std::size_t output) {
    if (const Value* literal = std::get_if<Value>(&body.outputs[output])) return type_of(*literal);
    return body.variables.at(std::get<VariableId>(body.outputs[output]).value).type;
}

Types output_types_of(const Graph& body) {
    Types types;
    for (std::size_t i = 0; i < body.outputs.size(); ++i) types.push_back(output_type(body, i));
    return types;
}

/// The inputs of a body against what it will be given.
Result<void> expect_inputs(const Equation& equation, const Graph& body, BodyTypes given) {
    const std::string_view name = equation.operation->name;
    if (!body.parameters.empty()) {
        return bad_input("{}: body '{}' has its own parameters; pass them in as operands.", name, body.name);
    }
    if (body.inputs.size() != given.size()) {
        return bad_input("{}: body '{}' has {} inputs; here it is given {}.", name, body.name, body.inputs.size(),
                         given.size());
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
        const ValueType& wanted = body.variables.at(body.inputs[i].second.value).type;
        if (given[i] == wanted) continue;
        return bad_input("{}: input {} ('{}') of body '{}' is {}; here it is given {}.", name, i, body.inputs[i].first,
                         body.name, with_article(wanted), with_article(given[i]));
    }
    return {};
}

/// The first outputs of a step against the carries that go in.
Result<void> expect_carries(const Equation& equation, const Graph& body, BodyTypes carries) {
    if (body.outputs.size() < carries.size()) {
        return bad_input("{}: body '{}' gives {} values; it must give the {} carries back.", equation.operation->name,
                         body.name, body.outputs.size(), carries.size());
    }
    for (std::size_t i = 0; i < carries.size(); ++i) {
        const ValueType given = output_type(body, i);
        if (given == carries[i]) continue;
        return bad_input("{}: carry {} of body '{}' goes in as {} and comes back as {}; it must keep its type.",
                         equation.operation->name, i, body.name, with_article(carries[i]), with_article(given));
    }
    return {};
}

Result<std::size_t> count_attribute(const Equation& equation, std::string_view name, std::size_t most) {
    YOLK_TRY(const std::int64_t count, integer_attribute(equation, name));
    if (count < 0 || static_cast<std::uint64_t>(count) > most) {
        return bad_input("{}: {} is {}; it must be from 0 to {}.", equation.operation->name, name, count, most);
    }
    return static_cast<std::size_t>(count);
}

Result<Values> call_body(const Graph& body, Values inputs) { return call_valid(body, {.inputs = std::move(inputs)}); }

// --- switch

Result<Types> switch_types(const Equation& equation, BodyTypes operands) {
    if (operands.empty() || equation.bodies.empty())
        return operand_error(equation, operands, "a key, what the branches read, and at least one branch");
    YOLK_TRY_VOID(expect_bodies(equation, equation.bodies.size()));
    const ValueType& key = operands[0];
    const bool one = key.kind == ValueKind::Tensor && key.shape.element_count().value_or(0) == 1;
    const bool is_number = key.kind == ValueKind::Number || key.kind == ValueKind::Integer;
    if (key.kind != ValueKind::Boolean && !is_number && !one)
        return operand_error(equation, operands, "first a key: a boolean, a number or a tensor of one element");
    if (key.kind == ValueKind::Boolean && equation.bodies.size() != 2) {
        return bad_input("switch: {} branches for a boolean key; it takes two, for false and for true.",
                         equation.bodies.size());
    }
    const Types types = output_types_of(*equation.bodies[0]);
    for (std::size_t i = 0; i < equation.bodies.size(); ++i) {
        YOLK_TRY_VOID(expect_inputs(equation, *equation.bodies[i], operands.subspan(1)));
        if (output_types_of(*equation.bodies[i]) != types) {
            return bad_input(
                "switch: branch {} ('{}') gives other values than branch 0 ('{}'); all must have the same "
                "types and shapes.",
                i, equation.bodies[i]->name, equation.bodies[0]->name);
        }
    }
    return types;
}

Result<Values> evaluate_switch(const Equation& equation, std::span<const Value> operands) {
    YOLK_TRY(const double key, operands[0].as_number());
    if (!(key >= 0.0) || key >= static_cast<double>(equation.bodies.size()) || key != std::floor(key)) {
        return bad_input("switch: there is no branch for the key {}; keys are whole numbers from 0 to {}.", key,
                         equation.bodies.size() - 1);
    }
    return call_body(*equation.bodies[static_cast<std::size_t>(key)], {operands.begin() + 1, operands.end()});
}

// --- while_loop

Result<Types> while_types(const Equation& equation, BodyTypes operands) {
    YOLK_TRY_VOID(expect_bodies(equation, 2));
    YOLK_TRY(const std::size_t carries, count_attribute(equation, "carries", operands.size()));
    YOLK_TRY_VOID(integer_attribute(equation, "limit"));
    const Graph &condition = *equation.bodies[0], &step = *equation.bodies[1];
    YOLK_TRY_VOID(expect_inputs(equation, condition, operands));
    YOLK_TRY_VOID(expect_inputs(equation, step, operands));
    if (condition.outputs.size() != 1 || output_type(condition, 0).kind != ValueKind::Boolean) {
        return bad_input("while_loop: the condition '{}' must give one boolean: less, equal, or logic of them.",
                         condition.name);
    }
    YOLK_TRY_VOID(expect_carries(equation, step, operands.first(carries)));
    if (step.outputs.size() != carries) {
        return bad_input("while_loop: body '{}' gives {} values for {} carries; a loop that collects is a scan.",
                         step.name, step.outputs.size(), carries);
    }
    return Types(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(carries));
}

Result<void> check_not_stopped(std::string_view loop, std::uint64_t steps) {
    if (!LoopsHeedStop::is_on() || !stop_requested()) return {};
    return cancelled("{}: the process was asked to end after {} steps.", loop, steps);
}

/// Runs the loop; `visit` sees the values at the beginning of each step. The values in the end.
template <class Visit>
Result<Values> run_loop(const Equation& equation, std::span<const Value> start, const Visit& visit) {
    YOLK_TRY(const std::int64_t limit, integer_attribute(equation, "limit"));
    Values values(start.begin(), start.end());
    for (std::int64_t step = 0;; ++step) {
        YOLK_TRY(const Values holds, call_body(*equation.bodies[0], values));
        if (!*holds.at(0).boolean()) return values;
        if (step >= limit) {
            return failed_work(
                "while_loop: condition '{}' still holds after {} steps, the loop's limit; raise the "
                "limit, or see why it does not end.",
                equation.bodies[0]->name, limit);
        }
        YOLK_TRY_VOID(check_not_stopped("while_loop", static_cast<std::uint64_t>(step)));
        visit(values);
        YOLK_TRY(Values next, call_body(*equation.bodies[1], values));
        std::ranges::move(next, values.begin());
    }
}

Result<Values> evaluate_while(const Equation& equation, std::span<const Value> operands) {
    YOLK_TRY(const std::size_t carries, count_attribute(equation, "carries", operands.size()));
    YOLK_TRY(Values values, run_loop(equation, operands, [](const Values&) {}));
    values.resize(carries);
    return values;
}

// Operands: carries, constants, cotangents of the carries that can move. Bodies: condition, step, the step's pullback,
// of (carries, constants, cotangents) -> cotangents of carries, then of some constants, which add up over the steps.
Result<Types> while_pullback_types(const Equation& equation, BodyTypes operands) {
    YOLK_TRY_VOID(expect_bodies(equation, 3));
    YOLK_TRY(const std::size_t carries, count_attribute(equation, "carries", operands.size()));
    const auto moving = static_cast<std::size_t>(std::ranges::count_if(operands.first(carries), can_move));
    if (operands.size() < carries + moving)
        return operand_error(equation, operands, "carries, constants, and a cotangent for each carry that moves");
    YOLK_TRY_VOID(expect_inputs(equation, *equation.bodies[1], operands.first(operands.size() - moving)));
    YOLK_TRY_VOID(expect_inputs(equation, *equation.bodies[2], operands));
    YOLK_TRY_VOID(expect_carries(equation, *equation.bodies[2], operands.last(moving)));
    return output_types_of(*equation.bodies[2]);
}

/// b is of an earlier step than a; texts are put in the order of the steps.
Result<Value> added(const Value& a, const Value& b) {
    if (a.number() != nullptr) return Value(*a.number() + *b.number());
    if (a.text() != nullptr) return Value(*b.text() + *a.text());
    if (const Record* record = a.record()) {
        Record::Fields fields = record->fields();
        for (auto& [name, field] : fields) {
            if (!can_move(type_of(field))) continue;
            YOLK_TRY(field, added(field, *b.record()->find(name)));
        }
        YOLK_TRY(Record sum, Record::create(std::move(fields)));
        return Value(std::move(sum));
    }
    std::vector<float> sum(a.tensor()->values().begin(), a.tensor()->values().end());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += b.tensor()->values()[i];
    YOLK_TRY(Tensor tensor, Tensor::create(a.tensor()->shape(), std::move(sum)));
    return Value(std::move(tensor));
}

Result<Values> evaluate_while_pullback(const Equation& equation, std::span<const Value> operands) {
    YOLK_TRY(const std::size_t carries, count_attribute(equation, "carries", operands.size()));
    std::size_t moving = 0;
    for (std::size_t i = 0; i < carries; ++i) moving += can_move(type_of(operands[i])) ? 1U : 0U;
    std::vector<Values> steps;
    YOLK_TRY_VOID(run_loop(equation, operands.first(operands.size() - moving),
                           [&](const Values& values) { steps.push_back(values); }));
    const Graph& back = *equation.bodies[2];
    Values cotangents(operands.end() - static_cast<std::ptrdiff_t>(moving), operands.end());
    for (std::size_t i = moving; i < back.outputs.size(); ++i) cotangents.push_back(blank_of(output_type(back, i)));
    for (std::size_t step = steps.size(); step-- > 0;) {
        Values inputs = std::move(steps[step]);
        inputs.insert(inputs.end(), cotangents.begin(), cotangents.begin() + static_cast<std::ptrdiff_t>(moving));
        YOLK_TRY(Values before, call_body(back, std::move(inputs)));
        for (std::size_t i = 0; i < moving; ++i) cotangents[i] = std::move(before[i]);
        for (std::size_t i = moving; i < before.size(); ++i) {
            YOLK_TRY(cotangents[i], added(cotangents[i], before[i]));
        }
    }
    return cotangents;
}

// --- scan

/// What a scan's operands and results are.
struct ScanLayout {
    std::size_t carries = 0, sequences = 0;
    std::uint64_t length = 0;
    bool reverse = false;
};

Result<ScanLayout> scan_layout(const Equation& equation, std::size_t operands) {
    YOLK_TRY(const std::size_t carries, count_attribute(equation, "carries", operands));
    YOLK_TRY(const std::size_t sequences, count_attribute(equation, "sequences", operands - carries));
    YOLK_TRY(const std::int64_t length, integer_attribute(equation, "length"));
    YOLK_TRY(const std::int64_t reverse, integer_attribute(equation, "reverse"));
    if (length < 0) return bad_input("scan: length is {}; it may not be negative.", length);
    return ScanLayout{carries, sequences, static_cast<std::uint64_t>(length), reverse != 0};
}

/// Of [length, ...]: [...], and [1] of [length].
Shape element_shape(const Shape& sequence) {
    if (sequence.rank() <= 1) return {1};
    return Shape(std::vector<std::uint64_t>(sequence.extents().begin() + 1, sequence.extents().end()));
}

/// Numbers stack to [length].
Shape stacked_shape(std::uint64_t length, const ValueType& element) {
    std::vector<std::uint64_t> extents{length};
    extents.insert(extents.end(), element.shape.extents().begin(), element.shape.extents().end());
    return Shape(std::move(extents));
}

Result<Types> scan_types(const Equation& equation, BodyTypes operands) {
    YOLK_TRY_VOID(expect_bodies(equation, 1));
    const Graph& body = *equation.bodies[0];
    YOLK_TRY(const ScanLayout layout, scan_layout(equation, operands.size()));
    Types inputs(operands.begin(), operands.end());
    for (std::size_t i = layout.carries; i < layout.carries + layout.sequences; ++i) {
        const Shape& shape = operands[i].shape;
        if (operands[i].kind != ValueKind::Tensor || shape.rank() == 0 || shape[0] != layout.length) {
            return bad_input("scan: sequence {} is {}; it must be a tensor [{}, ...], one element for each step.",
                             i - layout.carries, with_article(operands[i]), layout.length);
        }
        inputs[i].shape = element_shape(shape);
    }
    YOLK_TRY_VOID(expect_inputs(equation, body, inputs));
    YOLK_TRY_VOID(expect_carries(equation, body, operands.first(layout.carries)));
    Types types(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(layout.carries));
    for (std::size_t i = layout.carries; i < body.outputs.size(); ++i) {
        const ValueType element = output_type(body, i);
        if (element.kind != ValueKind::Tensor && element.kind != ValueKind::Number) {
            return bad_input(
                "scan: result {} of body '{}' is {}; tensors and numbers can be stacked (to_number() makes a number "
                "of "
                "an integer).",
                i - layout.carries, body.name, with_article(element));
        }
        types.push_back({ValueKind::Tensor, stacked_shape(layout.length, element)});
    }
    return types;
}

/// Element `at` of a sequence; they share their storage.
Result<std::vector<std::vector<Tensor>>> elements_of(const ScanLayout& layout, std::span<const Value> operands) {
    std::vector<std::vector<Tensor>> elements;
    for (std::size_t i = layout.carries; i < layout.carries + layout.sequences; ++i) {
        const Tensor& sequence = *operands[i].tensor();
        const auto values = sequence.values();
        if (values.empty()) {
            elements.emplace_back(layout.length, Tensor::filled(element_shape(sequence.shape()), 0.0F));
            continue;
        }
        YOLK_TRY(std::vector<Tensor> parts,
                 Tensor::slices(element_shape(sequence.shape()), {values.begin(), values.end()}));
        elements.push_back(std::move(parts));
    }
    return elements;
}

void put_element(std::vector<float>& stack, std::uint64_t at, const Value& element) {
    if (const double* number = element.number()) {
        stack[at] = static_cast<float>(*number);
        return;
    }
    const auto values = element.tensor()->values();
    std::ranges::copy(values, stack.begin() + static_cast<std::ptrdiff_t>(at * values.size()));
}

Result<Values> evaluate_scan(const Equation& equation, std::span<const Value> operands) {
    const Graph& body = *equation.bodies[0];
    YOLK_TRY(const ScanLayout layout, scan_layout(equation, operands.size()));
    YOLK_TRY(const auto elements, elements_of(layout, operands));
    Values inputs(operands.begin(), operands.end());
    std::vector<Shape> shapes;
    std::vector<std::vector<float>> stacks;
    for (std::size_t i = layout.carries; i < body.outputs.size(); ++i) {
        shapes.push_back(stacked_shape(layout.length, output_type(body, i)));
        YOLK_TRY(const std::uint64_t count, shapes.back().element_count());
        stacks.emplace_back(count);
    }
    for (std::uint64_t step = 0; step < layout.length; ++step) {
        YOLK_TRY_VOID(check_not_stopped("scan", step));
        const std::uint64_t at = layout.reverse ? layout.length - 1 - step : step;
        for (std::size_t i = 0; i < layout.sequences; ++i) inputs[layout.carries + i] = elements[i][at];
        YOLK_TRY(Values outputs, call_body(body, inputs));
        for (std::size_t i = 0; i < stacks.size(); ++i) put_element(stacks[i], at, outputs[layout.carries + i]);
        for (std::size_t i = 0; i < layout.carries; ++i) inputs[i] = std::move(outputs[i]);
    }
    inputs.resize(layout.carries);
    for (std::size_t i = 0; i < stacks.size(); ++i) {
        YOLK_TRY(Tensor stack, Tensor::create(shapes[i], std::move(stacks[i])));
        inputs.emplace_back(std::move(stack));
    }
    return inputs;
}

// --- parallel, weighted: one body, as call

Result<Types> one_body_types(const Equation& equation, BodyTypes operands) {
    YOLK_TRY_VOID(expect_bodies(equation, 1));
    YOLK_TRY_VOID(expect_inputs(equation, *equation.bodies[0], operands));
    return output_types_of(*equation.bodies[0]);
}

Result<Values> evaluate_one_body(const Equation& equation, std::span<const Value> operands) {
    return call_body(*equation.bodies[0], {operands.begin(), operands.end()});
}

constexpr std::array kControlOperations{
    Operation{"switch", switch_types, evaluate_switch},
    Operation{"while_loop", while_types, evaluate_while},
    Operation{"while_loop_pullback", while_pullback_types, evaluate_while_pullback},
    Operation{"scan", scan_types, evaluate_scan},
    Operation{"parallel", one_body_types, evaluate_one_body},
    Operation{"weighted", one_body_types, evaluate_one_body},
};

}  // namespace

std::span<const Operation> control_operations() noexcept { return kControlOperations; }

}  // namespace yolk::hyper
