// SPDX-License-Identifier: Apache-2.0
// Transforms: each takes a graph and returns a graph, so they compose. What one does with an operation is a rule in its
// own table, keyed by the operation; equations with bodies (call, switch, loops) are transformed by transforming the
// bodies. batch.hpp and schedule.hpp have the others.
#pragma once

#include <cstdint>
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
    /// The field of a record that this graph packs is what went in: no equation. Errors: operands that do not fit.
    [[nodiscard]] Result<std::vector<Atom>> add(Equation equation, std::span<const ValueType> host_types = {});
    /// An operation of one result.
    [[nodiscard]] Result<Atom> apply(std::string_view operation, std::vector<Atom> operands,
                                     Attributes attributes = {});
    /// Equations that are added from now on, and are of no hyperfunction themselves, belong where `origin` does: its
    /// hyperfunction, call, tags and line, for messages.
    void stand_for(const Equation& origin);
    [[nodiscard]] ValueType type(const Atom& atom) const;
    /// `names`: of the outputs, all or none.
    [[nodiscard]] Graph finish(std::vector<Atom> outputs, std::vector<std::string> names = {}) &&;

   private:
    VariableId variable(ValueType type, std::string name);
    [[nodiscard]] std::optional<Atom> unpacked(const Equation& equation) const;
    Graph graph_;
    std::map<std::uint32_t, std::size_t> packs_{};  ///< equations, by their results
    Equation origin_{};                             ///< no more than whose place others take
};

/// Rules of one transform.
template <class Rule>
using RuleTable = std::map<const Operation*, Rule>;

/// The graph of those outputs alone: equations that none of them needs are gone, in bodies too; those with effects
/// (host functions, but not model calls) stay. Inputs stay, parameters that nothing reads go. Error: another number of
/// outputs.
[[nodiscard]] Result<Graph> dce(const Graph& graph, const std::vector<bool>& outputs_used);

/// Calls replaced by their bodies' equations, all the way down, in other bodies as well.
[[nodiscard]] Result<Graph> inline_calls(const Graph& graph);

/// The graph as one call of itself: inputs and parameters as before, the body takes the parameters as inputs.
[[nodiscard]] Result<Graph> as_call(const Graph& graph);

/// How an output moves with the inputs, or what an output asks of it; none: not at all.
using Tangent = std::optional<Atom>;
/// Rules for whole hyperfunctions, by name: of host functions, and of what `custom_call` recorded as one equation.
template <class Rule>
using HyperfunctionRules = std::map<std::string, Rule>;

/// Tangents of an equation's results, out of those of its operands, of which at least one moves. `results` are what the
/// equation, already in the builder, came to.
using PushRule = std::function<Result<std::vector<Tangent>>(
    GraphBuilder& builder, const Equation& equation, std::span<const Atom> operands, std::span<const Tangent> tangents,
    std::span<const Atom> results)>;
/// Of operations without bodies; those with bodies (call, switch, scan) push their bodies, unless there is a rule here.
[[nodiscard]] const RuleTable<PushRule>& pushforward_rules();

/// Directional derivatives: after the graph's inputs comes "d NAME" for each tensor, number or text among them; after
/// its outputs come theirs (zeros of their type where they do not move; nothing for booleans). Texts move by texts:
/// format and concat by what they do to texts, model calls by asking the model about the movements; the empty text is
/// zero. Parameters do not move. Errors: an operation that moves and has no rule (host functions, the pullback of a
/// while_loop), a while_loop that carries a text while one moves into it, named.
[[nodiscard]] Result<Graph> pushforward(const Graph& graph, const RuleTable<PushRule>& rules = pushforward_rules(),
                                        const HyperfunctionRules<PushRule>& hyperfunctions = {});

/// Cotangents of an equation's operands, out of those of its results, of which at least one is there. Only operands
/// that are `wanted` need one.
using PullRule = std::function<Result<std::vector<Tangent>>(
    GraphBuilder& builder, const Equation& equation, std::span<const Atom> operands, std::span<const Atom> results,
    std::span<const Tangent> cotangents, const std::vector<bool>& wanted)>;
[[nodiscard]] const RuleTable<PullRule>& pullback_rules();

/// Whose cotangents a pullback gives, by name; all tensors, numbers and texts where not said.
struct PullbackOptions {
    std::optional<std::vector<std::string>> inputs{};
    std::optional<std::vector<std::string>> parameters{};
    const RuleTable<PullRule>* rules = nullptr;  ///< nullptr: pullback_rules()
    HyperfunctionRules<PullRule> hyperfunctions{};
};

/// Vector-Jacobian products: after the graph's inputs comes "d output I" for each tensor, number or text among its
/// outputs; after its outputs come the cotangents of the chosen inputs, then of the chosen parameters, each of its own
/// type, in the graph's order (zeros where nothing comes back). What is read several times adds up; the cotangents of
/// texts, feedback, are put one behind the other in the order of the program. Through a model call goes what the model
/// makes of the feedback (kCritiqueInstruction). Errors: a name that the graph does not have or that is boolean; an
/// operation on the way that has no rule, named.
[[nodiscard]] Result<Graph> pullback(const Graph& graph, const PullbackOptions& options = {});

}  // namespace yolk::hyper
