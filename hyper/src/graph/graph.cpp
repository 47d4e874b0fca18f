// SPDX-License-Identifier: Apache-2.0
#include "yolk/hyper/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "operations_impl.hpp"
#include "yolk/core/hash.hpp"

namespace yolk::hyper {
namespace {

std::string place_of(const Graph& graph, std::size_t index) {
    const Equation& equation = graph.equations[index];
    const std::string operation(equation.operation == nullptr ? "no operation" : equation.operation->name);
    std::string text = fmt::format("equation {} ({}", index, operation);
    if (!equation.hyperfunction.empty()) text += fmt::format(", of '{}'", equation.hyperfunction);
    if (equation.made_at) text += ", " + line_of(equation);
    return text + ')';
}

/// Which variables have been defined on the way through a graph.
class Defined {
   public:
    explicit Defined(const Graph& graph) : graph_(graph), defined_(graph.variables.size(), false) {}

    Result<void> define(VariableId id, const std::string& where) {
        if (id.value >= defined_.size()) return out_of_range(id, where);
        if (defined_[id.value])
            return bad_input("Graph '{}': variable {} is defined again by {}; each is defined once.", graph_.name,
                             id.value, where);
        defined_[id.value] = true;
        return {};
    }
    Result<ValueType> type(const Atom& atom, const std::string& where) const {
        if (const Value* literal = std::get_if<Value>(&atom)) return type_of(*literal);
        const VariableId id = std::get<VariableId>(atom);
        if (id.value >= defined_.size()) return out_of_range(id, where);
        if (!defined_[id.value])
            return bad_input("Graph '{}': {} reads variable {}, which nothing before it defines.", graph_.name, where,
                             id.value);
        return graph_.variables[id.value].type;
    }
    Result<void> all() const {
        const auto missing = std::ranges::find(defined_, false);
        if (missing == defined_.end()) return {};
        return bad_input("Graph '{}': nothing defines variable {}.", graph_.name, missing - defined_.begin());
    }

   private:
    Error out_of_range(VariableId id, const std::string& where) const {
        return bad_input("Graph '{}': {} names variable {}; there are {}.", graph_.name, where, id.value,
                         defined_.size());
    }
    const Graph& graph_;
    std::vector<bool> defined_;
};

Result<void> validate_inside(const Graph& graph, std::size_t depth);

Result<void> validate_equation(const Graph& graph, std::size_t index, Defined& defined, std::size_t depth) {
    const Equation& equation = graph.equations[index];
    const std::string where = place_of(graph, index);
    if (equation.operation == nullptr)
        return bad_input("Graph '{}': {}: give it one of operations().", graph.name, where);
    std::vector<ValueType> operands;
    for (const Atom& atom : equation.operands) {
        YOLK_TRY(ValueType type, defined.type(atom, where));
        operands.push_back(std::move(type));
    }
    for (const auto& body : equation.bodies) {
        if (body == nullptr) return bad_input("Graph '{}': {} has an empty body.", graph.name, where);
        if (depth >= kMostNesting)
            return bad_input("Graph '{}': {} is inside {} bodies; they may be {} deep.", graph.name, where, depth,
                             kMostNesting);
        YOLK_TRY_VOID(validate_inside(*body, depth + 1));
    }
    // Results have the types that the graph gives them; host functions and bodies decide theirs when they are traced.
    auto types = equation.operation->types(equation, operands);
    if (!types) return std::move(types).error().while_doing(fmt::format("checking graph '{}', {}", graph.name, where));
    if (types->size() != equation.results.size() && equation.host == nullptr) {
        return bad_input("Graph '{}': {} has {} results; its operation gives {}.", graph.name, where,
                         equation.results.size(), types->size());
    }
    for (std::size_t i = 0; i < equation.results.size(); ++i) {
        YOLK_TRY_VOID(defined.define(equation.results[i], where));
        const ValueType& given = graph.variables[equation.results[i].value].type;
        if (equation.host == nullptr && given != (*types)[i]) {
            return bad_input("Graph '{}': result {} of {} is declared as {}; its operation gives {}.", graph.name, i,
                             where, to_string(given), to_string((*types)[i]));
        }
    }
    return {};
}

Result<void> validate_inside(const Graph& graph, std::size_t depth) {
    Defined defined(graph);
    for (const auto& [name, id] : graph.inputs) YOLK_TRY_VOID(defined.define(id, fmt::format("input '{}'", name)));
    for (const GraphParameter& parameter : graph.parameters)
        YOLK_TRY_VOID(defined.define(parameter.variable, fmt::format("parameter group '{}'", parameter.group)));
    for (std::size_t i = 0; i < graph.parameters.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (graph.parameters[i].group == graph.parameters[j].group)
                return bad_input("Graph '{}' names the parameter group '{}' twice.", graph.name,
                                 graph.parameters[i].group);
        }
    }
    for (std::size_t i = 0; i < graph.equations.size(); ++i) YOLK_TRY_VOID(validate_equation(graph, i, defined, depth));
    if (!graph.output_names.empty() && graph.output_names.size() != graph.outputs.size()) {
        return bad_input("Graph '{}': {} names for {} outputs; all have one, or none has.", graph.name,
                         graph.output_names.size(), graph.outputs.size());
    }
    for (std::size_t i = 0; i < graph.outputs.size(); ++i)
        YOLK_TRY_VOID(defined.type(graph.outputs[i], fmt::format("output {}", i)));
    return defined.all();
}

/// Feeds a hasher with fields that cannot run into each other.
class SignatureWriter {
   public:
    explicit SignatureWriter(bool in_body) : in_body_(in_body) {}
    void graph(const Graph& value) {
        number(value.variables.size());
        for (const Variable& variable : value.variables) type(variable.type);
        number(value.inputs.size());
        for (const auto& [name, id] : value.inputs) {
            text(name);
            number(id.value);
        }
        number(value.parameters.size());
        for (const GraphParameter& parameter : value.parameters) {
            text(parameter.group);
            number(parameter.variable.value);
        }
        number(value.equations.size());
        for (const Equation& of : value.equations) equation(of);
        number(value.outputs.size());
        for (const Atom& output : value.outputs) atom(output);
        texts(value.output_names);
    }
    [[nodiscard]] std::string hex() const { return hasher_.hex(); }

   private:
    void text(std::string_view value) {
        number(value.size());
        hasher_.add(std::as_bytes(std::span(value)));
    }
    void texts(const std::vector<std::string>& values) {
        number(values.size());
        for (const std::string& value : values) text(value);
    }
    void number(std::uint64_t value) { hasher_.add_values(std::span<const std::uint64_t>(&value, 1)); }
    void type(const ValueType& value) {
        number(static_cast<std::uint64_t>(value.kind));
        number(value.shape.rank());
        for (const std::uint64_t extent : value.shape.extents()) number(extent);
        number(value.fields.size());
        for (const auto& [name, field] : value.fields) {
            text(name);
            type(field);
        }
    }
    void atom(const Atom& value) {
        number(value.index());
        if (const auto* id = std::get_if<VariableId>(&value)) number(id->value);
        const auto* literal = std::get_if<Value>(&value);
        if (literal == nullptr) return;
        type(type_of(*literal));
        if (in_body_) this->literal(*literal);
    }
    /// Examples of one signature share the bodies of the first of them, so literals in bodies must be equal.
    void literal(const Value& value) {
        if (const std::string* words = value.text()) text(*words);
        if (const double* real = value.number()) hasher_.add_values(std::span<const double>(real, 1));
        if (const bool* truth = value.boolean()) number(*truth ? 1 : 0);
        if (const std::int64_t* integer = value.integer()) number(static_cast<std::uint64_t>(*integer));
        if (const List* list = value.list()) {
            number(list->items().size());
            for (const Value& item : list->items()) {
                type(type_of(item));
                literal(item);
            }
        }
        if (const Tensor* tensor = value.tensor()) hasher_.add_values(tensor->values());
        if (const Record* record = value.record()) {
            for (const auto& [name, field] : record->fields()) literal(field);
        }
    }
    void attribute(const Attribute& value) {
        number(value.index());
        if (const auto* integer = std::get_if<std::int64_t>(&value)) number(static_cast<std::uint64_t>(*integer));
        if (const auto* real = std::get_if<double>(&value)) hasher_.add_values(std::span<const double>(real, 1));
        if (const auto* words = std::get_if<std::string>(&value)) text(*words);
        if (const auto* words = std::get_if<std::vector<std::string>>(&value)) texts(*words);
        if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
            number(list->size());
            hasher_.add_values(std::span<const std::int64_t>(*list));
        }
    }
    void equation(const Equation& value) {
        text(value.operation->name);
        number(value.operands.size());
        for (const Atom& operand : value.operands) atom(operand);
        number(value.results.size());
        for (const VariableId id : value.results) number(id.value);
        number(value.attributes.size());
        for (const auto& [name, content] : value.attributes) {
            text(name);
            attribute(content);
        }
        number(reinterpret_cast<std::uintptr_t>(value.host.get()));  // NOLINT: identity of the function
        number(value.bodies.size());
        for (const auto& body : value.bodies) {
            SignatureWriter of_body(/*in_body=*/true);
            of_body.graph(*body);
            text(of_body.hex());
        }
        text(value.hyperfunction);
        number(value.call);
    }
    Hasher hasher_;
    bool in_body_;
};

}  // namespace

const Attribute* find_attribute(const Equation& equation, std::string_view name) noexcept {
    for (const auto& [key, value] : equation.attributes) {
        if (key == name) return &value;
    }
    return nullptr;
}

Result<void> validate(const Graph& graph) { return validate_inside(graph, 0); }

std::vector<std::uint32_t> stages(const Graph& graph) {
    // Of variables: the first stage that may read them.
    std::vector<std::uint32_t> ready(graph.variables.size(), 0);
    std::vector<std::uint32_t> result;
    result.reserve(graph.equations.size());
    for (const Equation& equation : graph.equations) {
        std::uint32_t stage = 0;
        for (const Atom& operand : equation.operands) {
            if (const auto* id = std::get_if<VariableId>(&operand)) stage = std::max(stage, ready[id->value]);
        }
        for (const VariableId id : equation.results) ready[id.value] = stage + 1;
        result.push_back(stage);
    }
    return result;
}

std::vector<bool> depends_on(const Graph& graph, std::optional<std::span<const std::string>> groups) {
    std::vector<bool> result(graph.variables.size(), false);
    for (const GraphParameter& parameter : graph.parameters) {
        const bool named = !groups || std::ranges::find(*groups, parameter.group) != groups->end();
        result[parameter.variable.value] = named && graph.variables[parameter.variable.value].type.shape != Shape{0};
    }
    for (const Equation& equation : graph.equations) {
        const bool depends = std::ranges::any_of(equation.operands, [&](const Atom& operand) {
            const auto* id = std::get_if<VariableId>(&operand);
            return id != nullptr && result[id->value];
        });
        for (const VariableId id : equation.results) result[id.value] = depends;
    }
    return result;
}

std::string signature(const Graph& graph) {
    SignatureWriter result(/*in_body=*/false);
    result.graph(graph);
    return result.hex();
}

}  // namespace yolk::hyper
