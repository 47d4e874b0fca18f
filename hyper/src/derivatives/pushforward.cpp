// SPDX-License-Identifier: Apache-2.0
// Directional derivatives, forward: one pass in the order of the equations.
#include <algorithm>

#include "control_derivatives.hpp"
#include "derivatives.hpp"

namespace yolk::hyper {
namespace {

class Pushforward {
   public:
    Pushforward(const Graph& graph, const PushRules& rules)
        : graph_(graph),
          rules_(rules),
          builder_(graph.name),
          values_(graph),
          tangents_(graph.variables.size()),
          lists_(lists_on_the_way(graph)) {}

    Result<PushedGraph> run(const std::vector<bool>& still) {
        add_inputs(still);
        PushedGraph pushed;
        for (const Equation& equation : graph_.equations) YOLK_TRY_VOID(add(equation));
        std::vector<Atom> outputs, moved;
        std::vector<std::string> names = graph_.output_names;
        for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
            const Atom& output = graph_.outputs[i];
            outputs.push_back(values_(output));
            pushed.moved.push_back(tangent_of(output).has_value());
            const ValueType type = builder_.type(outputs.back());
            if (!can_move(type)) continue;
            moved.push_back(or_zero(tangent_of(output), type));
            if (i < graph_.output_names.size()) names.push_back("d " + graph_.output_names[i]);
        }
        outputs.insert(outputs.end(), moved.begin(), moved.end());
        pushed.graph = std::move(builder_).finish(std::move(outputs), std::move(names));
        return pushed;
    }

   private:
    [[nodiscard]] Tangent tangent_of(const Atom& atom) const {
        const auto* id = std::get_if<VariableId>(&atom);
        return id != nullptr ? tangents_[id->value] : Tangent();
    }

    void add_inputs(const std::vector<bool>& still) {
        InputNames names(graph_);
        for (const auto& [name, id] : graph_.inputs)
            values_.set(id, builder_.input(name, graph_.variables[id.value].type));
        for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
            const auto& [name, id] = graph_.inputs[i];
            const ValueType& type = graph_.variables[id.value].type;
            const bool moves = can_move(type) && (still.empty() || !still[i]);
            if (moves) tangents_[id.value] = builder_.input(names.fresh("d " + name), type);
        }
        for (const auto& [id, group] : graph_.parameters)
            values_.set(id, builder_.parameter(group, graph_.variables[id.value].type));
    }

    Result<void> add(const Equation& equation) {
        builder_.stand_for(equation);
        const std::vector<Atom> operands = values_(equation.operands);
        const PushRule* rule = custom_rule(rules_.hyperfunctions, equation);
        std::vector<Tangent> moving;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            const bool counts = rule != nullptr || carries_movement(equation, i, builder_.type(operands[i]));
            moving.push_back(counts ? tangent_of(equation.operands[i]) : Tangent());
        }
        const std::vector<ValueType> types = types_of(graph_, equation.results);
        // What neither moves nor can carry a movement stops here: comparisons.
        const bool moves = std::ranges::any_of(moving, [](const Tangent& t) { return t.has_value(); });
        const bool carries = std::ranges::any_of(types, can_move);
        for (const VariableId id : equation.results) {
            if (moves && lists_[id.value]) return list_on_the_way("pushforward", graph_, equation);
        }
        if (rule == nullptr) rule = rule_of(rules_.operations, equation, push_model_rule());
        std::vector<Tangent> moved(types.size());
        if (moves && carries && rule == nullptr && has_bodies(equation)) {
            YOLK_TRY(PushedEquation pushed, push_bodies(builder_, graph_, equation, operands, moving, rules_));
            values_.set_all(equation.results, pushed.results);
            moved = std::move(pushed.tangents);
        } else {
            Equation copy = equation;
            copy.operands = operands;
            YOLK_TRY(const std::vector<Atom> results, builder_.add(std::move(copy), types));
            values_.set_all(equation.results, results);
            if (!moves || !carries) return {};
            if (rule == nullptr) {
                return no_rule("pushforward", graph_, equation,
                               "put stop_gradient around what it reads, or add a rule to the table");
            }
            YOLK_TRY(moved, (*rule)(builder_, equation, operands, moving, results));
        }
        if (moved.size() != types.size()) {
            return bad_input("pushforward of graph '{}': the rule of {} gave {} tangents for {} results.", graph_.name,
                             named(equation), moved.size(), types.size());
        }
        for (std::size_t i = 0; i < moved.size(); ++i) tangents_[equation.results[i].value] = moved[i];
        return {};
    }

    const Graph& graph_;
    const PushRules& rules_;
    GraphBuilder builder_;
    Mapping values_;
    std::vector<Tangent> tangents_;
    std::vector<bool> lists_;  ///< lists_on_the_way
};

}  // namespace

const RuleTable<PushRule>& pushforward_rules() {
    static const RuleTable<PushRule> table = [] {
        RuleTable<PushRule> rules;
        for (const auto& part : {elementwise_derivatives(), reduction_derivatives(), rearranging_derivatives(),
                                 matrix_derivatives(), choice_derivatives(), text_derivatives()}) {
            for (const Derivative& of : part) {
                const Operation* operation = find_operation(of.operation);
                if (operation == nullptr) continue;
                rules.emplace(operation, [push = of.push](GraphBuilder& builder, const Equation& equation,
                                                          std::span<const Atom> operands, Tangents tangents,
                                                          std::span<const Atom> results) {
                    EquationWriter emit(builder);
                    Site site{emit, equation, operands, results};
                    return emit.done(push(site, tangents));
                });
            }
        }
        return rules;
    }();
    return table;
}

Result<PushedGraph> pushforward_by(const Graph& graph, const PushRules& rules, const std::vector<bool>& still) {
    return Pushforward(graph, rules).run(still);
}

Result<Graph> pushforward(const Graph& graph, const RuleTable<PushRule>& rules,
                          const HyperfunctionRules<PushRule>& hyperfunctions) {
    YOLK_TRY_VOID(validate(graph));
    YOLK_TRY(PushedGraph pushed, pushforward_by(graph, {rules, hyperfunctions}));
    return std::move(pushed.graph);
}

}  // namespace yolk::hyper
