// SPDX-License-Identifier: Apache-2.0
// The product of the factors of a path goes along as one more output: of bodies, too; in loops as one more carry.
#include <algorithm>

#include "control_derivatives.hpp"
#include "equation_writer.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper {
namespace {

bool has_factors(const Equation& equation) {
    if (is(equation, "factor")) return true;
    if (is(equation, "weighted")) return false;
    return std::ranges::any_of(equation.bodies,
                               [](const Body& body) { return std::ranges::any_of(body->equations, has_factors); });
}

/// The elements of a weight multiplied, as a number.
Atom product_of(EquationWriter& emit, Atom weight) {
    const ValueType type = emit.type(weight);
    if (type.kind == ValueKind::Number) return weight;
    if (type.kind == ValueKind::Integer) return emit("to_number", {weight});
    std::uint64_t count = element_count_of(type.shape);
    if (count == 0) return Value(1.0);
    weight = emit.reshape(weight, {count});
    for (; count > 1; count = (count + 1) / 2) {
        if (count % 2 == 1) {
            weight = emit("concat", {weight, Value(Tensor::filled({1}, 1.0F))}, {{"dimension", std::int64_t{0}}});
            ++count;
        }
        const auto half = static_cast<std::int64_t>(count / 2);
        const std::vector<Atom> halves =
            emit.all({.operation = find_operation("split"),
                      .operands = {weight},
                      .attributes = {{"dimension", std::int64_t{0}}, {"sizes", std::vector<std::int64_t>{half, half}}}},
                     2);
        weight = emit.multiply(halves[0], halves[1]);
    }
    return emit("to_number", {weight});
}

Result<Body> weighing(const Graph& body);

/// Copies a graph and multiplies what it meets.
class Weigher {
   public:
    Weigher(const Graph& graph, GraphBuilder& builder, Mapping& mapping, Atom start)
        : graph_(graph), builder_(builder), mapping_(mapping), emit_(builder), product_(std::move(start)) {}

    Result<Atom> run() {
        for (const Equation& equation : graph_.equations) {
            if (!has_factors(equation)) {
                YOLK_TRY_VOID(copy_equation(graph_, equation, mapping_, builder_));
            } else if (is(equation, "factor")) {
                YOLK_TRY_VOID(copy_equation(graph_, equation, mapping_, builder_));
                product_ = emit_.multiply(product_, product_of(emit_, mapping_(Atom(equation.results[0]))));
            } else if (is(equation, "scan") || is(equation, "while_loop")) {
                YOLK_TRY_VOID(add_loop(equation));
            } else {
                YOLK_TRY_VOID(add_branches(equation));
            }
        }
        return emit_.done(product_);
    }

   private:
    /// Bodies that give their weight as a last output.
    Result<void> add_branches(const Equation& equation) {
        Equation all = equation;
        all.operands = mapping_(equation.operands);
        for (Body& body : all.bodies) {
            YOLK_TRY(body, weighing(*body));
        }
        YOLK_TRY(const std::vector<Atom> results, builder_.add(std::move(all)));
        mapping_.set_all(equation.results, results);
        product_ = emit_.multiply(product_, results.back());
        return {};
    }

    Result<void> add_loop(const Equation& equation) {
        YOLK_TRY(const std::int64_t count, integer_attribute(equation, "carries"));
        const auto carries = static_cast<std::size_t>(count);
        Equation loop = equation;
        loop.operands = mapping_(equation.operands);
        loop.operands.insert(loop.operands.begin() + count, product_);
        for (auto& [name, attribute] : loop.attributes) {
            if (name == "carries") attribute = count + 1;
        }
        const bool conditioned = is(equation, "while_loop");
        for (std::size_t i = 0; i < loop.bodies.size(); ++i) {
            YOLK_TRY(loop.bodies[i], with_carry(*loop.bodies[i], carries, conditioned && i == 0));
        }
        YOLK_TRY(std::vector<Atom> results, builder_.add(std::move(loop)));
        product_ = results[carries];
        results.erase(results.begin() + count);
        mapping_.set_all(equation.results, results);
        return {};
    }

    /// A step that multiplies its factors into one more carry; a condition that leaves it alone.
    static Result<Body> with_carry(const Graph& body, std::size_t carries, bool condition) {
        GraphBuilder builder(body.name);
        Mapping mapping(body);
        Atom product;
        for (std::size_t i = 0; i <= body.inputs.size(); ++i) {
            if (i == carries) product = builder.input("weight", {ValueKind::Number, {}});
            if (i == body.inputs.size()) break;
            const auto& [name, id] = body.inputs[i];
            mapping.set(id, builder.input(name, body.variables[id.value].type));
        }
        YOLK_TRY(Atom weight, Weigher(body, builder, mapping, product).run());
        std::vector<Atom> outputs = mapping(body.outputs);
        if (!condition) outputs.insert(outputs.begin() + static_cast<std::ptrdiff_t>(carries), std::move(weight));
        return std::make_shared<const Graph>(std::move(builder).finish(std::move(outputs)));
    }

    const Graph& graph_;
    GraphBuilder& builder_;
    Mapping& mapping_;
    EquationWriter emit_;
    Atom product_;
};

Result<Body> weighing(const Graph& body) {
    GraphBuilder builder(body.name);
    Mapping mapping(body);
    copy_interface(body, builder, mapping);
    YOLK_TRY(Atom weight, Weigher(body, builder, mapping, Value(1.0)).run());
    std::vector<Atom> outputs = mapping(body.outputs);
    outputs.push_back(std::move(weight));
    return std::make_shared<const Graph>(std::move(builder).finish(std::move(outputs)));
}

}  // namespace

Result<Graph> weighted(const Graph& graph) {
    YOLK_TRY_VOID(validate(graph));
    Graph body = graph;
    for (const auto& [id, group] : graph.parameters) body.inputs.emplace_back(group, id);
    body.parameters.clear();
    GraphBuilder builder(graph.name);
    Mapping mapping(graph);
    copy_interface(graph, builder, mapping);
    Equation equation{.operation = find_operation("weighted")};
    for (const auto& [name, id] : body.inputs) equation.operands.push_back(mapping(Atom(id)));
    YOLK_TRY(Body weighed, weighing(body));
    equation.bodies = {std::move(weighed)};
    YOLK_TRY(std::vector<Atom> outputs, builder.add(std::move(equation)));
    std::vector<std::string> names = graph.output_names;
    if (!names.empty()) names.emplace_back("weight");
    return std::move(builder).finish(std::move(outputs), std::move(names));
}

}  // namespace yolk::hyper
