// SPDX-License-Identifier: Apache-2.0
// One pass over a graph: what depends on a batched input is batched, the rest stays.
#include "yolk/graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "batching.hpp"
#include "control_derivatives.hpp"

namespace yolk::hyper {
namespace {

class Batch {
   public:
    Batch(const Graph& graph, std::uint64_t size, const RuleTable<BatchRule>& rules)
        : graph_(graph), size_(size), rules_(rules), builder_(graph.name), values_(graph.variables.size()) {}

    [[nodiscard]] GraphBuilder& builder() noexcept { return builder_; }
    void set(VariableId id, Batched value) { values_[id.value] = std::move(value); }
    void add_parameters() {
        for (const auto& [id, group] : graph_.parameters)
            set(id, shared_value(builder_.parameter(group, type(id)), type(id)));
    }
    [[nodiscard]] const ValueType& type(VariableId id) const { return graph_.variables[id.value].type; }

    /// An input that is one stack, or of text one for each element.
    void add_input(const std::string& name, VariableId id, Form form) {
        Batched value{form, {}, type(id)};
        if (form == Form::Shared) value.atoms.push_back(builder_.input(name, value.type));
        if (form == Form::Stacked) value.atoms.push_back(builder_.input(name, stacked_type(size_, value.type)));
        for (std::uint64_t i = 0; form == Form::Listed && i < size_; ++i)
            value.atoms.push_back(builder_.input(fmt::format("{} {}", name, i), value.type));
        set(id, std::move(value));
    }

    Result<void> add_equations() {
        for (const Equation& equation : graph_.equations) {
            builder_.stand_for(equation);
            if (auto added = add(equation); !added) {
                return std::move(added).error().while_doing(
                    fmt::format("batching graph '{}', {}", graph_.name, named(equation)));
            }
        }
        return {};
    }

    [[nodiscard]] Batched value_of(const Atom& atom) const {
        const auto* id = std::get_if<VariableId>(&atom);
        return id != nullptr ? values_[id->value] : shared_value(atom, yolk::hyper::type_of(std::get<Value>(atom)));
    }
    Result<Graph> finish(std::span<const Batched> outputs) {
        std::vector<Atom> atoms;
        for (const Batched& output : outputs) atoms.insert(atoms.end(), output.atoms.begin(), output.atoms.end());
        const bool as_many = atoms.size() == graph_.output_names.size();  // no text, which has one for each element
        return std::move(builder_).finish(std::move(atoms), as_many ? graph_.output_names : std::vector<std::string>());
    }

   private:
    Result<void> add(const Equation& equation) {
        std::vector<Batched> operands;
        for (const Atom& operand : equation.operands) operands.push_back(value_of(operand));
        const std::vector<ValueType> types = types_of(graph_, equation.results);
        const bool shared =
            std::ranges::all_of(operands, [](const Batched& operand) { return operand.form == Form::Shared; });
        if (shared) return add_shared(equation, operands, types);
        YOLK_TRY(const std::vector<Batched> results, batched(equation, operands, types));
        if (results.size() != types.size()) {
            return bad_input("the batch rule gave {} results; the equation has {}.", results.size(), types.size());
        }
        for (std::size_t i = 0; i < types.size(); ++i) set(equation.results[i], results[i]);
        return {};
    }

    Result<void> add_shared(const Equation& equation, std::span<const Batched> operands,
                            std::span<const ValueType> types) {
        Equation copy = equation;
        copy.operands.clear();
        for (const Batched& operand : operands) copy.operands.push_back(operand.atoms[0]);
        YOLK_TRY(const std::vector<Atom> results, builder_.add(std::move(copy), types));
        for (std::size_t i = 0; i < types.size(); ++i) set(equation.results[i], shared_value(results[i], types[i]));
        return {};
    }

    Result<std::vector<Batched>> batched(const Equation& equation, std::span<const Batched> operands,
                                         std::span<const ValueType> types) {
        const auto rule = rules_.find(equation.operation);
        if (rule != rules_.end()) return rule->second(builder_, size_, equation, operands, types);
        EquationWriter emit(builder_);
        BatchSite site{emit, size_, equation, operands, types};
        if (has_bodies(equation)) return batch_bodies(site, rules_);
        return emit.done(repeated(site));
    }

    const Graph& graph_;
    std::uint64_t size_;
    const RuleTable<BatchRule>& rules_;
    GraphBuilder builder_;
    std::vector<Batched> values_;
};

Result<std::vector<std::optional<std::size_t>>> checked_axes(const Graph& graph, const BatchOptions& options) {
    auto axes = options.axes;
    if (axes.empty()) axes.assign(graph.inputs.size(), std::size_t{0});
    if (options.size == 0) {
        return bad_input("batch of graph '{}': the batch is empty; it takes at least one element.", graph.name);
    }
    if (axes.size() != graph.inputs.size()) {
        return bad_input("batch of graph '{}': {} axes for {} inputs; give one for each, nothing for a shared one.",
                         graph.name, axes.size(), graph.inputs.size());
    }
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const auto& [name, id] = graph.inputs[i];
        const std::size_t rank = graph.variables[id.value].type.shape.rank();
        if (axes[i] && *axes[i] > rank) {
            return bad_input("batch of graph '{}': input '{}' is batched along dimension {}; it must be from 0 to {}.",
                             graph.name, name, *axes[i], rank);
        }
    }
    return axes;
}

/// A tensor that is batched along another dimension than the first: that one goes to the front.
Result<void> add_moved_input(Batch& batch, std::uint64_t size, const std::string& name, VariableId id,
                             std::size_t axis) {
    const ValueType& type = batch.type(id);
    const auto own = type.shape.extents();
    std::vector<std::uint64_t> extents(own.begin(), own.end());
    extents.insert(extents.begin() + static_cast<std::ptrdiff_t>(axis), size);
    std::vector<std::int64_t> order{static_cast<std::int64_t>(axis)};
    for (std::size_t i = 0; i < extents.size(); ++i) {
        if (i != axis) order.push_back(static_cast<std::int64_t>(i));
    }
    EquationWriter emit(batch.builder());
    const Atom given = batch.builder().input(name, {ValueKind::Tensor, Shape(std::move(extents))});
    YOLK_TRY(Atom front, emit.done(emit.permute(given, std::move(order))));
    batch.set(id, stacked_value(std::move(front), type));
    return {};
}

}  // namespace

const RuleTable<BatchRule>& batch_rules() {
    static const RuleTable<BatchRule> table = [] {
        RuleTable<BatchRule> rules;
        for (const auto& part : {elementwise_batching(), tensor_batching(), indexed_batching()}) {
            for (const Batching& of : part) {
                const Operation* operation = find_operation(of.operation);
                if (operation == nullptr) continue;
                rules.emplace(operation, [function = of.batch](
                                             GraphBuilder& builder, std::uint64_t size, const Equation& equation,
                                             std::span<const Batched> operands, std::span<const ValueType> results) {
                    EquationWriter emit(builder);
                    BatchSite site{emit, size, equation, operands, results};
                    return emit.done(function(site));
                });
            }
        }
        return rules;
    }();
    return table;
}

Result<BatchedBody> batch_body(const Graph& body, std::uint64_t size, std::span<const Form> inputs,
                               std::span<const Form> outputs, const RuleTable<BatchRule>& rules) {
    Batch batch(body, size, rules);
    for (std::size_t i = 0; i < body.inputs.size(); ++i)
        batch.add_input(body.inputs[i].first, body.inputs[i].second, inputs[i]);
    YOLK_TRY_VOID(batch.add_equations());
    EquationWriter emit(batch.builder());
    std::vector<Batched> values;
    BatchedBody result;
    for (std::size_t i = 0; i < body.outputs.size(); ++i) {
        Batched value = batch.value_of(body.outputs[i]);
        if (i < outputs.size()) value = in_form(emit, size, value, outputs[i]);
        result.forms.push_back(value.form);
        values.push_back(std::move(value));
    }
    YOLK_TRY(values, emit.done(std::move(values)));
    YOLK_TRY(result.graph, batch.finish(values));
    return result;
}

Result<Graph> batch(const Graph& graph, const BatchOptions& options) {
    YOLK_TRY_VOID(validate(graph));
    YOLK_TRY(const auto axes, checked_axes(graph, options));
    Batch batch(graph, options.size, options.rules != nullptr ? *options.rules : batch_rules());
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const auto& [name, id] = graph.inputs[i];
        if (axes[i].value_or(0) > 0) {
            YOLK_TRY_VOID(add_moved_input(batch, options.size, name, id, *axes[i]));
        } else {
            batch.add_input(name, id, axes[i] ? batched_form(batch.type(id)) : Form::Shared);
        }
    }
    batch.add_parameters();
    YOLK_TRY_VOID(batch.add_equations());
    EquationWriter emit(batch.builder());
    std::vector<Batched> outputs;
    for (const Atom& output : graph.outputs) {
        const Batched value = batch.value_of(output);
        outputs.push_back(in_form(emit, options.size, value, batched_form(value.type)));
    }
    YOLK_TRY(outputs, emit.done(std::move(outputs)));
    return batch.finish(outputs);
}

}  // namespace yolk::hyper
