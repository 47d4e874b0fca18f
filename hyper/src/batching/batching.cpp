// SPDX-License-Identifier: Apache-2.0
#include "batching.hpp"

#include <algorithm>

#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper {

std::int64_t BatchSite::integer(std::string_view name, std::int64_t otherwise) const {
    if (find_attribute(equation, name) == nullptr) return otherwise;
    return emit.take(integer_attribute(equation, name), otherwise);
}
std::vector<std::int64_t> BatchSite::integers(std::string_view name) const {
    return emit.take(integers_attribute(equation, name));
}
std::size_t BatchSite::dimension() const {
    return static_cast<std::size_t>(integer("dimension", static_cast<std::int64_t>(shape(0).rank()) - 1));
}

Batched shared_value(Atom atom, ValueType type) { return {Form::Shared, {std::move(atom)}, std::move(type)}; }
Batched stacked_value(Atom atom, ValueType type) { return {Form::Stacked, {std::move(atom)}, std::move(type)}; }

ValueType stacked_type(std::uint64_t size, const ValueType& type) {
    return {ValueKind::Tensor, prepended(size, type.shape)};
}

namespace {

/// A number or boolean as a tensor [1].
Atom as_tensor(EquationWriter& emit, const Atom& atom, ValueKind kind) {
    if (kind == ValueKind::Tensor) return atom;
    if (kind == ValueKind::Boolean)
        return emit("select", {atom, Value(Tensor::filled({1}, 1.0F)), Value(Tensor::filled({1}, 0.0F))});
    return emit.add(Value(Tensor::filled({1}, 0.0F)), atom);
}

Atom stack_of(EquationWriter& emit, std::span<const Atom> elements, const ValueType& type) {
    std::vector<Atom> rows;
    for (const Atom& element : elements)
        rows.push_back(emit.reshape(as_tensor(emit, element, type.kind), prepended(1, type.shape)));
    return emit("concat", std::move(rows), {{"dimension", std::int64_t{0}}});
}

}  // namespace

Atom stacked(EquationWriter& emit, std::uint64_t size, const Batched& value) {
    if (value.form == Form::Stacked) return value.atoms[0];
    if (value.form == Form::Listed) return stack_of(emit, value.atoms, value.type);
    const Atom one = as_tensor(emit, value.atoms[0], value.type.kind);
    const Shape shape = prepended(size, value.type.shape);
    return emit.broadcast_to(
        value.type.kind == ValueKind::Tensor ? emit.reshape(one, prepended(1, value.type.shape)) : one, shape);
}

Atom aligned(EquationWriter& emit, std::uint64_t size, const Batched& value, std::size_t rank) {
    if (value.form == Form::Shared) return value.atoms[0];
    std::vector<std::uint64_t> extents(rank - std::min(rank, value.type.shape.rank()), 1);
    const auto own = value.type.shape.extents();
    extents.insert(extents.end(), own.begin(), own.end());
    return emit.reshape(stacked(emit, size, value), prepended(size, Shape(std::move(extents))));
}

std::vector<Atom> elements(EquationWriter& emit, std::uint64_t size, const Batched& value) {
    if (value.form == Form::Shared) return std::vector<Atom>(size, value.atoms[0]);
    if (value.form == Form::Listed) return value.atoms;
    Equation split{.operation = find_operation("split"),
                   .operands = {value.atoms[0]},
                   .attributes = {{"dimension", std::int64_t{0}}, {"sizes", std::vector<std::int64_t>(size, 1)}}};
    std::vector<Atom> parts = emit.all(std::move(split), size);
    for (Atom& part : parts) {
        if (value.type.kind == ValueKind::Tensor) {
            part = emit.reshape(part, value.type.shape);
            continue;
        }
        part = emit("to_number", {part}, {{"as", std::string("written")}});
        if (value.type.kind == ValueKind::Boolean) part = emit("less", {Value(0.5), part});
    }
    return parts;
}

Batched from_elements(EquationWriter& emit, std::span<const Atom> elements, const ValueType& type) {
    if (batched_form(type) == Form::Listed) return {Form::Listed, {elements.begin(), elements.end()}, type};
    return stacked_value(stack_of(emit, elements, type), type);
}

Batched in_form(EquationWriter& emit, std::uint64_t size, const Batched& value, Form form) {
    if (form == Form::Shared || value.form == form) return value;
    if (form == Form::Listed) return {Form::Listed, elements(emit, size, value), value.type};
    return stacked_value(stacked(emit, size, value), value.type);
}

Batched masked(EquationWriter& emit, std::uint64_t size, const Atom& mask, const Batched& a, const Batched& b) {
    if (batched_form(a.type) == Form::Listed) {
        const Batched truths = stacked_value(mask, {ValueKind::Boolean, {}});
        const std::vector<Atom> conditions = elements(emit, size, truths), first = elements(emit, size, a),
                                second = elements(emit, size, b);
        Batched chosen{Form::Listed, {}, a.type};
        for (std::size_t i = 0; i < size; ++i)
            chosen.atoms.push_back(emit("select", {conditions[i], first[i], second[i]}));
        return chosen;
    }
    std::vector<std::uint64_t> extents(a.type.shape.rank() + 1, 1);
    extents[0] = size;
    return stacked_value(
        emit("where", {emit.reshape(mask, Shape(std::move(extents))), stacked(emit, size, a), stacked(emit, size, b)}),
        a.type);
}

std::vector<Batched> repeated(BatchSite& site) {
    std::vector<std::vector<Atom>> operands;
    for (const Batched& operand : site.operands) operands.push_back(elements(site.emit, site.size, operand));
    std::vector<std::vector<Atom>> results(site.results.size());
    for (std::size_t i = 0; i < site.size; ++i) {
        Equation one = site.equation;
        one.operands.clear();
        for (const std::vector<Atom>& operand : operands) one.operands.push_back(operand[i]);
        const std::vector<Atom> made = site.emit.all(std::move(one), results.size(), site.results);
        for (std::size_t k = 0; k < results.size(); ++k) results[k].push_back(made[k]);
    }
    std::vector<Batched> all;
    for (std::size_t k = 0; k < results.size(); ++k)
        all.push_back(from_elements(site.emit, results[k], site.results[k]));
    return all;
}

}  // namespace yolk::hyper
