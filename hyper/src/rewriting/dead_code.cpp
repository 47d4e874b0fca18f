// SPDX-License-Identifier: Apache-2.0
// Dead code: backward, from the outputs that are wanted; in bodies, too.
#include <algorithm>

#include "graph_copy.hpp"
#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper {
namespace {

using Flags = std::vector<bool>;

void mark_live(std::span<const Atom> atoms, Flags& live) {
    for (const Atom& atom : atoms) {
        if (const auto* id = std::get_if<VariableId>(&atom)) live[id->value] = true;
    }
}

template <class T>
std::vector<T> chosen(std::span<const T> all, const Flags& flags) {
    std::vector<T> some;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (flags[i]) some.push_back(all[i]);
    }
    return some;
}

std::int64_t count_of(const Flags& flags, std::size_t first, std::size_t last) {
    return std::count(flags.begin() + static_cast<std::ptrdiff_t>(first),
                      flags.begin() + static_cast<std::ptrdiff_t>(last), true);
}

/// For each input of a body whether an equation or an output reads it.
Flags inputs_read(const Graph& body) {
    const Flags read = variables_read(body);
    Flags flags;
    for (const auto& [name, id] : body.inputs) flags.push_back(read[id.value]);
    return flags;
}

void join(Flags& flags, const Flags& more) {
    for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = flags[i] || more[i];
}

/// The body without inputs that nothing in it reads.
Result<Body> with_inputs(const Graph& body, const Flags& kept) {
    GraphBuilder builder(body.name);
    Mapping mapping(body);
    for (std::size_t i = 0; i < body.inputs.size(); ++i) {
        const auto& [name, id] = body.inputs[i];
        if (kept[i]) mapping.set(id, builder.input(name, body.variables[id.value].type));
    }
    for (const Equation& equation : body.equations) YOLK_TRY_VOID(copy_equation(body, equation, mapping, builder));
    return std::make_shared<const Graph>(std::move(builder).finish(mapping(body.outputs)));
}

void set_attribute(Equation& equation, std::string_view name, std::int64_t value) {
    for (auto& [key, attribute] : equation.attributes) {
        if (key == name) attribute = value;
    }
}

/// Whether it stays where nothing needs its results. A model is asked for its answer alone.
bool must_stay(const Equation& equation) {
    const bool asks_a_model = equation.host != nullptr && equation.host->model != nullptr;
    if (equation.operation->has_effects && !asks_a_model) return true;
    return std::ranges::any_of(equation.bodies,
                               [](const Body& body) { return std::ranges::any_of(body->equations, must_stay); });
}

/// What is left of one equation with bodies.
class Pruning {
   public:
    Pruning(const Equation& equation, Flags used, bool keep_effects)
        : equation_(equation), pruned_(equation), used_(std::move(used)), keep_effects_(keep_effects) {}

    Result<Equation> run() {
        if (is(equation_, "call") || is(equation_, "parallel") || is(equation_, "weighted")) return of_branches(0);
        if (is(equation_, "switch")) return of_branches(1);
        if (is(equation_, "scan")) return of_scan();
        if (is(equation_, "while_loop")) return of_while_loop();
        return pruned_;
    }

   private:
    /// Bodies with the same inputs, the operands behind the first few, and the same outputs.
    Result<Equation> of_branches(std::size_t before) {
        Flags kept(equation_.operands.size() - before, false);
        std::vector<Graph> bodies;
        for (const Body& body : equation_.bodies) {
            YOLK_TRY(Graph left, without_dead_code(*body, used_, keep_effects_));
            join(kept, inputs_read(left));
            bodies.push_back(std::move(left));
        }
        Flags operands(before, true);
        operands.insert(operands.end(), kept.begin(), kept.end());
        YOLK_TRY_VOID(rebuild(bodies, kept, operands));
        return std::move(pruned_);
    }

    Result<Equation> of_scan() {
        YOLK_TRY(const std::size_t carries, count("carries"));
        YOLK_TRY(const std::size_t sequences, count("sequences"));
        Flags kept;
        YOLK_TRY(Graph body, grown(*equation_.bodies[0], carries, kept));
        std::vector<Graph> bodies{std::move(body)};
        YOLK_TRY_VOID(rebuild(bodies, kept, kept));
        set_attribute(pruned_, "carries", count_of(kept, 0, carries));
        set_attribute(pruned_, "sequences", count_of(kept, carries, carries + sequences));
        return std::move(pruned_);
    }

    Result<Equation> of_while_loop() {
        YOLK_TRY(const std::size_t carries, count("carries"));
        Flags kept = inputs_read(*equation_.bodies[0]);
        for (std::size_t i = 0; i < carries; ++i) used_[i] = used_[i] || kept[i];
        Flags of_body;
        YOLK_TRY(Graph body, grown(*equation_.bodies[1], carries, of_body));
        join(kept, of_body);
        std::vector<Graph> bodies{*equation_.bodies[0], std::move(body)};
        YOLK_TRY_VOID(rebuild(bodies, kept, kept));
        set_attribute(pruned_, "carries", count_of(kept, 0, carries));
        return std::move(pruned_);
    }

    Result<std::size_t> count(std::string_view name) const {
        YOLK_TRY(const std::int64_t number, integer_attribute(equation_, name));
        return static_cast<std::size_t>(number);
    }

    /// A step's body for the used results and the carries that any of those need from the step before, which become
    /// used as well; `kept`: which inputs stay.
    Result<Graph> grown(const Graph& step, std::size_t carries, Flags& kept) {
        while (true) {
            YOLK_TRY(Graph body, without_dead_code(step, used_, keep_effects_));
            kept = inputs_read(body);
            bool grew = false;
            for (std::size_t i = 0; i < carries; ++i) {
                grew = grew || (kept[i] && !used_[i]);
                used_[i] = used_[i] || kept[i];
                kept[i] = used_[i];
            }
            if (!grew) return body;
        }
    }

    Result<void> rebuild(std::span<const Graph> bodies, const Flags& inputs, const Flags& operands) {
        pruned_.bodies.clear();
        for (const Graph& body : bodies) {
            YOLK_TRY(Body left, with_inputs(body, inputs));
            pruned_.bodies.push_back(std::move(left));
        }
        pruned_.operands = chosen<Atom>(equation_.operands, operands);
        pruned_.results = chosen<VariableId>(equation_.results, used_);
        return {};
    }

    const Equation& equation_;
    Equation pruned_;
    Flags used_;  ///< by result
    bool keep_effects_;
};

}  // namespace

Result<Graph> without_dead_code(const Graph& graph, const Flags& outputs_used, bool keep_effects) {
    if (outputs_used.size() != graph.outputs.size()) {
        return bad_input("dce: graph '{}' has {} outputs, but {} flags were given.", graph.name, graph.outputs.size(),
                         outputs_used.size());
    }
    const std::vector<Atom> outputs = chosen<Atom>(graph.outputs, outputs_used);
    Flags live(graph.variables.size(), false);
    mark_live(outputs, live);
    std::vector<Equation> kept;  // from the back
    for (std::size_t i = graph.equations.size(); i-- > 0;) {
        const Equation& equation = graph.equations[i];
        Flags used;
        for (const VariableId id : equation.results) used.push_back(live[id.value]);
        const bool wanted = std::ranges::find(used, true) != used.end();
        if (!wanted && !(keep_effects && must_stay(equation))) continue;
        YOLK_TRY(Equation pruned, Pruning(equation, std::move(used), keep_effects).run());
        kept.push_back(std::move(pruned));
        mark_live(kept.back().operands, live);
    }
    GraphBuilder builder(graph.name);
    Mapping mapping(graph);
    Graph interface = graph;
    std::erase_if(interface.parameters, [&](const GraphParameter& p) { return !live[p.variable.value]; });
    copy_interface(interface, builder, mapping);
    for (std::size_t i = kept.size(); i-- > 0;) YOLK_TRY_VOID(copy_equation(graph, kept[i], mapping, builder));
    return std::move(builder).finish(mapping(outputs), graph.output_names.empty()
                                                           ? graph.output_names
                                                           : chosen<std::string>(graph.output_names, outputs_used));
}

Result<Graph> dce(const Graph& graph, const Flags& outputs_used) {
    YOLK_TRY_VOID(validate(graph));
    return without_dead_code(graph, outputs_used, /*keep_effects=*/true);
}

Result<Body> outputs_from(const Graph& graph, std::size_t first) {
    Flags used(graph.outputs.size(), false);
    for (std::size_t i = first; i < used.size(); ++i) used[i] = true;
    YOLK_TRY(Graph left, without_dead_code(graph, used, /*keep_effects=*/false));
    return std::make_shared<const Graph>(std::move(left));
}

}  // namespace yolk::hyper
