// SPDX-License-Identifier: Apache-2.0
#include "example_view.hpp"

#include <string>
#include <utility>

namespace yolk::hyper::population {

const Atom& atom_at(const Graph& graph, const AtomPlace& place) {
    return place.equation == kOutputs ? graph.outputs.at(place.operand)
                                      : graph.equations.at(place.equation).operands.at(place.operand);
}

const Value& traced_value(const ExampleView& example, const AtomPlace& place) {
    const Atom& atom = atom_at(*example.graph, place);
    if (const auto* variable = std::get_if<VariableId>(&atom)) return example.values->at(variable->value);
    return std::get<Value>(atom);
}

Value output_from(const Graph& graph, std::vector<Value> outputs) {
    if (has_one_output(graph)) return std::move(outputs.front());
    hyper::Record::Fields fields;
    for (std::size_t i = 0; i < outputs.size(); ++i)
        fields.emplace_back(graph.output_names.empty() ? std::to_string(i) : graph.output_names[i],
                            std::move(outputs[i]));
    return hyper::Record::create(std::move(fields)).value_or(hyper::Record());  // a valid graph's names differ
}

Value output_of(const TracedExample& example) {
    std::vector<Value> outputs;
    for (std::size_t i = 0; i < example.graph.outputs.size(); ++i)
        outputs.push_back(traced_value(view_of(example), {kOutputs, i}));
    return output_from(example.graph, std::move(outputs));
}

}  // namespace yolk::hyper::population
