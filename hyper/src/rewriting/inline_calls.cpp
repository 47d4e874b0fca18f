// SPDX-License-Identifier: Apache-2.0
// Calls and their bodies: unfolded, and folded.
#include <algorithm>

#include "graph_copy.hpp"

namespace yolk::hyper {
namespace {

using Unfolds = std::function<bool(const Equation&)>;

Result<Graph> unfolded_where(const Graph& graph, const Unfolds& unfolds);

/// Unfolds one graph into a builder; bodies of other equations (loops, branches) are unfolded in themselves.
class Inliner {
   public:
    Inliner(GraphBuilder& builder, const Unfolds& unfolds) : builder_(builder), unfolds_(unfolds) {}

    Result<void> add(const Graph& graph, Mapping& mapping) {
        for (const Equation& equation : graph.equations) {
            if (unfolds_(equation)) {
                YOLK_TRY_VOID(add_body(equation, mapping));
                continue;
            }
            Equation copy = equation;
            for (Body& body : copy.bodies) {
                YOLK_TRY(Graph flat, unfolded_where(*body, unfolds_));
                body = std::make_shared<const Graph>(std::move(flat));
            }
            YOLK_TRY_VOID(copy_equation(graph, copy, mapping, builder_));
        }
        return {};
    }

   private:
    Result<void> add_body(const Equation& call, Mapping& mapping) {
        const Graph& body = *call.bodies[0];
        Mapping inner(body);
        for (std::size_t i = 0; i < body.inputs.size(); ++i)
            inner.set(body.inputs[i].second, mapping(call.operands[i]));
        YOLK_TRY_VOID(add(body, inner));
        mapping.set_all(call.results, inner(body.outputs));
        return {};
    }

    GraphBuilder& builder_;
    const Unfolds& unfolds_;
};

Result<Graph> unfolded_where(const Graph& graph, const Unfolds& unfolds) {
    GraphBuilder builder(graph.name);
    Mapping mapping(graph);
    copy_interface(graph, builder, mapping);
    YOLK_TRY_VOID(Inliner(builder, unfolds).add(graph, mapping));
    return std::move(builder).finish(mapping(graph.outputs), graph.output_names);
}

}  // namespace

Result<Graph> inline_calls_except(const Graph& graph, std::span<const std::string> hyperfunctions) {
    return unfolded_where(graph, [&](const Equation& equation) {
        return is(equation, "call") &&
               std::ranges::find(hyperfunctions, equation.hyperfunction) == hyperfunctions.end();
    });
}

bool holds_parallel(const Equation& equation) {
    if (is(equation, "parallel")) return true;
    if (!is(equation, "call") && !is(equation, "weighted")) return false;
    return std::ranges::any_of(equation.bodies[0]->equations, holds_parallel);
}

Result<Graph> unfold_parallel(const Graph& graph) { return unfolded_where(graph, holds_parallel); }

Result<Graph> inline_calls(const Graph& graph) {
    YOLK_TRY_VOID(validate(graph));
    return inline_calls_except(graph, {});
}

Result<Graph> as_call(const Graph& graph) {
    YOLK_TRY_VOID(validate(graph));
    if (nesting_of(graph) >= kMostNesting) {
        return bad_input(
            "as_call of graph '{}': its bodies are {} deep already, and may not be deeper; inline_calls first.",
            graph.name, kMostNesting);
    }
    Graph body = graph;
    for (const GraphParameter& parameter : graph.parameters)
        body.inputs.emplace_back(parameter.group, parameter.variable);
    body.parameters.clear();
    GraphBuilder builder(graph.name);
    Mapping mapping(graph);
    copy_interface(graph, builder, mapping);
    Equation call;
    call.operation = find_operation("call");
    for (const auto& [name, id] : body.inputs) call.operands.push_back(mapping(Atom(id)));
    call.bodies = {std::make_shared<const Graph>(std::move(body))};
    YOLK_TRY(std::vector<Atom> outputs, builder.add(std::move(call)));
    return std::move(builder).finish(std::move(outputs), graph.output_names);
}

}  // namespace yolk::hyper
