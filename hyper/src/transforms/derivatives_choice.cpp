// SPDX-License-Identifier: Apache-2.0
// Choosing, comparing, and the operations that pass a value on.
#include <array>

#include "derivatives.hpp"

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

constexpr std::array kChoiceDerivatives{
    Derivative{"select", push_select, pull_select},          Derivative{"to_number", push_to_number, pull_to_number},
    Derivative{"stop_gradient", push_nothing, pull_nothing}, Derivative{"checkpoint", push_passed, pull_passed},
    Derivative{"factor", push_passed, pull_passed},          Derivative{"depends", push_passed, pull_passed},
};

}  // namespace

std::span<const Derivative> choice_derivatives() noexcept { return kChoiceDerivatives; }

}  // namespace yolk::hyper
