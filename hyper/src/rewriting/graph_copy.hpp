// SPDX-License-Identifier: Apache-2.0
// What transforms share: copying a graph into a builder, equation by equation, and words for errors.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph_queries.hpp"
#include "yolk/graph.hpp"

namespace yolk::hyper {

/// What the variables of a graph are in the one that is being built from it.
class Mapping {
   public:
    explicit Mapping(const Graph& graph) : atoms_(graph.variables.size()) {}
    void set(VariableId from, Atom to) { atoms_[from.value] = std::move(to); }
    void set_all(std::span<const VariableId> from, std::span<const Atom> to) {
        for (std::size_t i = 0; i < from.size(); ++i) set(from[i], to[i]);
    }
    [[nodiscard]] Atom operator()(const Atom& atom) const {
        const auto* id = std::get_if<VariableId>(&atom);
        return id != nullptr ? atoms_[id->value] : atom;
    }
    [[nodiscard]] std::vector<Atom> operator()(std::span<const Atom> atoms) const {
        std::vector<Atom> mapped;
        for (const Atom& atom : atoms) mapped.push_back((*this)(atom));
        return mapped;
    }

   private:
    std::vector<Atom> atoms_;
};

void copy_interface(const Graph& graph, GraphBuilder& builder, Mapping& mapping);
/// Appends a copy of `equation` of `graph`.
[[nodiscard]] Result<void> copy_equation(const Graph& graph, const Equation& equation, Mapping& mapping,
                                         GraphBuilder& builder);
/// Appends the equations of a body whose inputs are `inputs`; its outputs.
[[nodiscard]] Result<std::vector<Atom>> splice(const Graph& body, std::span<const Atom> inputs, GraphBuilder& builder);
/// Calls are replaced by their bodies' equations, all the way down, but for those of these hyperfunctions.
[[nodiscard]] Result<Graph> inline_calls_except(const Graph& graph, std::span<const std::string> hyperfunctions);

/// Whether the equation is `parallel`, or runs one in its body once.
[[nodiscard]] bool holds_parallel(const Equation& equation);
/// Those unfolded.
[[nodiscard]] Result<Graph> unfold_parallel(const Graph& graph);

/// dce; `keep_effects` false: equations with effects go as well where nothing needs their results.
[[nodiscard]] Result<Graph> without_dead_code(const Graph& graph, const std::vector<bool>& outputs_used,
                                              bool keep_effects);
/// The last outputs of a graph, from `first` on, and what they need.
[[nodiscard]] Result<Body> outputs_from(const Graph& graph, std::size_t first);

/// By variable: a list of which values are made that can move, or lists again. It is an error where it would have to
/// move.
[[nodiscard]] std::vector<bool> lists_on_the_way(const Graph& graph);
[[nodiscard]] Error list_on_the_way(std::string_view transform, const Graph& graph, const Equation& equation);
/// Whether how this operand moves can reach the results: only texts move a format, only messages a model call.
[[nodiscard]] bool carries_movement(const Equation& equation, std::size_t operand, const ValueType& type);
[[nodiscard]] inline Value zero_of(const ValueType& type) { return blank_of(type); }
[[nodiscard]] inline Atom or_zero(const Tangent& tangent, const ValueType& type) {
    return tangent ? *tangent : Atom(zero_of(type));
}
/// Of texts: one behind the other.
[[nodiscard]] Result<Tangent> sum_of(GraphBuilder& builder, const Tangent& a, const Tangent& b);
/// Of cotangents, that of the later reader first, as they come. Texts are put in the order of the program.
[[nodiscard]] Result<Tangent> sum_back(GraphBuilder& builder, const Tangent& later, const Tangent& earlier);

/// "operation relu of hyperfunction 'hidden' (call 2)".
[[nodiscard]] std::string named(const Equation& equation);
/// An operation that a transform has no rule for.
[[nodiscard]] Error no_rule(std::string_view transform, const Graph& graph, const Equation& equation,
                            std::string_view advice);

}  // namespace yolk::hyper
