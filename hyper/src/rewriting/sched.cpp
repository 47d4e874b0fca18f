// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graph_copy.hpp"
#include "valid_graph.hpp"
#include "yolk/graph.hpp"

namespace yolk::hyper {
namespace {

/// Equations of one stage as one: a body that takes every variable that any of them reads.
class Stage {
   public:
    Stage(const Graph& graph, std::uint32_t number) : graph_(graph), builder_(fmt::format("stage {}", number)) {}

    Result<void> add(const Equation& equation) {
        Equation inner = equation;
        for (Atom& operand : inner.operands) {
            if (const auto* id = std::get_if<VariableId>(&operand)) operand = inside(*id);
        }
        YOLK_TRY(const std::vector<Atom> results, builder_.add(std::move(inner), types_of(graph_, equation.results)));
        outputs_.insert(outputs_.end(), results.begin(), results.end());
        made_.insert(made_.end(), equation.results.begin(), equation.results.end());
        return {};
    }

    Result<void> finish(Mapping& mapping, GraphBuilder& builder) && {
        Equation parallel{.operation = find_operation("parallel")};
        for (const VariableId id : reads_) parallel.operands.push_back(mapping(Atom(id)));
        parallel.bodies = {std::make_shared<const Graph>(std::move(builder_).finish(std::move(outputs_)))};
        YOLK_TRY(const std::vector<Atom> results, builder.add(std::move(parallel)));
        mapping.set_all(made_, results);
        return {};
    }

   private:
    Atom inside(VariableId id) {
        const auto known = known_.find(id.value);
        if (known != known_.end()) return known->second;
        const Variable& variable = graph_.variables[id.value];
        const Atom made = builder_.input(variable.name, variable.type);
        reads_.push_back(id);
        known_.emplace(id.value, made);
        return made;
    }

    const Graph& graph_;
    GraphBuilder builder_;
    std::map<std::uint32_t, Atom> known_{};
    std::vector<VariableId> reads_{}, made_{};
    std::vector<Atom> outputs_{};
};

/// Of the equations by stage, so that each is looked at once.
Result<Graph> scheduled(const Graph& graph, const Eligible& eligible) {
    const std::vector<std::uint32_t> stage = stages_of(graph);
    std::vector<std::vector<std::size_t>> of_stage(stage.empty() ? 0 : *std::ranges::max_element(stage) + 1);
    for (std::size_t i = 0; i < stage.size(); ++i) of_stage[stage[i]].push_back(i);
    GraphBuilder builder(graph.name);
    Mapping mapping(graph);
    copy_interface(graph, builder, mapping);
    for (std::uint32_t number = 0; number < of_stage.size(); ++number) {
        std::vector<const Equation*> together, apart;
        for (const std::size_t i : of_stage[number])
            (eligible(graph.equations[i]) ? together : apart).push_back(&graph.equations[i]);
        if (together.size() == 1) apart.insert(std::ranges::upper_bound(apart, together.front()), together.front());
        if (together.size() > 1) {
            Stage of(graph, number);
            for (const Equation* equation : together) YOLK_TRY_VOID(of.add(*equation));
            YOLK_TRY_VOID(std::move(of).finish(mapping, builder));
        }
        for (const Equation* equation : apart) {
            Equation copy = *equation;
            for (Body& body : copy.bodies) {
                YOLK_TRY(Graph inner, scheduled(*body, eligible));
                body = std::make_shared<const Graph>(std::move(inner));
            }
            YOLK_TRY_VOID(copy_equation(graph, copy, mapping, builder));
        }
    }
    return std::move(builder).finish(mapping(graph.outputs), graph.output_names);
}

}  // namespace

Result<Graph> sched(const Graph& graph, const Eligible& eligible) {
    YOLK_TRY_VOID(validate(graph));
    return scheduled(
        graph, eligible ? eligible : [](const Equation& equation) { return equation.host != nullptr; });
}

}  // namespace yolk::hyper
