// SPDX-License-Identifier: Apache-2.0
// Transforms: each takes a graph and returns a graph, so they compose. What one does with an operation is a rule in its
// own table, keyed by the operation; equations with bodies (call) are transformed by transforming the bodies.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/core/result.hpp"
#include "yolk/hyper/graph.hpp"

namespace yolk::hyper {

/// Writes a graph equation by equation; what it hands out is valid.
class GraphBuilder {
   public:
    explicit GraphBuilder(std::string name) { graph_.name = std::move(name); }
    VariableId input(std::string name, ValueType type);
    VariableId parameter(std::string group, ValueType type);
    /// Appends `equation` (its results are made here) and returns them. Host functions' results are of `host_types`.
    /// Errors: operands that do not fit.
    [[nodiscard]] Result<std::vector<Atom>> add(Equation equation, std::span<const ValueType> host_types = {});
    /// An operation of one result.
    [[nodiscard]] Result<Atom> apply(std::string_view operation, std::vector<Atom> operands,
                                     Attributes attributes = {});
    [[nodiscard]] ValueType type(const Atom& atom) const;
    [[nodiscard]] Graph finish(std::vector<Atom> outputs) &&;

   private:
    VariableId variable(ValueType type, std::string name);
    Graph graph_;
};

/// Rules of one transform.
template <class Rule>
using RuleTable = std::map<const Operation*, Rule>;

/// The graph of those outputs alone: equations that none of them needs are gone, in bodies too; those with effects
/// (host functions) stay. Inputs stay, parameters that nothing reads go. Error: another number of outputs.
[[nodiscard]] Result<Graph> dce(const Graph& graph, const std::vector<bool>& outputs_used);

/// Calls replaced by their bodies' equations, all the way down.
[[nodiscard]] Result<Graph> inline_calls(const Graph& graph);

/// The graph as one call of itself: inputs and parameters as before, the body takes the parameters as inputs.
[[nodiscard]] Result<Graph> as_call(const Graph& graph);

/// How an output moves with the inputs; none: not at all.
using Tangent = std::optional<Atom>;
/// Tangents of an equation's results, out of those of its operands, of which at least one moves. `results` are what the
/// equation, already in the builder, came to.
using PushRule = std::function<Result<std::vector<Tangent>>(
    GraphBuilder& builder, const Equation& equation, std::span<const Atom> operands, std::span<const Tangent> tangents,
    std::span<const Atom> results)>;
[[nodiscard]] const RuleTable<PushRule>& pushforward_rules();

/// Directional derivatives: after the graph's inputs comes "d NAME" for each tensor or number among them; after its
/// outputs come theirs (zeros of their type where they do not move; nothing for text and booleans). Parameters do not
/// move. Errors: an operation that moves and has no rule, named.
[[nodiscard]] Result<Graph> pushforward(const Graph& graph, const RuleTable<PushRule>& rules = pushforward_rules());

}  // namespace yolk::hyper
