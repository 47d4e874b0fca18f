// SPDX-License-Identifier: Apache-2.0
#include "gradient_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "batching.hpp"
#include "graph_copy.hpp"
#include "refresh.hpp"
#include "yolk/graph.hpp"

namespace yolk::hyper {
namespace {

/// The batch, and the weighted sum of its rewards.
Result<Graph> weighted_batch(const Graph& scored, std::uint32_t size) {
    YOLK_TRY(const Graph batched, batch(scored, {.size = size}));
    GraphBuilder builder(scored.name);
    Mapping mapping(batched);
    copy_interface(batched, builder, mapping);
    const VariableId weights = builder.input(kWeightsInput, {ValueKind::Tensor, Shape{size}});
    for (const Equation& equation : batched.equations)
        YOLK_TRY_VOID(copy_equation(batched, equation, mapping, builder));
    const std::vector<std::int64_t> flat{static_cast<std::int64_t>(size)};
    YOLK_TRY(const Atom rewards, builder.apply("reshape", {mapping(batched.outputs.front())}, {{"shape", flat}}));
    YOLK_TRY(const Atom weighted, builder.apply("multiply", {rewards, weights}));
    YOLK_TRY(Atom reward, builder.apply("sum", {weighted}, {{"dimension", std::int64_t{0}}}));
    return std::move(builder).finish({std::move(reward)});
}

Result<Graph> derivatives_of(const Graph& graph, std::span<const std::string> groups) {
    return pullback(graph, {.inputs = std::vector<std::string>{},
                            .parameters = std::vector<std::string>(groups.begin(), groups.end())});
}

/// Each element of the stack; numbers and booleans in fp32.
Result<Value> stack_of(const std::string& name, const ValueType& type, std::span<const Value* const> elements) {
    std::vector<float> values;
    for (const Value* element : elements) {
        const bool is_number = type.kind == ValueKind::Number && element->integer() != nullptr;
        if (!is_number && type_of(*element) != type) {
            return bad_input("Input '{}' is {} in one example and {} in another of the same structure.", name,
                             to_string(type), to_string(type_of(*element)));
        }
        if (const Tensor* tensor = element->tensor()) {
            values.insert(values.end(), tensor->values().begin(), tensor->values().end());
        } else {
            YOLK_TRY(const double number, element->as_number());
            values.push_back(static_cast<float>(number));
        }
    }
    std::vector<std::uint64_t> extents{elements.size()};
    if (type.kind == ValueKind::Tensor)
        extents.insert(extents.end(), type.shape.extents().begin(), type.shape.extents().end());
    YOLK_TRY(Tensor stack, Tensor::create(Shape(std::move(extents)), std::move(values)));
    return Value(std::move(stack));
}

}  // namespace

Result<Graph> gradient_graph(const Graph& scored, std::uint32_t size, std::span<const std::string> groups) {
    YOLK_TRY(const Graph flat, inline_calls(scored));
    YOLK_TRY(const Graph batched, weighted_batch(flat, size));
    YOLK_TRY(const Graph derived, derivatives_of(batched, groups));
    return dce(derived, std::vector<bool>(derived.outputs.size(), true));
}

std::vector<std::string> differentiable_groups(const Graph& scored, std::span<const std::string> groups,
                                               std::vector<std::string>* refused) {
    std::vector<std::string> here;
    for (const GraphParameter& parameter : scored.parameters) {
        if (std::ranges::find(groups, parameter.group) != groups.end()) here.push_back(parameter.group);
    }
    const Result<Graph> flat = inline_calls(scored);
    if (flat && derivatives_of(*flat, here)) return here;
    std::vector<std::string> good;
    for (const std::string& group : here) {
        const Result<Graph> alone = flat ? derivatives_of(*flat, std::span(&group, 1)) : flat;
        if (alone) {
            good.push_back(group);
        } else if (refused != nullptr) {
            refused->push_back(fmt::format("'{}' has no derivative: {}", group, alone.error().message));
        }
    }
    return good;
}

std::vector<std::string> givable_inputs(const Graph& graph) {
    const auto only_kernels_read = [&graph](VariableId input) {
        std::vector<bool> from_input(graph.variables.size(), false);
        from_input[input.value] = true;
        for (const Equation& equation : graph.equations) {
            if (!population::reads_any(equation, from_input)) continue;
            if (equation.host != nullptr || !equation.bodies.empty()) return false;
            const auto* ids =
                population::takes_ids(equation) ? std::get_if<VariableId>(&equation.operands[1]) : nullptr;
            if (ids != nullptr && from_input[ids->value]) return false;
            for (const VariableId result : equation.results) from_input[result.value] = true;
        }
        return true;
    };
    std::vector<std::string> names;
    for (const auto& [name, id] : graph.inputs) {
        if (name == kWeightsInput || name == kSeedInput || graph.variables[id.value].type.kind != ValueKind::Tensor)
            continue;
        if (only_kernels_read(id)) names.push_back(name);
    }
    return names;
}

Result<std::map<std::string, Value>> stacked_inputs(const Graph& scored,
                                                    std::span<const std::map<std::string, Value>> examples,
                                                    std::uint32_t size, std::uint32_t count) {
    std::map<std::string, Value> stacked;
    for (const auto& [name, id] : scored.inputs) {
        const ValueType& type = scored.variables[id.value].type;
        std::vector<const Value*> elements;
        for (std::uint32_t e = 0; e < size; ++e) {
            const auto& inputs = examples[e < examples.size() ? e : 0];
            const auto found = inputs.find(name);
            if (found == inputs.end()) return bad_input("An example has no input '{}'; the others have.", name);
            elements.push_back(&found->second);
        }
        if (batched_form(type) == Batched::Form::Listed) {
            for (std::uint32_t e = 0; e < size; ++e) stacked.emplace(fmt::format("{} {}", name, e), *elements[e]);
            continue;
        }
        YOLK_TRY(Value stack, stack_of(name, type, elements));
        stacked.emplace(name, std::move(stack));
    }
    std::vector<float> weights(size, 0.0F);
    std::fill_n(weights.begin(), examples.size(), 1.0F / static_cast<float>(count));
    stacked.emplace(kWeightsInput, Tensor::vector(std::move(weights)));
    stacked.emplace(kSeedInput, Tensor::vector({1.0F}));
    return stacked;
}

}  // namespace yolk::hyper
