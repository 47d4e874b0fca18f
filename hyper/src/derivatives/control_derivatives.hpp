// SPDX-License-Identifier: Apache-2.0
// Derivatives of equations that have bodies: the bodies' derivatives, under the same rules.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "graph_copy.hpp"

namespace yolk::hyper {

/// The rules that one run of pushforward goes by, in bodies as well.
struct PushRules {
    const RuleTable<PushRule>& operations;
    const HyperfunctionRules<PushRule>& hyperfunctions;
};
struct PullRules {
    const RuleTable<PullRule>& operations;
    const HyperfunctionRules<PullRule>& hyperfunctions;
};

/// The rule of operations through which no cotangent goes: what they give does not move, so that what reads it needs
/// no rule.
struct PullNothing {
    [[nodiscard]] Result<std::vector<Tangent>> operator()(GraphBuilder&, const Equation&,
                                                          std::span<const Atom> operands, std::span<const Atom>,
                                                          std::span<const Tangent>, const std::vector<bool>&) const {
        return std::vector<Tangent>(operands.size());
    }
};

/// call, switch, scan, while_loop, and what else runs bodies.
[[nodiscard]] bool has_bodies(const Equation& equation);

/// An equation and its movement in one.
struct PushedEquation {
    std::vector<Atom> results;
    std::vector<Tangent> tangents;
};
/// Errors: no rule (while_loop, weighted), those of the bodies.
[[nodiscard]] Result<PushedEquation> push_bodies(GraphBuilder& builder, const Graph& graph, const Equation& equation,
                                                 std::span<const Atom> operands, std::span<const Tangent> tangents,
                                                 const PushRules& rules);
struct PushedGraph {
    Graph graph{};
    std::vector<bool> moved{};  ///< by output: whether its movement is more than a zero
};
/// Inputs that are `still` (by input; empty: none) have no movement, and no input for it.
[[nodiscard]] Result<PushedGraph> pushforward_by(const Graph& graph, const PushRules& rules,
                                                 const std::vector<bool>& still = {});

/// What an equation leaves for its pullback, beside its results.
struct ForwardEquation {
    std::vector<Atom> results;
    std::vector<Atom> kept{};  ///< of a scan: the carries before each step, stacked
};
[[nodiscard]] Result<ForwardEquation> forward_bodies(GraphBuilder& builder, const Graph& graph,
                                                     const Equation& equation, std::vector<Atom> operands);
/// Cotangents of the operands. Errors: no rule, those of the bodies.
[[nodiscard]] Result<std::vector<Tangent>> pull_bodies(GraphBuilder& builder, const Graph& graph,
                                                       const Equation& equation, std::span<const Atom> operands,
                                                       const ForwardEquation& forward,
                                                       std::span<const Tangent> cotangents,
                                                       const std::vector<bool>& wanted, const PullRules& rules);
/// Inputs and parameters by position.
struct WantedCotangents {
    std::vector<bool> inputs{};
    std::vector<bool> parameters{};
};
[[nodiscard]] Result<Graph> pullback_by(const Graph& graph, const WantedCotangents& wanted, const PullRules& rules);
/// Only the cotangents: of a body's inputs where `wanted`, out of (inputs, cotangents of the outputs that can move).
[[nodiscard]] Result<Body> cotangents_of_body(const Graph& body, std::vector<bool> wanted, const PullRules& rules);

/// A rule for the hyperfunction that the equation calls, as one host call or one call; nullptr for none.
template <class Rule>
[[nodiscard]] const Rule* custom_rule(const HyperfunctionRules<Rule>& rules, const Equation& equation) {
    if (!is(equation, "host_call") && !is(equation, "call")) return nullptr;
    const auto found = rules.find(equation.hyperfunction);
    return found != rules.end() ? &found->second : nullptr;
}

/// The operation's, or that of model calls; nullptr for none.
template <class Rule>
[[nodiscard]] const Rule* rule_of(const RuleTable<Rule>& rules, const Equation& equation, const Rule& of_models) {
    const auto found = rules.find(equation.operation);
    if (found != rules.end()) return &found->second;
    return equation.host != nullptr && equation.host->model != nullptr ? &of_models : nullptr;
}
/// The model on the movements of the messages; and one more call for each message, which is asked what the feedback on
/// the answer means for it.
[[nodiscard]] const PushRule& push_model_rule();
[[nodiscard]] const PullRule& pull_model_rule();

/// Names of inputs, each once: a second "d x" is "d x'".
class InputNames {
   public:
    explicit InputNames(const Graph& graph) {
        for (const auto& [name, id] : graph.inputs) taken_.insert(name);
    }
    [[nodiscard]] std::string fresh(std::string name) {
        while (!taken_.insert(name).second) name += '\'';
        return name;
    }

   private:
    std::set<std::string> taken_;
};

}  // namespace yolk::hyper
