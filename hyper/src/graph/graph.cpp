// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/graph.hpp"

#include <algorithm>

#include "valid_graph.hpp"
#include "yolk/internal/core/hash.hpp"

namespace yolk::hyper {
namespace {

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
        text(value.operation != nullptr ? value.operation->name : std::string_view());
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
            if (body != nullptr) of_body.graph(*body);
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

std::vector<std::uint32_t> stages_of(const Graph& graph) {
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

std::vector<bool> dependents_of(const Graph& graph, std::optional<std::span<const std::string>> groups) {
    std::vector<bool> result(graph.variables.size(), false);
    for (const GraphParameter& parameter : graph.parameters) {
        const bool named = !groups || std::ranges::find(*groups, parameter.group) != groups->end();
        result[parameter.variable.value] = named;
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

std::string signature_of(const Graph& graph) {
    SignatureWriter result(/*in_body=*/false);
    result.graph(graph);
    return result.hex();
}

Result<std::vector<std::uint32_t>> stages(const Graph& graph) {
    YOLK_TRY_VOID(validate(graph));
    return stages_of(graph);
}

Result<std::vector<bool>> depends_on(const Graph& graph, std::optional<std::span<const std::string>> groups) {
    YOLK_TRY_VOID(validate(graph));
    return dependents_of(graph, groups);
}

Result<std::string> signature(const Graph& graph) {
    YOLK_TRY_VOID(validate(graph));
    return signature_of(graph);
}

}  // namespace yolk::hyper
