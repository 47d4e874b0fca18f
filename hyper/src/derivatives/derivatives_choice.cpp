// SPDX-License-Identifier: Apache-2.0
// Choosing, comparing, records, and the operations that pass a value on.
#include <algorithm>
#include <array>

#include "derivatives.hpp"
#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper {
namespace {

std::vector<Tangent> push_select(Site& site, Tangents operands) {
    const ValueType type = site.type(1);
    return {site.emit("select", {site.operands[0], or_zero(operands[1], type), or_zero(operands[2], type)})};
}
std::vector<Tangent> pull_select(Site& site, Tangents results, const std::vector<bool>& wanted) {
    std::vector<Tangent> moved(3);
    const Atom zero = zero_of(site.type(1)), &condition = site.operands[0], &t = *results[0];
    if (wanted[1]) moved[1] = site.emit("select", {condition, t, zero});
    if (wanted[2]) moved[2] = site.emit("select", {condition, zero, t});
    return moved;
}

std::vector<Tangent> push_to_number(Site& site, Tangents operands) { return {site.emit("to_number", {*operands[0]})}; }
std::vector<Tangent> pull_to_number(Site& site, Tangents results, const std::vector<bool>&) {
    if (site.type(0).kind == ValueKind::Number) return {*results[0]};
    return {site.emit.add(zero_of(site.type(0)), *results[0])};
}

/// checkpoint, factor, depends: the value that they pass on.
std::vector<Tangent> push_passed(Site&, Tangents operands) { return {operands[0]}; }
std::vector<Tangent> pull_passed(Site& site, Tangents results, const std::vector<bool>&) {
    std::vector<Tangent> moved(site.operands.size());
    moved[0] = results[0];
    return moved;
}

/// A record moves as a record, field by field.
std::vector<Tangent> push_pack(Site& site, Tangents operands) {
    std::vector<Atom> fields;
    for (std::size_t i = 0; i < operands.size(); ++i) fields.push_back(or_zero(operands[i], site.type(i)));
    return {site.emit("pack", std::move(fields), site.equation.attributes)};
}
std::vector<Tangent> pull_pack(Site& site, Tangents results, const std::vector<bool>& wanted) {
    const std::vector<std::string> names = site.emit.take(texts_attribute(site.equation, "names"));
    std::vector<Tangent> moved(site.operands.size());
    for (std::size_t i = 0; i < std::min(names.size(), moved.size()); ++i) {
        if (wanted[i]) moved[i] = site.emit("field", {*results[0]}, {{"name", names[i]}});
    }
    return moved;
}
std::vector<Tangent> push_field(Site& site, Tangents operands) {
    return {site.emit("field", {*operands[0]}, site.equation.attributes)};
}
std::vector<Tangent> pull_field(Site& site, Tangents results, const std::vector<bool>&) {
    const std::string chosen = site.emit.take(text_attribute(site.equation, "name"));
    std::vector<std::string> names;
    std::vector<Atom> fields;
    for (const auto& [name, type] : site.type(0).fields) {
        names.push_back(name);
        fields.push_back(name == chosen ? *results[0] : Atom(zero_of(type)));
    }
    return {site.emit("pack", std::move(fields), {{"names", std::move(names)}})};
}

constexpr std::array kChoiceDerivatives{
    Derivative{"select", push_select, pull_select},
    Derivative{"to_number", push_to_number, pull_to_number},
    Derivative{"stop_gradient", push_nothing, pull_nothing},
    Derivative{"checkpoint", push_passed, pull_passed},
    Derivative{"factor", push_passed, pull_passed},
    Derivative{"depends", push_passed, pull_passed},
    Derivative{"pack", push_pack, pull_pack},
    Derivative{"field", push_field, pull_field},
    Derivative{"less", push_nothing, pull_nothing},
    Derivative{"equal", push_nothing, pull_nothing},
    Derivative{"and", push_nothing, pull_nothing},
    Derivative{"or", push_nothing, pull_nothing},
    Derivative{"not", push_nothing, pull_nothing},
};

}  // namespace

std::span<const Derivative> choice_derivatives() noexcept { return kChoiceDerivatives; }

}  // namespace yolk::hyper
