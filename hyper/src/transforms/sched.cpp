// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graph_copy.hpp"
#include "yolk/hyper/schedule.hpp"

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

}  // namespace

Result<Graph> sched(const Graph& graph, const Eligible& eligible) {
    const Eligible chosen = eligible ? eligible : [](const Equation& equation) { return equation.host != nullptr; };
    const std::vector<std::uint32_t> stage = stages(graph);
    const std::uint32_t count = stage.empty() ? 0 : *std::ranges::max_element(stage) + 1;
    GraphBuilder builder(graph.name);
    Mapping mapping(graph);
    copy_interface(graph, builder, mapping);
    for (std::uint32_t number = 0; number < count; ++number) {
        std::vector<const Equation*> together;
        for (std::size_t i = 0; i < stage.size(); ++i) {
            if (stage[i] == number && chosen(graph.equations[i])) together.push_back(&graph.equations[i]);
        }
        if (together.size() > 1) {
            Stage of(graph, number);
            for (const Equation* equation : together) YOLK_TRY_VOID(of.add(*equation));
            YOLK_TRY_VOID(std::move(of).finish(mapping, builder));
        }
        for (std::size_t i = 0; i < stage.size(); ++i) {
            const Equation& equation = graph.equations[i];
            if (stage[i] != number || (together.size() > 1 && chosen(equation))) continue;
            Equation copy = equation;
            for (Body& body : copy.bodies) {
                YOLK_TRY(Graph inner, sched(*body, eligible));
                body = std::make_shared<const Graph>(std::move(inner));
            }
            YOLK_TRY_VOID(copy_equation(graph, copy, mapping, builder));
        }
    }
    return std::move(builder).finish(mapping(graph.outputs), graph.output_names);
}

}  // namespace yolk::hyper
