// SPDX-License-Identifier: Apache-2.0
#include "used_texts.hpp"

#include <algorithm>

namespace yolk::hyper {
namespace {

using Flags = std::vector<bool>;

bool is_set(const Flags& variables, const Atom& atom) {
    const auto* const id = std::get_if<VariableId>(&atom);
    return id != nullptr && variables[id->value];
}

class Carrier {
   public:
    explicit Carrier(std::set<const Equation*>& readers) : readers_(&readers) {}

    void through(const Equation& equation, Flags& variables) {
        Flags given;
        for (const Atom& operand : equation.operands) given.push_back(is_set(variables, operand));
        if (std::ranges::find(given, true) == given.end()) return;
        if (equation.host != nullptr) {
            readers_->insert(&equation);
            return;
        }
        Flags results(equation.results.size(), equation.bodies.empty());
        for (const auto& body : equation.bodies) {
            const Flags made = through_body(equation, *body, given);
            // A condition's one truth value is no result.
            for (std::size_t i = 0; made.size() == results.size() && i < results.size(); ++i)
                results[i] = results[i] || made[i];
        }
        for (std::size_t i = 0; i < results.size(); ++i) {
            if (results[i]) variables[equation.results[i].value] = true;
        }
    }

   private:
    /// Whether each output has some of it.
    Flags through_body(const Equation& equation, const Graph& body, const Flags& given) {
        const Attribute* const carries = find_attribute(equation, "carries");
        const std::size_t carried = carries == nullptr ? 0 : static_cast<std::size_t>(std::get<std::int64_t>(*carries));
        // Operands before the inputs are a key.
        const std::size_t before = given.size() - std::min(given.size(), body.inputs.size());
        Flags inputs(body.inputs.size());
        for (std::size_t i = 0; i < inputs.size() && before + i < given.size(); ++i) inputs[i] = given[before + i];
        while (true) {
            Flags variables(body.variables.size());
            for (std::size_t i = 0; i < inputs.size(); ++i) variables[body.inputs[i].second.value] = inputs[i];
            for (const Equation& equation_inside : body.equations) through(equation_inside, variables);
            Flags outputs;
            for (const Atom& output : body.outputs) outputs.push_back(is_set(variables, output));
            bool grows = false;  // in the next step of a loop
            for (std::size_t i = 0; i < std::min({carried, outputs.size(), inputs.size()}); ++i) {
                grows = grows || (outputs[i] && !inputs[i]);
                inputs[i] = inputs[i] || outputs[i];
            }
            if (!grows) return outputs;
        }
    }

    std::set<const Equation*>* readers_;
};

}  // namespace

bool CarriedText::has(const Atom& atom) const { return is_set(variables, atom); }

CarriedText carried_from(const Graph& graph, VariableId source, const Equation* last) {
    CarriedText carried{.variables = Flags(graph.variables.size())};
    carried.variables[source.value] = true;
    Carrier carrier(carried.readers);
    for (const Equation& equation : graph.equations) carrier.through(equation, carried.variables);
    if (last != nullptr) carrier.through(*last, carried.variables);
    return carried;
}

}  // namespace yolk::hyper
