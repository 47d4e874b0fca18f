// SPDX-License-Identifier: Apache-2.0
// Graphs made by hand, equation by equation, with the values a trace would have; and what one call gives.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "yolk/internal/core/philox.hpp"
#include "yolk/internal/hyper/operations.hpp"
#include "yolk/internal/hyper/population.hpp"

namespace yolk::hyper {

/// Numbers in (-1, 1), the same for the same seed.
inline std::vector<float> drawn(std::size_t count, std::uint32_t seed) {
    std::vector<float> values(count);
    for (std::uint32_t i = 0; i < count; ++i)
        values[i] = static_cast<float>(philox4x32({i, 0, 0, 0}, {seed, 5})[0] >> 8U) * 0x1p-23F - 1.0F;
    return values;
}
inline Tensor drawn_tensor(Shape shape, std::uint32_t seed) {
    const std::uint64_t count = *shape.element_count();
    return *Tensor::create(std::move(shape), drawn(count, seed));
}

inline ParameterSpec matrix_spec(std::string name, std::uint64_t out, std::uint64_t in) {
    return {.name = std::move(name), .shape = {out, in}, .optimize = true};
}
inline ParameterSpec vector_spec(std::string name, std::uint64_t count) {
    return {.name = std::move(name), .shape = {count}, .optimize = true};
}

/// One example.
class Sketch {
   public:
    explicit Sketch(const ParameterSet& parameters) : parameters_(parameters) {}

    Atom input(const std::string& name, Value value) {
        const VariableId id = define(std::move(value));
        example_.graph.inputs.emplace_back(name, id);
        return id;
    }
    Atom parameter(const std::string& group) {
        for (const GraphParameter& p : example_.graph.parameters) {
            if (p.group == group) return p.variable;
        }
        const VariableId id = define(parameters_.find(group)->values);
        example_.graph.parameters.push_back({id, group});
        return id;
    }
    std::vector<Atom> all(const std::string& operation, std::vector<Atom> operands, Attributes attributes = {},
                          HostFunctionPtr host = {}) {
        Equation equation{.operation = find_operation(operation),
                          .operands = std::move(operands),
                          .attributes = std::move(attributes),
                          .host = std::move(host)};
        std::vector<Value> values;
        for (const Atom& atom : equation.operands) values.push_back(value(atom));
        std::vector<Atom> results;
        std::vector<Value> made = evaluate_equation(equation, values).value();
        for (Value& result : made) {
            equation.results.push_back(define(std::move(result)));
            results.emplace_back(equation.results.back());
        }
        example_.graph.equations.push_back(std::move(equation));
        return results;
    }
    Atom one(const std::string& operation, std::vector<Atom> operands, Attributes attributes = {},
             HostFunctionPtr host = {}) {
        return all(operation, std::move(operands), std::move(attributes), std::move(host)).front();
    }
    [[nodiscard]] const std::vector<Equation>& equations() const { return example_.graph.equations; }
    [[nodiscard]] const Value& value(const Atom& atom) const {
        const auto* id = std::get_if<VariableId>(&atom);
        return id == nullptr ? std::get<Value>(atom) : example_.values[id->value];
    }
    [[nodiscard]] TracedExample finish(const Atom& output) {
        example_.graph.outputs = {output};
        return std::move(example_);
    }

   private:
    VariableId define(Value value) {
        const VariableId id(static_cast<std::uint32_t>(example_.values.size()));
        example_.graph.variables.push_back({type_of(value), {}});
        example_.values.push_back(std::move(value));
        return id;
    }
    const ParameterSet& parameters_;
    TracedExample example_;
};

/// Runs the graph on the host with other parameters: what one call gives.
inline Value answer(const TracedExample& example, const std::map<std::string, Tensor>& parameters) {
    std::vector<Value> values = example.values;
    for (const GraphParameter& p : example.graph.parameters) {
        if (const auto found = parameters.find(p.group); found != parameters.end())
            values[p.variable.value] = found->second;
    }
    const auto value = [&](const Atom& atom) {
        const auto* id = std::get_if<VariableId>(&atom);
        return id == nullptr ? std::get<Value>(atom) : values[id->value];
    };
    for (const Equation& equation : example.graph.equations) {
        std::vector<Value> operands;
        for (const Atom& atom : equation.operands) operands.push_back(value(atom));
        std::vector<Value> results = evaluate_equation(equation, operands).value();
        for (std::size_t i = 0; i < results.size(); ++i) values[equation.results[i].value] = std::move(results[i]);
    }
    return value(example.graph.outputs[0]);
}

/// x -> W2 tanh(W1 x + b1): 4 -> 5 -> 3.
inline ParameterSet two_layers() {
    ParameterSet set;
    (void)set.add(matrix_spec("w1", 5, 4), drawn_tensor({5, 4}, 1)).has_value();
    (void)set.add(vector_spec("b1", 5), drawn_tensor({5}, 2)).has_value();
    (void)set.add(matrix_spec("w2", 3, 5), drawn_tensor({3, 5}, 3)).has_value();
    return set;
}
inline TracedExample two_layer_example(const ParameterSet& set, const Tensor& x) {
    Sketch s(set);
    const Atom hidden = s.one("linear", {s.parameter("w1"), s.input("x", x)});
    const Atom active = s.one("tanh", {s.one("add", {hidden, s.parameter("b1")})});
    return s.finish(s.one("linear", {s.parameter("w2"), active}));
}
/// x is [4], or [rows, 4], and another one in each example.
inline std::vector<TracedExample> two_layer_examples(const ParameterSet& set, std::uint32_t count,
                                                     std::uint64_t rows = 0) {
    std::vector<TracedExample> examples;
    for (std::uint32_t i = 0; i < count; ++i) {
        const Shape shape = rows == 0 ? Shape{4} : Shape{rows, 4};
        examples.push_back(two_layer_example(set, drawn_tensor(shape, 100 + i)));
    }
    return examples;
}

}  // namespace yolk::hyper
