// SPDX-License-Identifier: Apache-2.0
// Vector-Jacobian products, backward: the equations once forward, then their cotangents in the opposite order.
#include <fmt/format.h>

#include <algorithm>

#include "control_derivatives.hpp"
#include "derivatives.hpp"

namespace yolk::hyper {
namespace {

class Pullback {
   public:
    Pullback(const Graph& graph, const WantedCotangents& wanted, const PullRules& rules)
        : graph_(graph),
          wanted_(wanted),
          rules_(rules),
          builder_(graph.name),
          values_(graph),
          moves_(graph.variables.size(), false),
          lists_(lists_on_the_way(graph)),
          cotangents_(graph.variables.size()) {}

    Result<Graph> run() {
        add_inputs();
        std::vector<ForwardEquation> forward;
        for (const Equation& equation : graph_.equations) {
            YOLK_TRY(ForwardEquation done, add_forward(equation));
            forward.push_back(std::move(done));
        }
        YOLK_TRY_VOID(seed());
        for (std::size_t i = graph_.equations.size(); i-- > 0;)
            YOLK_TRY_VOID(add_backward(graph_.equations[i], forward[i]));
        std::vector<Atom> outputs = values_(graph_.outputs);
        std::vector<std::string> names = graph_.output_names;
        const auto append = [&](const std::string& name, VariableId id) {
            outputs.push_back(cotangent_of(id));
            if (!graph_.output_names.empty()) names.push_back("d " + name);
        };
        for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
            if (wanted_.inputs[i]) append(graph_.inputs[i].first, graph_.inputs[i].second);
        }
        for (std::size_t i = 0; i < graph_.parameters.size(); ++i) {
            if (wanted_.parameters[i]) append(graph_.parameters[i].group, graph_.parameters[i].variable);
        }
        return std::move(builder_).finish(std::move(outputs), std::move(names));
    }

   private:
    [[nodiscard]] const ValueType& type(VariableId id) const { return graph_.variables[id.value].type; }
    [[nodiscard]] Atom cotangent_of(VariableId id) const { return or_zero(cotangents_[id.value], type(id)); }
    [[nodiscard]] bool moves(const Atom& atom) const {
        const auto* id = std::get_if<VariableId>(&atom);
        return id != nullptr && moves_[id->value];
    }

    void add_inputs() {
        InputNames names(graph_);
        for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
            const auto& [name, id] = graph_.inputs[i];
            values_.set(id, builder_.input(name, type(id)));
            moves_[id.value] = wanted_.inputs[i];
        }
        for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
            const ValueType of = type_of(graph_, graph_.outputs[i]);
            if (can_move(of)) seeds_.emplace_back(i, builder_.input(names.fresh(fmt::format("d output {}", i)), of));
        }
        for (std::size_t i = 0; i < graph_.parameters.size(); ++i) {
            const auto& [id, group] = graph_.parameters[i];
            values_.set(id, builder_.parameter(group, type(id)));
            moves_[id.value] = wanted_.parameters[i];
        }
    }

    Result<ForwardEquation> add_forward(const Equation& equation) {
        const std::vector<bool> wanted = wanted_of(equation);
        const bool moves_now = std::ranges::find(wanted, true) != wanted.end();
        for (const VariableId id : equation.results) {
            moves_[id.value] = moves_now && can_move(type(id));
            if (moves_now && lists_[id.value]) return list_on_the_way("pullback", graph_, equation);
        }
        builder_.stand_for(equation);
        ForwardEquation done;
        if (moves_now && !has_rule(equation) && has_bodies(equation)) {
            YOLK_TRY(done, forward_bodies(builder_, graph_, equation, values_(equation.operands)));
        } else {
            Equation copy = equation;
            copy.operands = values_(equation.operands);
            YOLK_TRY(done.results, builder_.add(std::move(copy), types_of(graph_, equation.results)));
        }
        values_.set_all(equation.results, done.results);
        return done;
    }

    /// Of each operand, whether its cotangent is asked for.
    [[nodiscard]] std::vector<bool> wanted_of(const Equation& equation) const {
        const PullRule* rule = rule_for(equation);
        if (rule != nullptr && rule->target<PullNothing>() != nullptr)
            return std::vector<bool>(equation.operands.size(), false);
        const bool all = custom_rule(rules_.hyperfunctions, equation) != nullptr;
        std::vector<bool> wanted;
        if (is(equation, "stop_gradient")) return std::vector<bool>(equation.operands.size(), false);
        for (std::size_t i = 0; i < equation.operands.size(); ++i) {
            const Atom& operand = equation.operands[i];
            wanted.push_back(moves(operand) && (all || carries_movement(equation, i, type_of(graph_, operand))));
        }
        return wanted;
    }

    /// The cotangents that come in from outside.
    Result<void> seed() {
        std::vector<Atom> atoms;
        std::vector<Tangent> cotangents;
        for (const auto& [output, cotangent] : seeds_) {
            atoms.push_back(graph_.outputs[output]);
            cotangents.emplace_back(cotangent);
        }
        return accumulate(atoms, cotangents);
    }

    /// Of several readers at one place of the program. Those of texts from the last to the first: sum_back puts them
    /// in order.
    Result<void> accumulate(std::span<const Atom> atoms, std::span<const Tangent> cotangents) {
        const auto is_text = [&](std::size_t i) { return has_text(type_of(graph_, atoms[i])); };
        for (std::size_t i = 0; i < atoms.size(); ++i) {
            if (!is_text(i)) YOLK_TRY_VOID(accumulate(atoms[i], cotangents[i]));
        }
        for (std::size_t i = atoms.size(); i-- > 0;) {
            if (is_text(i)) YOLK_TRY_VOID(accumulate(atoms[i], cotangents[i]));
        }
        return {};
    }
    Result<void> accumulate(const Atom& atom, const Tangent& cotangent) {
        if (!moves(atom) || !cotangent) return {};
        Tangent& sum = cotangents_[std::get<VariableId>(atom).value];
        YOLK_TRY(sum, sum_back(builder_, sum, cotangent));
        return {};
    }

    [[nodiscard]] const PullRule* rule_for(const Equation& equation) const {
        if (const PullRule* custom = custom_rule(rules_.hyperfunctions, equation)) return custom;
        return rule_of(rules_.operations, equation, pull_model_rule());
    }
    [[nodiscard]] bool has_rule(const Equation& equation) const { return rule_for(equation) != nullptr; }

    Result<void> add_backward(const Equation& equation, const ForwardEquation& forward) {
        std::vector<Tangent> given;
        for (const VariableId id : equation.results) given.push_back(cotangents_[id.value]);
        if (std::ranges::none_of(given, [](const Tangent& t) { return t.has_value(); })) return {};
        builder_.stand_for(equation);
        const std::vector<bool> wanted = wanted_of(equation);
        const std::vector<Atom> operands = values_(equation.operands);
        std::vector<Tangent> back;
        if (const PullRule* rule = rule_for(equation)) {
            YOLK_TRY(back, (*rule)(builder_, equation, operands, forward.results, given, wanted));
        } else if (has_bodies(equation)) {
            YOLK_TRY(back, pull_bodies(builder_, graph_, equation, operands, forward, given, wanted, rules_));
        } else {
            return no_rule("pullback", graph_, equation, advice_on(equation, wanted));
        }
        if (back.size() != operands.size()) {
            return bad_input("pullback of graph '{}': the rule of {} gave {} cotangents for {} operands.", graph_.name,
                             named(equation), back.size(), operands.size());
        }
        return accumulate(equation.operands, back);
    }

    /// What can be done about an operation without a rule.
    [[nodiscard]] static std::string advice_on(const Equation& equation, const std::vector<bool>& wanted) {
        if (equation.host != nullptr && wanted[0] && !equation.hyperfunction.empty())
            return fmt::format("leave '{}' out of PullbackOptions::parameters, or give it a rule by its name",
                               equation.hyperfunction);
        return "put stop_gradient around what it reads, or add a rule to the table";
    }

    const Graph& graph_;
    const WantedCotangents& wanted_;
    const PullRules& rules_;
    GraphBuilder builder_;
    Mapping values_;
    std::vector<bool> moves_;  ///< by variable: it depends on what is wanted
    std::vector<bool> lists_;  ///< lists_on_the_way
    std::vector<Tangent> cotangents_;
    std::vector<std::pair<std::size_t, Atom>> seeds_{};  ///< by output
};

/// Flags for those of `names` that are wanted. Errors: a wanted one that is not there or cannot move.
Result<std::vector<bool>> wanted_flags(const Graph& graph, std::string_view what,
                                       std::span<const std::pair<std::string, VariableId>> all,
                                       const std::optional<std::vector<std::string>>& names) {
    std::vector<bool> flags;
    std::vector<std::string> known;
    for (const auto& [name, id] : all) {
        const bool movable = can_move(graph.variables[id.value].type);
        if (movable) known.push_back(name);
        flags.push_back(movable && (!names || std::ranges::find(*names, name) != names->end()));
    }
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
        if (std::ranges::find(known, name) != known.end()) continue;
        const auto found = std::ranges::find_if(all, [&](const auto& each) { return each.first == name; });
        const std::string is = found == all.end() ? std::string()
                                                  : fmt::format(" '{}' is of the type {}, which does not move.", name,
                                                                to_string(graph.variables[found->second.value].type));
        return bad_input(
            "pullback of graph '{}': there is no {} '{}' that is a tensor, a number or a text; there are: {}.{}",
            graph.name, what, name, known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")), is);
    }
    return flags;
}

}  // namespace

const RuleTable<PullRule>& pullback_rules() {
    static const RuleTable<PullRule> table = [] {
        RuleTable<PullRule> rules;
        for (const auto& part : {elementwise_derivatives(), reduction_derivatives(), rearranging_derivatives(),
                                 matrix_derivatives(), choice_derivatives(), text_derivatives()}) {
            for (const Derivative& of : part) {
                const Operation* operation = find_operation(of.operation);
                if (operation == nullptr) continue;
                if (of.pull == pull_nothing) {
                    rules.emplace(operation, PullNothing());
                    continue;
                }
                rules.emplace(operation, [pull = of.pull](GraphBuilder& builder, const Equation& equation,
                                                          std::span<const Atom> operands, std::span<const Atom> results,
                                                          Tangents cotangents, const std::vector<bool>& wanted) {
                    EquationWriter emit(builder);
                    Site site{emit, equation, operands, results};
                    return emit.done(pull(site, cotangents, wanted));
                });
            }
        }
        return rules;
    }();
    return table;
}

Result<Graph> pullback_by(const Graph& graph, const WantedCotangents& wanted, const PullRules& rules) {
    std::vector<std::string> kept;
    for (const auto& [name, rule] : rules.hyperfunctions) kept.push_back(name);
    YOLK_TRY(const Graph flat, inline_calls_except(graph, kept));
    return Pullback(flat, wanted, rules).run();
}

Result<Graph> pullback(const Graph& graph, const PullbackOptions& options) {
    YOLK_TRY_VOID(validate(graph));
    std::vector<std::pair<std::string, VariableId>> groups;
    for (const auto& [id, group] : graph.parameters) groups.emplace_back(group, id);
    WantedCotangents wanted;
    YOLK_TRY(wanted.inputs, wanted_flags(graph, "input", graph.inputs, options.inputs));
    YOLK_TRY(wanted.parameters, wanted_flags(graph, "parameter group", groups, options.parameters));
    const RuleTable<PullRule>& rules = options.rules != nullptr ? *options.rules : pullback_rules();
    return pullback_by(graph, wanted, {rules, options.hyperfunctions});
}

}  // namespace yolk::hyper
