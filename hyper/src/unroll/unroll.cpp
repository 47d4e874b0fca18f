// SPDX-License-Identifier: Apache-2.0
#include "unroll.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "graph_copy.hpp"
#include "refresh.hpp"
#include "unrolled_bodies.hpp"
#include "valid_graph.hpp"

namespace yolk::hyper::population {
namespace {

/// Why the bodies cannot be taken apart, as far as that can be seen without doing it.
std::string reason_to_stay(const Equation& equation) {
    for (const Body& body : equation.bodies) {
        for (const Equation& inner : body->equations) {
            if (inner.host && inner.host->model) return "a model call is in its body";
            if (inner.host) return fmt::format("host function '{}' is in its body", inner.host->name);
            if (inner.operation->has_effects) return fmt::format("{} is in its body", inner.operation->name);
            if (std::string reason = reason_to_stay(inner); !reason.empty()) return reason;
        }
    }
    return {};
}

bool is_about(const Equation& equation) { return !equation.bodies.empty() || is(equation, "select"); }

/// The original's equations one after the other.
class TopLevel {
   public:
    TopLevel(const Graph& graph, const Rolled& rolled, const UnrollOptions& options)
        : graph_(graph),
          rolled_(rolled),
          writer_(graph.name),
          bodies_(writer_, options.most, options.block),
          taken_(options.taken),
          values_(graph.variables.size()) {}

    /// The first equation that could not be unrolled, or nothing.
    std::optional<UnrollWriter::Failure> run() {
        add_interface();
        for (std::size_t i = 0; i < graph_.equations.size() && !writer_.failed(); ++i) {
            const Equation& equation = graph_.equations[i];
            const HeldValues operands = bodies_.held(values_, equation.operands);
            const bool varies = std::ranges::any_of(operands, [&](const Held& held) { return writer_.varies(held); });
            const bool stays = !varies || rolled_.contains(i);
            if (!equation.bodies.empty() && !stays) {
                changed_ = true;
                writer_.begin(i, equation, false);
                const auto taken = taken_.find(i);
                keep(equation, taken != taken_.end()
                                   ? bodies_.run(*equation.bodies[taken->second],
                                                 HeldValues(operands.begin() + 1, operands.end()), {})
                                   : bodies_.unrolled(equation, operands, types_of_operands(equation), {}));
                continue;
            }
            if (!UnrollWriter::is_logic(equation) || stays) {
                copy(i, equation);
                continue;
            }
            logic(i, equation, operands);
        }
        for (const Atom& output : graph_.outputs)
            outputs_.push_back(writer_.plain(bodies_.held(values_, output), type_of(graph_, output).kind));
        return writer_.failure();
    }

    Unrolled finish() && {
        UnrollWriter::Written written = std::move(writer_).finish(std::move(outputs_), graph_.output_names);
        Unrolled unrolled{.graph = std::move(written.graph),
                          .changed = changed_,
                          .copies = std::move(copies_),
                          .made = {},
                          .makers = std::move(written.makers),
                          .skips = std::move(written.skips)};
        for (std::size_t i = 0; i < written.copied.size(); ++i) {
            if (!written.copied[i]) unrolled.made.push_back(i);
        }
        return unrolled;
    }

   private:
    void add_interface() {
        copies_.resize(graph_.variables.size());
        const auto add = [&](VariableId id, VariableId made, bool varies) {
            writer_.define(Atom(made), varies);
            values_[id.value] = {.plain = Atom(made)};
            copies_[id.value] = made;
        };
        for (const auto& [name, id] : graph_.inputs)
            add(id, writer_.builder().input(name, graph_.variables[id.value].type), false);
        for (const GraphParameter& parameter : graph_.parameters) {
            const VariableId id = parameter.variable;
            add(id, writer_.builder().parameter(parameter.group, graph_.variables[id.value].type), true);
        }
    }

    [[nodiscard]] std::vector<ValueType> types_of_operands(const Equation& equation) const {
        std::vector<ValueType> types;
        for (const Atom& atom : equation.operands) types.push_back(type_of(graph_, atom));
        return types;
    }

    void keep(const Equation& equation, const HeldValues& results) {
        for (std::size_t i = 0; i < results.size(); ++i) values_[equation.results[i].value] = results[i];
    }

    void copy(std::size_t index, const Equation& equation) {
        Equation copy = equation;
        for (std::size_t k = 0; k < copy.operands.size(); ++k) {
            // What has to be restored for it is made, not copied.
            writer_.begin(index, equation, false);
            copy.operands[k] =
                writer_.plain(bodies_.held(values_, equation.operands[k]), type_of(graph_, equation.operands[k]).kind);
        }
        writer_.begin(index, equation, true);
        const std::vector<Atom> results = writer_.add(std::move(copy), types_of(graph_, equation.results));
        for (std::size_t k = 0; k < equation.results.size() && !writer_.failed(); ++k) {
            Held& held = values_[equation.results[k].value];
            held = {.plain = results[k], .maker = index};
            if (const auto* id = std::get_if<VariableId>(&results[k])) copies_[equation.results[k].value] = *id;
        }
    }

    /// As it is, and as a mask: whichever is read stays.
    void logic(std::size_t index, const Equation& equation, const HeldValues& operands) {
        const bool chooses_tensor =
            is(equation, "select") && type_of(graph_, Atom(equation.results[0])).kind == ValueKind::Tensor;
        writer_.begin(index, equation, false);
        Held made = writer_.logic(equation, operands, types_of_operands(equation), false);
        if (auto failure = writer_.take_failure(index)) made = writer_.lacking(std::move(failure->why));
        if (chooses_tensor && made.plain) {
            changed_ = true;
            values_[equation.results[0].value] = made;
            return;
        }
        copy(index, equation);
        if (writer_.failed()) return;
        Held& held = values_[equation.results[0].value];
        held.single = made.single;
        if (held.plain && held.single) writer_.drop_if_unread(*held.plain);
    }

    const Graph& graph_;
    const Rolled& rolled_;
    UnrollWriter writer_;
    UnrolledBodies bodies_;
    const std::map<std::size_t, std::size_t>& taken_;
    HeldValues values_;
    std::vector<std::optional<VariableId>> copies_{};
    std::vector<Atom> outputs_{};
    bool changed_ = false;
};

}  // namespace

bool may_unroll(const Graph& graph) {
    const std::vector<bool> varies = dependents_of(graph);
    return std::ranges::any_of(
        graph.equations, [&](const Equation& equation) { return is_about(equation) && reads_any(equation, varies); });
}

Rolled rolled_in(const Unrolled& unrolled, const Rolled& rolled) {
    Rolled there;
    std::size_t next = 0;
    for (std::size_t i = 0; i < unrolled.makers.size(); ++i) {
        const bool is_made = next < unrolled.made.size() && unrolled.made[next] == i;
        if (is_made) ++next;
        const auto found = rolled.find(unrolled.makers[i]);
        if (!is_made && found != rolled.end()) there.emplace(i, found->second);
    }
    return there;
}

Unrolled unroll(const Graph& graph, Rolled& rolled, const UnrollOptions& options) {
    for (std::size_t i = 0; i < graph.equations.size(); ++i) {
        if (std::string reason = reason_to_stay(graph.equations[i]); !reason.empty())
            rolled.try_emplace(i, std::move(reason));
    }
    for (;;) {
        TopLevel level(graph, rolled, options);
        const std::optional<UnrollWriter::Failure> failure = level.run();
        if (!failure) return std::move(level).finish();
        if (!rolled.try_emplace(failure->maker, failure->why).second) return {.graph = graph};  // it stays already
    }
}

}  // namespace yolk::hyper::population
