// SPDX-License-Identifier: Apache-2.0
// Directional derivatives of graphs, forward: one rule per operation.
#include <algorithm>

#include "yolk/hyper/transforms.hpp"

namespace yolk::hyper {
namespace {

using Atoms = std::span<const Atom>;
using Tangents = std::span<const Tangent>;
using Pushed = Result<std::vector<Tangent>>;

bool can_move(const ValueType& type) { return type.kind == ValueKind::Tensor || type.kind == ValueKind::Number; }

Value zero_of(const ValueType& type) {
    if (type.kind == ValueKind::Tensor) return Tensor::filled(type.shape, 0.0F);
    return 0.0;
}

Atom or_zero(const Tangent& tangent, const ValueType& type) { return tangent ? *tangent : Atom(zero_of(type)); }

Result<Tangent> sum_of(GraphBuilder& builder, const Tangent& a, const Tangent& b) {
    if (!a) return b;
    if (!b) return a;
    YOLK_TRY(Atom sum, builder.apply("add", {*a, *b}));
    return Tangent(std::move(sum));
}

/// A row's or number's tangent over all that its operand was repeated over.
Result<Tangent> spread(GraphBuilder& builder, const Tangent& tangent, const ValueType& type) {
    if (!tangent || builder.type(*tangent) == type) return tangent;
    YOLK_TRY(Atom full, builder.apply("add", {zero_of(type), *tangent}));
    return Tangent(std::move(full));
}

/// The same operation on tangents: of operations that are linear in all operands together.
Pushed push_linear(GraphBuilder& builder, const Equation& equation, Atoms operands, Tangents tangents, Atoms) {
    Equation moved = equation;
    moved.operands.clear();
    for (std::size_t i = 0; i < operands.size(); ++i)
        moved.operands.push_back(or_zero(tangents[i], builder.type(operands[i])));
    YOLK_TRY(const std::vector<Atom> results, builder.add(std::move(moved)));
    return std::vector<Tangent>(results.begin(), results.end());
}

/// d(a b) = da b + a db, for operations that are linear in each operand.
Pushed push_product(GraphBuilder& builder, const Equation& equation, Atoms operands, Tangents tangents, Atoms results) {
    Tangent first, second;
    if (tangents[0]) {
        YOLK_TRY(first, builder.apply(equation.operation->name, {*tangents[0], operands[1]}));
    }
    if (tangents[1]) {
        YOLK_TRY(second, builder.apply(equation.operation->name, {operands[0], *tangents[1]}));
    }
    YOLK_TRY(const Tangent sum, sum_of(builder, first, second));
    YOLK_TRY(Tangent moved, spread(builder, sum, builder.type(results[0])));
    return std::vector<Tangent>{std::move(moved)};
}

Pushed push_tanh(GraphBuilder& builder, const Equation&, Atoms, Tangents tangents, Atoms results) {
    // 1 - y^2, as (-y) y + 1.
    YOLK_TRY(const Atom negated, builder.apply("negate", {results[0]}));
    YOLK_TRY(const Atom square, builder.apply("multiply", {negated, results[0]}));
    YOLK_TRY(const Atom slope, builder.apply("add", {square, Value(1.0)}));
    YOLK_TRY(Atom moved, builder.apply("multiply", {slope, *tangents[0]}));
    return std::vector<Tangent>{std::move(moved)};
}

Pushed push_sigmoid(GraphBuilder& builder, const Equation&, Atoms, Tangents tangents, Atoms results) {
    YOLK_TRY(const Atom negated, builder.apply("negate", {results[0]}));
    YOLK_TRY(const Atom rest, builder.apply("add", {negated, Value(1.0)}));
    YOLK_TRY(const Atom slope, builder.apply("multiply", {rest, results[0]}));
    YOLK_TRY(Atom moved, builder.apply("multiply", {slope, *tangents[0]}));
    return std::vector<Tangent>{std::move(moved)};
}

Pushed push_exp(GraphBuilder& builder, const Equation&, Atoms, Tangents tangents, Atoms results) {
    YOLK_TRY(Atom moved, builder.apply("multiply", {results[0], *tangents[0]}));
    return std::vector<Tangent>{std::move(moved)};
}

Pushed push_select(GraphBuilder& builder, const Equation& equation, Atoms operands, Tangents tangents, Atoms) {
    const ValueType type = builder.type(operands[1]);
    YOLK_TRY(Atom moved, builder.apply(equation.operation->name,
                                       {operands[0], or_zero(tangents[1], type), or_zero(tangents[2], type)}));
    return std::vector<Tangent>{std::move(moved)};
}

/// The body's derivative, called with operands and tangents; its first outputs repeat the results.
Pushed push_call(GraphBuilder& builder, const Equation& equation, Atoms operands, Tangents tangents, Atoms results) {
    YOLK_TRY(Graph body, pushforward(*equation.bodies[0]));
    Equation call = equation;
    call.operands.assign(operands.begin(), operands.end());
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const ValueType type = builder.type(operands[i]);
        if (can_move(type)) call.operands.push_back(or_zero(tangents[i], type));
    }
    call.bodies = {std::make_shared<const Graph>(std::move(body))};
    YOLK_TRY(const std::vector<Atom> all, builder.add(std::move(call)));
    std::vector<Tangent> moved;
    std::size_t next = results.size();
    for (const Atom& result : results)
        moved.push_back(can_move(builder.type(result)) ? Tangent(all[next++]) : std::nullopt);
    return moved;
}

}  // namespace

const RuleTable<PushRule>& pushforward_rules() {
    static const RuleTable<PushRule> table = [] {
        RuleTable<PushRule> rules;
        for (const char* name : {"add", "subtract", "negate", "sum", "mean", "concat", "split", "reshape"})
            rules.emplace(find_operation(name), push_linear);
        for (const char* name : {"multiply", "linear", "linear_transposed"})
            rules.emplace(find_operation(name), push_product);
        rules.emplace(find_operation("tanh"), push_tanh);
        rules.emplace(find_operation("sigmoid"), push_sigmoid);
        rules.emplace(find_operation("exp"), push_exp);
        rules.emplace(find_operation("select"), push_select);
        rules.emplace(find_operation("call"), push_call);
        return rules;
    }();
    return table;
}

namespace {

/// One pass over a graph: the copy that is built, and what its variables and their movements are in it.
class Pushforward {
   public:
    Pushforward(const Graph& graph, const RuleTable<PushRule>& rules)
        : graph_(graph),
          rules_(rules),
          builder_(graph.name),
          values_(graph.variables.size()),
          tangents_(graph.variables.size()) {}

    Result<Graph> run() {
        add_inputs();
        for (const Equation& equation : graph_.equations) YOLK_TRY_VOID(add(equation));
        std::vector<Atom> outputs, moved;
        for (const Atom& output : graph_.outputs) {
            outputs.push_back(value_of(output));
            const ValueType type = builder_.type(outputs.back());
            if (can_move(type)) moved.push_back(or_zero(tangent_of(output), type));
        }
        outputs.insert(outputs.end(), moved.begin(), moved.end());
        return std::move(builder_).finish(std::move(outputs));
    }

   private:
    [[nodiscard]] Atom value_of(const Atom& atom) const {
        const auto* id = std::get_if<VariableId>(&atom);
        return id != nullptr ? values_[id->value] : atom;
    }
    [[nodiscard]] Tangent tangent_of(const Atom& atom) const {
        const auto* id = std::get_if<VariableId>(&atom);
        return id != nullptr ? tangents_[id->value] : Tangent();
    }

    void add_inputs() {
        for (const auto& [name, id] : graph_.inputs)
            values_[id.value] = builder_.input(name, graph_.variables[id.value].type);
        for (const auto& [name, id] : graph_.inputs) {
            const ValueType& type = graph_.variables[id.value].type;
            if (can_move(type)) tangents_[id.value] = builder_.input("d " + name, type);
        }
        for (const GraphParameter& parameter : graph_.parameters) {
            const std::uint32_t id = parameter.variable.value;
            values_[id] = builder_.parameter(parameter.group, graph_.variables[id].type);
        }
    }

    Result<void> add(const Equation& equation) {
        std::vector<Atom> operands;
        std::vector<Tangent> moving;
        std::vector<ValueType> types;
        for (const Atom& operand : equation.operands) {
            operands.push_back(value_of(operand));
            moving.push_back(tangent_of(operand));
        }
        for (const VariableId id : equation.results) types.push_back(graph_.variables[id.value].type);
        Equation copy = equation;
        copy.operands = operands;
        YOLK_TRY(const std::vector<Atom> results, builder_.add(std::move(copy), types));
        for (std::size_t i = 0; i < results.size(); ++i) values_[equation.results[i].value] = results[i];
        // What neither moves nor can carry a movement stops here: comparisons, text.
        const bool moves = std::ranges::any_of(moving, [](const Tangent& t) { return t.has_value(); });
        if (!moves || std::ranges::none_of(types, can_move)) return {};
        const auto rule = rules_.find(equation.operation);
        if (rule == rules_.end()) {
            return unsupported(
                "pushforward of graph '{}': operation {} has no rule; cut it off, or add one to the table.",
                graph_.name, equation.operation->name);
        }
        YOLK_TRY(const std::vector<Tangent> moved, rule->second(builder_, equation, operands, moving, results));
        for (std::size_t i = 0; i < moved.size(); ++i) tangents_[equation.results[i].value] = moved[i];
        return {};
    }

    const Graph& graph_;
    const RuleTable<PushRule>& rules_;
    GraphBuilder builder_;
    std::vector<Atom> values_;
    std::vector<Tangent> tangents_;
};

}  // namespace

Result<Graph> pushforward(const Graph& graph, const RuleTable<PushRule>& rules) {
    return Pushforward(graph, rules).run();
}

}  // namespace yolk::hyper
