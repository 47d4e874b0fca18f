// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/rollout_lowering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "article.hpp"

namespace yolk::hyper {
namespace {

VariableId add_variable(Graph& graph, Shape shape, std::string name) {
    const VariableId id(static_cast<std::uint32_t>(graph.variables.size()));
    graph.variables.push_back({{ValueKind::Tensor, std::move(shape)}, std::move(name)});
    return id;
}

VariableId add_parameter(Graph& graph, Shape shape, const std::string& name) {
    const VariableId id = add_variable(graph, std::move(shape), name);
    graph.parameters.push_back({id, name});
    return id;
}

VariableId add_equation(Graph& graph, std::string_view operation, std::vector<Atom> operands, Shape shape) {
    const VariableId result = add_variable(graph, std::move(shape), {});
    graph.equations.push_back(
        {.operation = find_operation(operation), .operands = std::move(operands), .results = {result}});
    return result;
}

/// The chain's equations from the first on; each must take what the one before gave.
class Chain {
   public:
    Chain(const Graph& graph, VariableId input) : graph_(graph), value_(input) {}

    [[nodiscard]] bool at_end() const noexcept { return next_ == graph_.equations.size(); }
    [[nodiscard]] VariableId value() const noexcept { return value_; }
    [[nodiscard]] bool next_is(std::string_view operation) const {
        return !at_end() && graph_.equations[next_].operation->name == operation;
    }
    /// The group of the parameter that the next equation combines the value with. Its operands are (parameter, value)
    /// where `parameter` is 0, (value, parameter) where it is 1.
    [[nodiscard]] Result<std::string> take_parameter(std::string_view operation, std::size_t parameter) {
        if (!next_is(operation)) return off_chain(operation);
        const Equation& equation = graph_.equations[next_];
        const auto* value = std::get_if<VariableId>(&equation.operands.at(1 - parameter));
        const auto* variable = std::get_if<VariableId>(&equation.operands.at(parameter));
        if (value == nullptr || *value != value_ || variable == nullptr) return off_chain(operation);
        const auto found = std::ranges::find(graph_.parameters, *variable, &GraphParameter::variable);
        if (found == graph_.parameters.end()) return off_chain(operation);
        advance();
        return found->group;
    }
    [[nodiscard]] Result<void> take(std::string_view operation) {
        const Atom value(value_);
        if (!next_is(operation) || graph_.equations[next_].operands != std::vector<Atom>{value})
            return off_chain(operation);
        advance();
        return {};
    }

   private:
    void advance() { value_ = graph_.equations[next_++].results.at(0); }
    [[nodiscard]] Error off_chain(std::string_view expected) const {
        const std::string found =
            at_end() ? "the graph ends"
                     : fmt::format("equation {} is '{}'", next_, graph_.equations[next_].operation->name);
        return unsupported(
            "The roll-out kernel runs chains of linear, add of a bias and tanh, the last layer without tanh; "
            "in '{}' {} where '{}' of the layer before and of a parameter is expected. Use such a network, or "
            "evaluate the graph as a population.",
            graph_.name, found, expected);
    }

    const Graph& graph_;
    std::size_t next_ = 0;
    VariableId value_;
};

Result<VariableId> observation_of(const Graph& graph) {
    if (graph.inputs.size() != 1 || graph.outputs.size() != 1) {
        return unsupported(
            "The roll-out kernel gives a policy one observation and takes one output; '{}' has {} "
            "inputs and {} outputs.",
            graph.name, graph.inputs.size(), graph.outputs.size());
    }
    const VariableId input = graph.inputs[0].second;
    const ValueType& type = graph.variables[input.value].type;
    if (type.kind != ValueKind::Tensor || type.shape.rank() != 1) {
        return unsupported("The roll-out kernel's observation is a tensor [n]; the input '{}' of '{}' is {}.",
                           graph.inputs[0].first, graph.name, with_article(type));
    }
    return input;
}

std::uint32_t width_of(const Graph& graph, VariableId variable) {
    return static_cast<std::uint32_t>(graph.variables[variable.value].type.shape[0]);
}

}  // namespace

Graph policy_graph(std::span<const std::uint32_t> widths) {
    const PolicyNetwork network{.widths = {widths.begin(), widths.end()}};
    Graph graph{.name = "policy"};
    const std::vector<ParameterDesc> parameters = network.parameters();
    VariableId value = add_variable(graph, {network.widths.at(0)}, "observation");
    graph.inputs.emplace_back("observation", value);
    for (std::size_t layer = 0; layer + 1 < network.widths.size(); ++layer) {
        const std::uint64_t in = network.widths[layer];
        const std::uint64_t out = network.widths[layer + 1];
        const VariableId weight = add_parameter(graph, {out, in}, parameters[2 * layer].name);
        const VariableId bias = add_parameter(graph, {out}, parameters[2 * layer + 1].name);
        value = add_equation(graph, "linear", {weight, value}, {out});
        value = add_equation(graph, "add", {value, bias}, {out});
        if (layer + 2 < network.widths.size()) value = add_equation(graph, "tanh", {value}, {out});
    }
    graph.outputs = {value};
    return graph;
}

Result<RolloutNetwork> lower_to_rollout(const Graph& graph) {
    YOLK_TRY_VOID(validate(graph));
    YOLK_TRY(const VariableId observation, observation_of(graph));
    RolloutNetwork lowered;
    lowered.network.widths = {width_of(graph, observation)};
    Chain chain(graph, observation);
    while (true) {
        YOLK_TRY(std::string weight, chain.take_parameter("linear", 0));
        YOLK_TRY(std::string bias, chain.take_parameter("add", 1));
        lowered.groups.push_back(std::move(weight));
        lowered.groups.push_back(std::move(bias));
        lowered.network.widths.push_back(width_of(graph, chain.value()));
        if (chain.at_end()) break;
        YOLK_TRY_VOID(chain.take("tanh"));
    }
    if (graph.outputs[0] != Atom(chain.value())) {
        return unsupported(
            "The roll-out kernel takes the last layer's outputs as actions; the output of '{}' is another value.",
            graph.name);
    }
    return lowered;
}

}  // namespace yolk::hyper
