// SPDX-License-Identifier: Apache-2.0
// Operations that move tensors and choose among values, and those that run something else: a host function, a body.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "group_value.hpp"
#include "heard_calls.hpp"
#include "operation_lists.hpp"
#include "valid_graph.hpp"
#include "with_extent.hpp"

namespace yolk::hyper {
namespace {

Result<void> all_tensors(const Equation& equation, std::span<const ValueType> operands) {
    const bool fits = !operands.empty() && std::ranges::all_of(operands, [](const ValueType& type) {
        return type.kind == ValueKind::Tensor && type.shape.rank() > 0;
    });
    if (fits) return {};
    return operand_error(equation, operands, "tensors of at least one dimension, one or more");
}

bool are_texts(std::span<const ValueType> operands) {
    return !operands.empty() &&
           std::ranges::all_of(operands, [](const ValueType& type) { return type.kind == ValueKind::Text; });
}

Result<Types> concat_types(const Equation& equation, std::span<const ValueType> operands) {
    if (are_texts(operands)) {
        YOLK_TRY(const std::int64_t dimension, integer_attribute(equation, "dimension"));
        if (dimension == 0) return Types{{ValueKind::Text, {}}};
        return bad_input("concat: texts along dimension {}; they have dimension 0 only.", dimension);
    }
    const bool any = std::ranges::any_of(operands, [](const ValueType& type) { return type.kind == ValueKind::Text; });
    if (any) return operand_error(equation, operands, "texts alone, or tensors alone; format() makes texts of others");
    YOLK_TRY_VOID(all_tensors(equation, operands));
    const Shape& first = operands[0].shape;
    YOLK_TRY(const std::size_t along, dimension_of(equation, first));
    std::uint64_t extent = 0;
    for (const ValueType& operand : operands) {
        if (operand.shape.rank() != first.rank() || with_extent(operand.shape, along, first[along]) != first) {
            return operand_error(equation, operands, fmt::format("tensors that differ along dimension {} only", along));
        }
        extent += operand.shape[along];
    }
    return Types{{ValueKind::Tensor, with_extent(first, along, extent)}};
}

Result<Values> evaluate_concat(const Equation& equation, std::span<const Value> operands) {
    if (operands[0].text() != nullptr) {
        std::string text;
        for (const Value& operand : operands) text += *operand.text();
        return Values{Value(std::move(text))};
    }
    YOLK_TRY(const std::int64_t dimension, integer_attribute(equation, "dimension"));
    std::vector<Tensor> parts;
    for (const Value& operand : operands) parts.push_back(*operand.tensor());
    YOLK_TRY(Tensor whole, concat(parts, dimension));
    return Values{std::move(whole)};
}

Result<Types> split_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 1));
    YOLK_TRY_VOID(all_tensors(equation, operands));
    YOLK_TRY(const std::size_t along, dimension_of(equation, operands[0].shape));
    YOLK_TRY(const std::vector<std::uint64_t> sizes, extents_attribute(equation, "sizes"));
    const std::uint64_t extent = operands[0].shape[along];
    std::uint64_t sum = 0;
    Types types;
    for (const std::uint64_t size : sizes) {
        sum = size > extent - std::min(sum, extent) ? extent + 1 : sum + size;
        types.push_back({ValueKind::Tensor, with_extent(operands[0].shape, along, size)});
    }
    if (sum != extent || sizes.empty()) {
        return bad_input("split: sizes [{}] of a tensor {}; along dimension {} they must sum to {}.",
                         fmt::join(sizes, ", "), operands[0].shape.to_string(), along, extent);
    }
    return types;
}

Result<Values> evaluate_split(const Equation& equation, std::span<const Value> operands) {
    YOLK_TRY(const std::int64_t dimension, integer_attribute(equation, "dimension"));
    YOLK_TRY(const std::vector<std::uint64_t> sizes, extents_attribute(equation, "sizes"));
    YOLK_TRY(std::vector<Tensor> parts, split(*operands[0].tensor(), sizes, dimension));
    return Values(parts.begin(), parts.end());
}

Result<Types> reshape_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 1));
    if (operands[0].kind != ValueKind::Tensor) return operand_error(equation, operands, "a tensor");
    YOLK_TRY(std::vector<std::uint64_t> extents, extents_attribute(equation, "shape"));
    const Shape shape(std::move(extents));
    YOLK_TRY(const std::uint64_t count, shape.element_count());
    YOLK_TRY(const std::uint64_t given, operands[0].shape.element_count());
    if (shape.rank() == 0 || count != given) {
        return bad_input("reshape: a tensor {} to {}; the elements must be as many ({}).",
                         operands[0].shape.to_string(), shape.to_string(), given);
    }
    return Types{{ValueKind::Tensor, shape}};
}

Result<Values> evaluate_reshape(const Equation& equation, std::span<const Value> operands) {
    YOLK_TRY(std::vector<std::uint64_t> extents, extents_attribute(equation, "shape"));
    const auto values = operands[0].tensor()->values();
    YOLK_TRY(Tensor tensor, Tensor::create(Shape(std::move(extents)), {values.begin(), values.end()}));
    return Values{std::move(tensor)};
}

Result<Types> select_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 3));
    if (operands[0].kind != ValueKind::Boolean || operands[1] != operands[2])
        return operand_error(equation, operands, "a boolean and two values of one type");
    return Types{operands[1]};
}

Result<Values> evaluate_select(const Equation&, std::span<const Value> operands) {
    return Values{*operands[0].boolean() ? operands[1] : operands[2]};
}

// A host function decides the type of its result when it runs: the graph's variable has it.
Result<Types> host_call_types(const Equation& equation, std::span<const ValueType> operands) {
    if (equation.host == nullptr) return bad_input("host_call: the equation has no host function.");
    if (operands.empty() || (operands[0].kind != ValueKind::Tensor && operands[0].kind != ValueKind::Text))
        return operand_error(equation, operands, "the parameters (a tensor or a text) first, then the operands");
    return Types{};
}

Result<Values> evaluate_host_call(const Equation& equation, std::span<const Value> operands) {
    Result<Value> result = run_caught(*equation.host, host_call_of(operands[0], operands.subspan(1)));
    HeardCalls::hear(equation, operands.subspan(1), result);
    if (!result) return std::move(result).error();
    return Values{*std::move(result)};
}

Result<Types> call_types(const Equation& equation, std::span<const ValueType> operands) {
    if (equation.bodies.size() != 1 || equation.bodies[0] == nullptr)
        return bad_input("call: {} bodies were given; it has one.", equation.bodies.size());
    const Graph& body = *equation.bodies[0];
    if (!body.parameters.empty())
        return bad_input("call: body '{}' has its own parameters; pass them in as operands.", body.name);
    YOLK_TRY_VOID(expect_operands(equation, operands, body.inputs.size()));
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const ValueType& wanted = body.variables.at(body.inputs[i].second.value).type;
        if (operands[i] == wanted) continue;
        return bad_input("call: operand {} of body '{}' is {}; its input '{}' is {}.", i, body.name,
                         to_string(operands[i]), body.inputs[i].first, to_string(wanted));
    }
    Types types;
    for (const Atom& output : body.outputs) {
        const Value* literal = std::get_if<Value>(&output);
        types.push_back(literal != nullptr ? type_of(*literal)
                                           : body.variables.at(std::get<VariableId>(output).value).type);
    }
    return types;
}

Result<Values> evaluate_call(const Equation& equation, std::span<const Value> operands) {
    return call_valid(*equation.bodies[0], {.inputs = {operands.begin(), operands.end()}});
}

constexpr std::array kStructureOperations{
    Operation{"concat", concat_types, evaluate_concat},
    Operation{"split", split_types, evaluate_split},
    Operation{"reshape", reshape_types, evaluate_reshape},
    Operation{"select", select_types, evaluate_select},
    Operation{"host_call", host_call_types, evaluate_host_call, true},
    Operation{"call", call_types, evaluate_call},
};

}  // namespace

std::span<const Operation> structure_operations() noexcept { return kStructureOperations; }

}  // namespace yolk::hyper
